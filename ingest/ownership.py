"""Who owns which line when a command runs: the replay of DepGPO's A.2 and A.3, over intervals.

Commands are replayed in execution order. A command's reads meet the owners that were there before
it, then its writes take ownership (D24). A range of a million lines is one piece; pieces are cut
where a later write begins or ends. What comes out:

- fragments: maximal ranges that one command wrote and that share one fate, which is who consumed
  them and whether they were still owned when the agent ended;
- uses: which command read what of whose lines, the file edges of the dependency graph G (Eq. 10).

The marker WHOLE_FILE (position -1) has three readings (D1), which differ only in what a whole-file
record does to other positions. All three are replayed at once; each piece carries the set of
policies under which it is still owned.

    literal    a write changes the owners of exactly its own positions
    removal    literal, but a removed file has no owner left save its removal's marker, which the
               next write to the file takes away
    supersede  every whole-file record takes the file over like a removal; a later line-resolved
               write takes away the marker of a removal, not that of another record

>>> from rollgraph.ingest.accesses import Accesses
>>> writes = Accesses(lines={"/w/a": [(1, 1_000_000)]})
>>> edits = Accesses(reads={"/w/a"}, lines={"/w/a": [(3, 4)], "/w/log": [(1, 1)]})
>>> for piece in replay([writes, edits]).fragments:
...     print(piece.command, piece.path, piece.first, piece.last, piece.owned, piece.users)
0 /w/a 1 2 7 {1: 7}
0 /w/a 3 4 0 {}
0 /w/a 5 1000000 7 {1: 7}
1 /w/a 3 4 7 {}
1 /w/log 1 1 7 {}
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .accesses import Accesses, Ranges

LITERAL, REMOVAL, SUPERSEDE = 1, 2, 4
EVERY = LITERAL | REMOVAL | SUPERSEDE
POLICIES = {LITERAL: "literal", REMOVAL: "removal", SUPERSEDE: "supersede"}
POLICY_NAMES: tuple[tuple[str, ...], ...] = tuple(
    tuple(name for policy, name in POLICIES.items() if policy & policies)
    for policies in range(EVERY + 1)
)
"""The names of the policies in a set, for each set."""


@dataclass
class Fragment:
    """Lines [first, last] of a file that one command wrote; first is None for WHOLE_FILE."""

    command: int
    path: str
    first: int | None
    last: int | None
    removal: bool = False
    owned: int = EVERY
    """The policies under which the command still owns it: now, and after the replay at the end."""
    users: dict[int, int] = field(default_factory=dict[int, int])
    """Qualifying consumers (A.3, conditions 1 to 4), with the policies under which they qualify."""

    @property
    def records(self) -> int:
        """How many tracked records it stands for."""
        return 1 if self.first is None or self.last is None else self.last - self.first + 1


@dataclass(frozen=True)
class Use:
    """A command's read of lines that another command owned then."""

    path: str
    first: int | None
    last: int | None
    owned: int
    """The policies under which the reader found the writer's lines."""
    qualifies: int
    """Those of them under which the reader qualifies as a consumer."""


@dataclass
class Replay:
    """What the replay of one rollout found; commands are named by their positions."""

    fragments: list[Fragment] = field(default_factory=list[Fragment])
    uses: dict[tuple[int, int], list[Use]] = field(default_factory=dict[tuple[int, int], list[Use]])
    """(writer, reader) to what was read."""


def replay(commands: Sequence[Accesses], verifier: Accesses | None = None) -> Replay:
    """Replay commands in execution order, then the verifier's reads at position len(commands)."""
    found = Replay()
    files: dict[str, _File] = {}
    for position, accesses in enumerate(commands):
        written = accesses.written
        for path in sorted(accesses.reads | written):
            if path in written:
                file = files.setdefault(path, _File(path))
            elif path in files:
                file = files[path]
            else:
                continue  # content that no command has written has no owner
            file.cut(accesses.lines.get(path, []))
            if path in accesses.reads:
                _read(found, file, position, accesses, consumes=bool(written - {path}))
            if path in written:
                file.write(position, accesses)
    for path in sorted(verifier.reads - verifier.shadowed) if verifier else ():
        if path in files:
            _read(found, files[path], len(commands), Accesses(), consumes=False)
    for file in files.values():
        found.fragments += file.fragments()
    found.fragments.sort(key=lambda piece: (piece.command, piece.path, piece.first or 0))
    return found


def _read(found: Replay, file: "_File", reader: int, accesses: Accesses, *, consumes: bool) -> None:
    """Connect the owners of a file's positions to the command that reads it.

    `consumes`: the reader writes a file other than this one (condition 3).
    """
    for piece in file.owned():
        qualifies = piece.owned & ~_replaced(piece, accesses) if consumes else 0
        if qualifies:
            piece.users[reader] = qualifies
        use = Use(file.path, piece.first, piece.last, piece.owned, qualifies)
        found.uses.setdefault((piece.command, reader), []).append(use)


def _replaced(piece: Fragment, accesses: Accesses) -> int:
    """Return the policies under which the reader's writes replace the piece (condition 4, D3).

    A removal of the input after its use replaces nothing, except under supersede.
    """
    whole, gone = piece.path in accesses.whole, piece.path in accesses.removed
    ranges = accesses.lines.get(piece.path, [])
    if piece.first is None:
        if whole:
            return EVERY
        return SUPERSEDE if gone or (piece.removal and ranges) else 0
    if _is_within(piece, ranges):
        return EVERY
    return SUPERSEDE if whole or gone else 0


def _is_within(piece: Fragment, ranges: Ranges) -> bool:
    """Whether a piece that was cut along the ranges lies in one of them."""
    low, high = 0, len(ranges)
    while low < high:
        middle = (low + high) // 2
        if ranges[middle][1] < (piece.first or 0):
            low = middle + 1
        else:
            high = middle
    return low < len(ranges) and ranges[low][0] <= (piece.first or 0)


class _File:
    """The pieces of one file: those with an owner, in line order, and those that lost theirs."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._lines: list[Fragment] = []
        self._marker: Fragment | None = None
        self._lost: list[Fragment] = []

    def owned(self) -> Iterator[Fragment]:
        """Go through the pieces with an owner under at least one policy."""
        if self._marker:
            yield self._marker
        yield from self._lines

    def cut(self, ranges: Ranges) -> None:
        """Cut pieces where a range begins or ends, so that each lies in one range or in none."""
        if not ranges:
            return
        borders = iter(border for first, last in ranges for border in (first, last + 1))
        border = next(borders, None)
        pieces: list[Fragment] = []
        for piece in self._lines:
            first, last = piece.first or 0, piece.last or 0
            while border is not None and border <= last:
                if border > first:
                    head = Fragment(
                        piece.command, piece.path, first, border - 1, False, piece.owned,
                        dict(piece.users),
                    )  # fmt: skip
                    pieces.append(head)
                    first = piece.first = border
                border = next(borders, None)
            pieces.append(piece)
        self._lines = pieces

    def write(self, command: int, accesses: Accesses) -> None:
        """Let a command's writes take ownership, a removal before what it wrote anew."""
        ranges = accesses.lines.get(self.path, [])
        whole, gone = self.path in accesses.whole, self.path in accesses.removed
        if gone or whole:
            for piece in self._lines:
                piece.owned &= LITERAL if gone else LITERAL | REMOVAL
            self._take_marker(0)
            removal = gone and not whole
            self._marker = Fragment(command, self.path, None, None, removal)
        if ranges:
            for piece in self._lines:
                if _is_within(piece, ranges):
                    piece.owned = 0
            if self._marker and self._marker.removal:
                self._take_marker(LITERAL)
        self._lost += [piece for piece in self._lines if not piece.owned]
        kept = [piece for piece in self._lines if piece.owned]
        new = [Fragment(command, self.path, first, last) for first, last in ranges]
        self._lines = sorted(kept + new, key=lambda piece: piece.first or 0)

    def _take_marker(self, left: int) -> None:
        """Take the marker away from its owner, but for the policies in `left`."""
        if self._marker:
            self._marker.owned &= left
            if not self._marker.owned:
                self._lost.append(self._marker)
                self._marker = None

    def fragments(self) -> list[Fragment]:
        """All pieces, those of one command joined where they touch and share one fate."""
        pieces = [*self._lost, *self.owned()]
        pieces.sort(key=lambda piece: (piece.command, piece.first or 0))
        joined: list[Fragment] = []
        for piece in pieces:
            last = joined[-1] if joined else None
            if (
                last
                and last.last is not None
                and piece.first == last.last + 1
                and (last.command, last.owned, last.users)
                == (piece.command, piece.owned, piece.users)
            ):
                last.last = piece.last
            else:
                joined.append(piece)
        return joined
