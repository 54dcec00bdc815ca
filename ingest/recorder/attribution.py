"""Whose change it was: each changed file goes to the command that was last seen to touch it."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .contents import Change, Contents
from .processes import Touched

CLOCK_TICK_S = 0.02
"""Files' times are those of the kernel's last tick, and so lie a little in the past."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A command was seen to touch a file, under a name."""

    order: int
    command: int
    name: str


@dataclass(frozen=True, slots=True)
class Attributed:
    """One file's change with the command that made it, and the names that it used."""

    change: Change
    command: int | None
    """None: somebody else, before the current command began."""
    names: tuple[str, ...]
    reason: str = ""
    """Why the attribution may be wrong."""


@dataclass
class _Claims:
    """Claims by the file that a name leads to."""

    by_path: dict[str, list[Claim]] = field(default_factory=dict[str, list[Claim]])
    _folders: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, claim: Claim) -> None:
        for path in self._leads_to(claim.name):
            self.by_path.setdefault(path, []).append(claim)

    def _leads_to(self, name: str) -> Iterable[str]:
        """Yield the name in its folder's real place, and, of a symbolic link, what it points to."""
        folder, _, last = name.rpartition("/")
        real = self._folders.get(folder)
        if real is None:
            real = self._folders[folder] = os.path.realpath(folder or "/")
        path = f"{real.rstrip('/')}/{last}"
        yield path
        if os.path.islink(path):
            yield os.path.realpath(path)


def attribute(
    contents: Contents,
    touched: Mapping[int, Touched],
    *,
    current: int,
    since: float,
    sweep: bool,
    is_traced: bool,
) -> list[Attributed]:
    """Look at what may have changed since the last time, and say whose changes they are.

    `current` is the command that has just ended, `since` the Unix time at which it began. Changes
    that no trace tells of are its own, unless they are older than it.
    """
    claims = _Claims()
    for command, part in touched.items():
        for name, order in part.changed.items():
            below = _below(contents, name) if name in part.moved else ()
            for path in (name, *below):
                claims.add(Claim(order, command, path))
        _forget_reads_of_new_files(contents, claims, part)
        part.changed.clear()
        part.moved.clear()
    changes = contents.refresh(claims.by_path, sweep=sweep)
    held = _held(touched) if sweep else {}
    inodes = {
        change.inode: claims.by_path[path]
        for path, change in changes.items()
        if change.inode and path in claims.by_path
    }
    found: list[Attributed] = []
    for path, change in changes.items():
        made = claims.by_path.get(path)
        if made:
            last = max(made, key=lambda claim: claim.order)
            names = {claim.name for claim in made if claim.command == last.command}
            shared = len({claim.command for claim in made}) > 1
            reason = "shared_write" if shared else ""
            found.append(Attributed(change, last.command, tuple(sorted(names)), reason))
        elif change.inode in inodes:
            last = max(inodes[change.inode], key=lambda claim: claim.order)
            found.append(Attributed(change, last.command, (path,)))
        elif path in held:
            found.append(Attributed(change, held[path], (path,)))
        elif change.changed_at and change.changed_at < since - CLOCK_TICK_S:
            found.append(Attributed(change, None, (path,)))
        else:
            reason = "sweep_found_unattributed" if is_traced else ""
            found.append(Attributed(change, current, (path,), reason))
    return found


def _below(contents: Contents, folder: str) -> Iterable[str]:
    """Files that are, or were, below a name that was renamed."""
    yield from contents.below(folder)
    for place, _, files in os.walk(folder):
        yield from (f"{place}/{name}" for name in files)


def _held(touched: Mapping[int, Touched]) -> dict[str, int]:
    """Files that living processes of commands hold open to write."""
    return {
        os.path.realpath(name): command
        for command, part in touched.items()
        for process in part.processes
        if process.is_alive
        for name in process.held
    }


def _forget_reads_of_new_files(contents: Contents, claims: _Claims, part: Touched) -> None:
    """Take back reads of files that the command made itself: they held nothing of others."""
    known = {
        claim.name for path, made in claims.by_path.items() if path in contents for claim in made
    }
    for name in part.changed:
        if name in part.reads and name not in known:
            part.reads.discard(name)
            part.fresh.add(name)
