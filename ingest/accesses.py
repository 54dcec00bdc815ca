"""What one command touched, normalized and filtered: the input of every dependency rule."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..graph.records import Command, Verifier
from .paths import PathFilter, normalize

Ranges = list[tuple[int, int]]
"""Inclusive line ranges, sorted, apart from one another."""


@dataclass
class Accesses:
    """The resources of one command; file names are normalized paths that passed the filter."""

    reads: set[str] = field(default_factory=set[str])
    probes: set[str] = field(default_factory=set[str])
    lines: dict[str, Ranges] = field(default_factory=dict[str, Ranges])
    """Files written with known line ranges."""
    whole: set[str] = field(default_factory=set[str])
    """Files written with no line range to be had: the WHOLE_FILE records but for removals."""
    removed: set[str] = field(default_factory=set[str])
    opened: set[str] = field(default_factory=set[str])
    used: set[str] = field(default_factory=set[str])
    started: set[str] = field(default_factory=set[str])
    inspected: set[str] = field(default_factory=set[str])
    shadowed: set[str] = field(default_factory=set[str])
    """Of the verifier: files that are not the agent's."""
    dropped: int = 0
    """Relative paths with no known working directory."""

    @property
    def written(self) -> set[str]:
        """Every file with a write record, removals among them."""
        return {*self.lines, *self.whole, *self.removed}

    @property
    def is_write(self) -> bool:
        """Whether at least one write is recorded (A.1): of a file, a port or a process."""
        return bool(self.lines or self.whole or self.removed or self.opened or self.started)

    @property
    def records(self) -> int:
        """How many (file, position) records were written: |W_c|."""
        lines = sum(last - first + 1 for ranges in self.lines.values() for first, last in ranges)
        return lines + len(self.whole | self.removed)


def of_command(command: Command, keep: PathFilter) -> Accesses:
    """Normalize and filter what an agent's command touched."""
    found = Accesses()
    names = _Names(found, command.cwd, keep)
    found.reads = names(command.reads)
    found.probes = names(command.probes)
    found.removed = names(command.deletes)
    ranges: dict[str, Ranges] = {}
    for write in command.writes or ():
        for path in names([write.path]):
            if write.lines is None:
                found.whole.add(path)
            else:
                ranges.setdefault(path, []).extend(write.lines)
    found.lines = {path: merged(parts) for path, parts in ranges.items() if parts}
    if command.ports:
        found.opened, found.used = _ports(command.ports.opened), _ports(command.ports.used)
    if command.processes:
        found.started = set(command.processes.started or ())
        found.inspected = set(command.processes.inspected or ())
    return found


def of_verifier(verifier: Verifier, keep: PathFilter) -> Accesses:
    """Normalize and filter what the verifier inspected; it has no working directory of its own."""
    found = Accesses()
    names = _Names(found, None, keep)
    found.reads = names(verifier.reads)
    found.probes = names(verifier.probes)
    found.whole = names(write.path for write in verifier.writes or ())
    found.shadowed = names(verifier.shadowed)
    found.used = _ports(verifier.ports)
    found.inspected = set(verifier.processes or ())
    return found


@dataclass
class _Names:
    """Normalizes and filters a list of paths, and counts what had to be dropped."""

    accesses: Accesses
    cwd: str | None
    keep: PathFilter

    def __call__(self, paths: Iterable[str] | None) -> set[str]:
        names: set[str] = set()
        for path in paths or ():
            name = normalize(path, self.cwd)
            if name is None:
                self.accesses.dropped += 1
            elif self.keep.keeps(name):
                names.add(name)
        return names


def _ports(numbers: Iterable[int] | None) -> set[str]:
    return {str(number) for number in numbers or ()}


def merged(ranges: Ranges) -> Ranges:
    """Sort ranges and join those that touch or overlap."""
    merged: Ranges = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged
