"""Why a step's action is preferred to another's, or another's to it: the evidence of MCGPO."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..graph.errors import CreditError
from ..graph.store import Store
from . import library
from .batch import Batch
from .explain_step import step_place
from .mcgpo import McgpoOptions, mcgpo
from .results import Decision, Pair


@dataclass(frozen=True)
class PairReason:
    """One row of an explanation: the context, one of the two decisions, or evidence for either."""

    why: str
    """context, preferred, other, or evidence."""
    step: str
    """ROLLOUT/STEP."""
    text: str | None
    """The action; of the context its level, state, progress and frontier."""
    reward: float | None
    """The rollout's outcome reward."""
    success: bool | None
    contrast: float | None
    """Of the pair, like what follows."""
    support: int | None
    weight: float | None


def explain_pairs(store: Store, name: str, options: McgpoOptions) -> list[PairReason]:
    """Explain the pairs that a step is in, named by its id, such as `ROLLOUT/2`.

    Raises CreditError for an unknown step, or one that is in no pair.
    """
    place = step_place(store, name)
    batch = Batch(store, [place["group"]])
    wanted = Decision(place["rollout"], place["step"])
    credited = mcgpo(batch, options)
    pairs = [
        pair
        for rollout in credited
        for pair in rollout.pairs or ()
        if wanted in (pair.preferred, pair.other)
    ]
    if not pairs:
        (found,) = (found for found in credited if found.rollout == wanted.rollout)
        reason = found.fallback or "no decision in its context supports a comparison"
        raise CreditError(
            f"{name}: is in no pair ({reason}); explain --method graphgpo tells of its advantage"
        )
    decisions = library.run(
        store, "decisions", groups=batch.groups, start=options.b
    ).to_pylist()  # fmt: skip
    task = place["task"]
    rows = [row for row in decisions if row["task"] == task]
    return [reason for pair in pairs for reason in _of_pair(pair, rows, options)]


def _of_pair(pair: Pair, rows: list[dict[str, Any]], options: McgpoOptions) -> Iterator[PairReason]:
    at = {(row["rollout"], row["step"]): row for row in rows if row["level"] == pair.level}
    ends = {
        "preferred": at[pair.preferred.rollout, pair.preferred.step],
        "other": at[pair.other.rollout, pair.other.step],
    }
    nothing = (None, None, None)
    text = _context(ends["preferred"], options)
    yield PairReason("context", _step(ends["preferred"]), text, None, None, *nothing)
    numbers = (pair.contrast, pair.support, pair.weight)
    for why, row in ends.items():
        yield _decision(why, row, numbers if why == "preferred" else nothing)
    key = _key(ends["preferred"], options)
    evident = pair.fold if options.evidence == "same" else 1 - pair.fold
    actions = {row["action"] for row in ends.values()}
    entered: dict[str, Mapping[str, Any]] = {}
    for row in sorted(at.values(), key=lambda row: row["step"]):
        if row["slot"] % 2 == evident and _key(row, options) == key:
            entered.setdefault(row["rollout"], row)
    for row in sorted(entered.values(), key=lambda row: row["slot"]):
        if row["action"] in actions:
            yield _decision("evidence", row, nothing)


def _decision(
    why: str, row: Mapping[str, Any], numbers: tuple[float | None, int | None, float | None]
) -> PairReason:
    return PairReason(why, _step(row), row["action"], row["reward"], row["success"], *numbers)


def _step(row: Mapping[str, Any]) -> str:
    return f"{row['rollout']}/{row['step']}"


def _key(row: Mapping[str, Any], options: McgpoOptions) -> tuple[Any, ...]:
    rubric = (tuple(row["progress"]), tuple(row["frontier"]))
    return {"joint": (row["state"], *rubric), "state": (row["state"],), "rubric": rubric}[
        options.match
    ]


def _context(row: Mapping[str, Any], options: McgpoOptions) -> str:
    names = {name: ", ".join(row[name]) or "none" for name in ("progress", "frontier")}
    parts = [f"{row['level']} {row['state']}"] if options.match != "rubric" else [row["level"]]
    if options.match != "state":
        parts += [f"reached: {names['progress']}", f"next: {names['frontier']}"]
    return "; ".join(parts)
