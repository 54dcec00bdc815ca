"""Whose change it was: each changed file goes to the command that was last seen to touch it."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .contents import Change, Contents
from .processes import Touched


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
    """None: nobody's of the rollout."""
    names: tuple[str, ...]
    reason: str = ""
    """Why the attribution may be wrong."""


@dataclass
class _Claims:
    """Claims by the file that a name leads to."""

    by_path: dict[str, list[Claim]] = field(default_factory=dict[str, list[Claim]])
    _folders: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, claim: Claim) -> None:
        for path in self.leads_to(claim.name):
            self.by_path.setdefault(path, []).append(claim)

    def leads_to(self, name: str) -> Iterator[str]:
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
    current: int | None,
    sweep: bool,
    is_traced: bool,
) -> list[Attributed]:
    """Look at what may have changed since the last time, and say whose changes they are.

    `current` is the command that has just ended: changes that no trace tells of are its own. None:
    none has begun, and they are nobody's.
    """
    claims = _Claims()
    for command, part in touched.items():
        for name, order in part.changed.items():
            claims.add(Claim(order, command, name))
            is_own = name in part.fresh - part.moved_from.keys()
            may_be_folder = name in part.moved and not is_own
            for below in _below(contents, claims, name) if may_be_folder else ():
                claims.add(Claim(order, command, below))
        _find_files_read(contents, claims, part)
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
        elif current is None:
            found.append(Attributed(change, None, (path,)))
        else:
            reason = "sweep_found_unattributed" if is_traced else ""
            found.append(Attributed(change, current, (path,), reason))
    return found


def _below(contents: Contents, claims: _Claims, folder: str) -> Iterator[str]:
    """Yield the files that are, or were, below a name that was renamed."""
    real = next(claims.leads_to(folder))
    if real in contents or os.path.isfile(folder):
        return
    yield from (folder + path.removeprefix(real) for path in contents.below(real))
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


def _find_files_read(contents: Contents, claims: _Claims, part: Touched) -> None:
    """Tell the files among the names that were read, but for those that the command made itself."""
    for name in part.reads - part.files_read:
        was_there = any(path in contents for path in claims.leads_to(name))
        if was_there or (name not in part.ever_changed and os.path.isfile(name)):
            part.files_read.add(name)
    part.reads &= part.files_read
