"""What the rubric says of each decision: the channels reached before it, and what could come next.

MCGPO (2610.13755), A.1 and D.1. A channel is reached when its value is at least the required one;
progress stands as it was after the step before, and nothing is reached before the first (the
opening). The frontier (Eq. 8) is what is neither reached nor a blocker, has no blocker in place and
all its prerequisites: those of `requires_ever` reached at some time before, those of
`requires_current` reached now (decisions M16, M17).
"""

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from ..graph.records import Rollout, Rubric

LEVELS = ("exact", "coarse")
"""The state summaries that decisions are matched by, the finer one first."""


@dataclass(frozen=True)
class Progress:
    """The channels that are reached before a step."""

    now: frozenset[str]
    ever: frozenset[str]
    """Reached at some time before the step, which they need not be any more."""


def progress_before(rubric: Rubric, rollout: Rollout) -> list[Progress | None]:
    """Return the progress before each step; None: not known, as no progress is from there on."""
    found: list[Progress | None] = []
    progress: Progress | None = Progress(frozenset(), frozenset())
    for step in rollout.steps or ():
        found.append(progress)
        if progress is not None and step.progress is not None:
            now = reached(rubric, step.progress)
            progress = Progress(now, progress.ever | now)
        else:
            progress = None
    return found


def reached(rubric: Rubric, values: Mapping[str, float | bool]) -> frozenset[str]:
    """Return the channels whose value is at least the required one; one without value is not."""
    required = rubric.required or {}
    return frozenset(
        name for name in rubric.names if name in values and values[name] >= required.get(name, 1)
    )


def frontier(rubric: Rubric, progress: Progress) -> frozenset[str]:
    """Return the channels that could be reached next (Eq. 8).

    >>> rubric = Rubric(requires_current=[("open", "read"), ("read", "edit")])
    >>> sorted(frontier(rubric, Progress(frozenset({"open"}), frozenset({"open"}))))
    ['read']
    """
    blocks = rubric.blocks or ()
    stopped = {name for edge in blocks for name in edge[:1]} | progress.now
    stopped |= {b for a, b in blocks if a in progress.now}
    stopped |= _lacking(rubric.requires_ever, progress.ever)
    stopped |= _lacking(rubric.requires_current, progress.now)
    return frozenset(rubric.names) - stopped


def _lacking(edges: Iterable[tuple[str, str]] | None, present: Set[str]) -> set[str]:
    return {b for a, b in edges or () if a not in present}


@dataclass(frozen=True)
class Context:
    """What a decision is matched by, at one level."""

    level: str
    state: str
    """The state summary, as JSON with sorted keys."""
    progress: tuple[str, ...]
    frontier: tuple[str, ...]

    @property
    def name(self) -> str:
        """All of it, as one text."""
        return json.dumps([self.level, self.state, self.progress, self.frontier])


def contexts(
    rubric: Rubric, rollout: Rollout, progress: Sequence[Progress | None]
) -> list[list[Context]]:
    """Return the contexts of each step: those levels whose state summary and progress are known."""
    found: list[list[Context]] = []
    for step, before in zip(rollout.steps or (), progress, strict=True):
        found.append([])
        if before is None or step.state is None:
            continue
        names = tuple(sorted(before.now)), tuple(sorted(frontier(rubric, before)))
        for level in LEVELS:
            summary: dict[str, Any] | None = getattr(step.state, level)
            if summary is not None:
                state = json.dumps(summary, sort_keys=True, ensure_ascii=False)
                found[-1].append(Context(level, state, *names))
    return found
