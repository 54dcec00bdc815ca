"""DARS: signed rewards of steps from progress predicates that build on one another.

Dependency-Aware Reward Shaping (abstract; formula of the public project page, see the decisions). A
verified predicate counts in full while no prerequisite of it is broken, and less the nearer a
broken one is: exp(-lambda / d) at distance d. The potential is the weighted mean over the task's
predicates, a step's reward rho clip(its change, -kappa, kappa). Which prerequisites a predicate
has, and how far they are, is Cypher's (`prerequisites`); steps are replayed in order.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum
from typing import Literal, TypeAlias

from . import library
from .batch import Batch
from .grpo import GrpoOptions, group_relative
from .results import RolloutCredit, StepCredit

QUERIES = ("rollouts", "steps", "predicates", "prerequisites", "marks")
NO_PREDICATES = "no predicates: the task's record lists none"
NOT_ANNOTATED = "no marks: no step says which predicates it verified"
SOME_NOT_ANNOTATED = "some steps have no marks: they count as having changed nothing"
UNLISTED = "marks of predicates that the task does not list count only as prerequisites"

Mark: TypeAlias = tuple[str, str]
"""verified, invalidated or repaired; and the predicate."""
Law = Literal["exp(-lambda/d)", "exp(-lambda*d)"]
_ORDER = ("verified", "invalidated", "repaired")


@dataclass(frozen=True)
class DarsOptions:
    """Parameters of `dars`."""

    lambda_: float = 1.0
    """Strength of the discount by a broken prerequisite."""
    kappa: float = 1.0
    """The largest change of the potential that is rewarded."""
    rho: float = 1.0
    """Scale of the rewards."""
    law: Law = "exp(-lambda/d)"
    """How the discount depends on the distance d to the nearest broken prerequisite."""


@dataclass(frozen=True)
class Prerequisites:
    """The predicates of one task."""

    weights: Mapping[str, float]
    """Predicate to its share of the potential."""
    distances: Mapping[str, Mapping[str, int]]
    """Predicate to the distance of everything that it builds on."""


def dars(batch: Batch, options: DarsOptions) -> list[RolloutCredit]:
    """Reward each step by what it changes in the potential; `advantage` is the rollout's."""
    tasks = prerequisites(batch)
    marks = marked(batch)
    advantages = group_relative(batch, GrpoOptions())
    credited: list[RolloutCredit] = []
    for row in batch.rollouts:
        rollout, task = row["rollout"], tasks.get(row["task"])
        of_steps = [marks[rollout, step] for step in range(batch.length(rollout))]
        fallback = _lacks(task, of_steps, batch.is_annotated[rollout])
        is_known = task and any(batch.is_annotated[rollout])
        rewards = step_rewards(task, of_steps, options) if task and is_known else None
        advantage = advantages[rollout]
        steps = [
            StepCredit(step, rewards[step] if rewards else None, 1.0, 1.0, advantage)
            for step in range(len(of_steps))
        ]
        credited.append(
            RolloutCredit(rollout, row["group"], "dars", advantage, fallback, [], steps)
        )
    return credited


def step_rewards(
    task: Prerequisites, marks: Iterable[Iterable[Mark]], options: DarsOptions
) -> list[float]:
    """Return the reward of each step of a rollout, of what each marked."""
    rewards: list[float] = []
    before = 0.0
    for standings in replayed(task, marks, options):
        potential = fsum(standing.share for standing in standings.values())
        change = max(-options.kappa, min(options.kappa, potential - before))
        rewards.append(options.rho * change)
        before = potential
    return rewards


@dataclass(frozen=True)
class Standing:
    """What a predicate counts after a step."""

    status: Literal["open", "verified", "broken"]
    broken: str | None
    """The nearest broken prerequisite; None: there is none."""
    distance: int | None
    """How far that is away."""
    share: float
    """Its part of the potential."""


def replayed(
    task: Prerequisites, marks: Iterable[Iterable[Mark]], options: DarsOptions
) -> Iterator[dict[str, Standing]]:
    """Go through what each predicate counts after each step; the shares add up to Phi, in [0, 1].

    The marks of one step apply in the order verified, invalidated, repaired. What is verified again
    is not broken any more; a repair lifts a break, and the predicate has to be verified again.
    """
    verified, broken = set[str](), set[str]()
    for of_step in marks:
        for mark, predicate in sorted(of_step, key=lambda item: _ORDER.index(item[0])):
            if mark == "verified":
                verified.add(predicate)
            elif mark == "invalidated":
                verified.discard(predicate)
            (broken.add if mark == "invalidated" else broken.discard)(predicate)
        yield {name: _standing(task, name, verified, broken, options) for name in task.weights}


def _standing(
    task: Prerequisites, name: str, verified: set[str], broken: set[str], options: DarsOptions
) -> Standing:
    status = "broken" if name in broken else "verified" if name in verified else "open"
    near = [(d, other) for other, d in task.distances.get(name, {}).items() if other in broken]
    distance, nearest = min(near) if near else (None, None)
    share = 0.0
    if status == "verified":
        share = task.weights[name] / fsum(task.weights.values())
        if distance is not None:
            is_linear = options.law == "exp(-lambda*d)"
            share *= exp(-options.lambda_ * (distance if is_linear else 1 / distance))
    return Standing(status, nearest, distance, share)


def prerequisites(batch: Batch) -> dict[str, Prerequisites]:
    """Return the predicates of each task of a batch that lists some."""
    weights: defaultdict[str, dict[str, float]] = defaultdict(dict)
    distances: defaultdict[str, defaultdict[str, dict[str, int]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for row in library.run(batch.store, "predicates", groups=batch.groups).to_pylist():
        weights[row["task"]][row["predicate"]] = row["weight"]
    for row in library.run(batch.store, "prerequisites", groups=batch.groups).to_pylist():
        distances[row["task"]][row["predicate"]][row["prerequisite"]] = row["distance"]
    return {task: Prerequisites(found, distances[task]) for task, found in weights.items()}


def marked(batch: Batch) -> defaultdict[tuple[str, int], list[Mark]]:
    """Return what each step marked: (rollout, step) to its marks."""
    found: defaultdict[tuple[str, int], list[Mark]] = defaultdict(list)
    for row in library.run(batch.store, "marks", groups=batch.groups).to_pylist():
        found[row["rollout"], row["step"]].append((row["mark"], row["predicate"]))
    return found


def _lacks(
    task: Prerequisites | None, marks: Sequence[Sequence[Mark]], is_annotated: Sequence[bool]
) -> str | None:
    if not task:
        return NO_PREDICATES
    if marks and not any(is_annotated):
        return NOT_ANNOTATED
    reasons: list[str] = []
    if not all(is_annotated):
        reasons.append(SOME_NOT_ANNOTATED)
    if any(predicate not in task.weights for of_step in marks for _, predicate in of_step):
        reasons.append(UNLISTED)
    return "; ".join(reasons) or None
