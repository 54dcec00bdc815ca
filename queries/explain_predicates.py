"""Why a step has the reward that DARS gives it: what it changed of each predicate.

The changes add up to the change of the potential; the reward is that, clipped and scaled.
"""

from dataclasses import dataclass

from ..graph.errors import CreditError
from ..graph.store import Store
from .batch import Batch
from .dars import DarsOptions, Standing, dars, marked, prerequisites, replayed
from .explain_step import step_place


@dataclass(frozen=True)
class PredicateReason:
    """One row of an explanation: a predicate that the step marked, or that counts otherwise now."""

    why: str
    """What the step marked; none: what it builds on was broken or mended."""
    predicate: str
    status: str
    """open, verified or broken, after the step."""
    broken: str | None
    """The nearest broken prerequisite after the step."""
    distance: int | None
    """How far that is away."""
    before: float
    """Its part of the potential before the step."""
    after: float
    """And after it."""
    change: float


def explain_predicates(store: Store, name: str, options: DarsOptions) -> list[PredicateReason]:
    """Explain the reward of one step, named by its id, such as `ROLLOUT/2`.

    Raises CreditError for an unknown step, or one that has no reward to explain.
    """
    place = step_place(store, name)
    batch = Batch(store, [place["group"]])
    rollout, step = place["rollout"], place["step"]
    (found,) = (found for found in dars(batch, options) if found.rollout == rollout)
    if found.steps[step].credit is None:
        raise CreditError(f"{name}: has no credit to explain: {found.fallback}")
    task, marks = prerequisites(batch)[place["task"]], marked(batch)
    nothing = Standing("open", None, None, 0.0)
    earlier = [dict.fromkeys(task.weights, nothing)]
    earlier += replayed(task, (marks[rollout, position] for position in range(step + 1)), options)
    rows: list[PredicateReason] = []
    for predicate, after in earlier[-1].items():
        before = earlier[-2][predicate]
        why = ", ".join(
            sorted(mark for mark, marked in marks[rollout, step] if marked == predicate)
        )
        if why or before != after:
            change = after.share - before.share
            rows.append(
                PredicateReason(
                    why, predicate, after.status, after.broken, after.distance,
                    before.share, after.share, change,
                )
            )  # fmt: skip
    return rows
