"""What the person who ingests a source has probably not meant."""

from collections import Counter
from collections.abc import Iterator

from ..graph.records import Rollout, Task
from .paths import PathFilter, normalize


class Hints:
    """Looks at every record of a source, and has notes in the end."""

    def __init__(self, work_roots: tuple[str, ...]) -> None:
        """Begin; no work roots: everywhere counts."""
        self._roots = work_roots
        self._filter = PathFilter(work_roots)
        self._is_any_path_inside = not work_roots
        self._paths_outside = 0
        self._unknown_keys: Counter[str] = Counter()
        self.inferred = 0
        """Commands whose accesses were inferred, or dropped."""

    def look(self, record: Task | Rollout) -> None:
        """Look at one record."""
        self._unknown_keys.update(_unknown_keys(record))
        if self._is_any_path_inside or isinstance(record, Task):
            return
        for path in _paths(record):
            self._is_any_path_inside |= self._filter.keeps(path)
            self._paths_outside += 1

    def notes(self) -> list[str]:
        """Say what was seen."""
        notes: list[str] = []
        if self.inferred:
            notes.append(f"accesses of {self.inferred} commands are inferred, or were dropped")
        if self._paths_outside and not self._is_any_path_inside:
            notes.append(
                f"all {self._paths_outside} paths lie outside the work roots "
                f"({', '.join(self._roots)}) and take part in nothing"
            )
        if self._unknown_keys:
            keys = ", ".join(f"{key} ({n})" for key, n in self._unknown_keys.most_common(10))
            notes.append(f"keys that the format does not name are kept and not used: {keys}")
        return notes


def _paths(rollout: Rollout) -> Iterator[str]:
    """Yield the absolute paths that a rollout's commands and its verifier touched."""
    for step in rollout.steps or ():
        for command in step.commands or ():
            named = [*(command.reads or ()), *(command.probes or ()), *(command.deletes or ())]
            named += [write.path for write in command.writes or ()]
            yield from filter(None, (normalize(path, command.cwd) for path in named))
    if rollout.verifier:
        named = [*(rollout.verifier.reads or ()), *(rollout.verifier.probes or ())]
        yield from filter(None, (normalize(path, None) for path in named))


def _unknown_keys(record: Task | Rollout) -> Iterator[str]:
    yield from record.extras
    if isinstance(record, Rollout):
        for step in record.steps or ():
            yield from (f"steps[].{key}" for key in step.extras)
            for command in step.commands or ():
                yield from (f"steps[].commands[].{key}" for key in command.extras)
