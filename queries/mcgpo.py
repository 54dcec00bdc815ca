"""MCGPO: preferences between actions in matched contexts, beside GraphGPO's advantages.

Matched-Context Group Policy Optimization (2610.13755). Which two decisions can be compared, and
what evidence there is for either action, is Cypher's (`matched_contexts`). Here: the exact level
before the coarse one (Eq. 2); direction, contrast and weight (Eq. 3, 4); the earliest comparison
for each two rollouts, and at most two pairs for each task and fold, which share no decision
(decisions M5 to M9).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Any, Literal, TypeAlias

from . import library
from .advantages import Mode
from .batch import Batch, Compat, Weighting
from .graphgpo import QUERIES as GRAPHGPO_QUERIES
from .graphgpo import GraphgpoOptions, graphgpo
from .results import Decision, Pair, RolloutCredit

QUERIES = (*GRAPHGPO_QUERIES, "matched_contexts", "context_gaps")
FOLDS = 8
"""Slots 0 to 7: the even ones are fold 0, the odd ones fold 1 (decision M11)."""
NO_FOLDS = "no pairs: the group is not eight rollouts of slots 0 to 7"
NO_CONTEXTS = "no pairs: some steps have no action, progress, exact or coarse state"
NO_OUTCOMES = "no pairs: the outcome of some rollouts is not known"

Group: TypeAlias = tuple[str, str]
"""A task and a group."""


@dataclass(frozen=True)
class McgpoOptions:
    """Parameters of `mcgpo`; those of the pairs are the paper's Table 6."""

    m: int = 1
    """The least evidence for each action, in rollouts."""
    threshold: float = 0.999
    """The outcome reward from which a rollout counts as a success."""
    eps: float = 0.1
    """The least contrast of a pair."""
    kappa: float = 2.0
    """Shrinkage by support n: n / (n + kappa)."""
    q_exact: float = 1.0
    """Weight of a pair that was matched by its exact state."""
    q_coarse: float = 0.7
    """Weight of a pair that was matched by its coarse state."""
    max_pairs: int = 2
    """The most pairs for each task and fold."""
    b: int = 0
    """Steps before this position are no decisions (decision M4)."""
    match: Literal["joint", "state", "rubric"] = "joint"
    """What makes contexts equal: state and rubric, or one of them alone (C.4)."""
    evidence: Literal["opposite", "same"] = "opposite"
    """The fold that evidence comes from; `same`: the two rollouts' own (C.3)."""
    weighting: Literal["evidence", "uniform"] = "evidence"
    """`uniform`: every pair weighs what the batch's pairs weigh on average (C.3)."""
    omega: float = 0.1
    """As of `graphgpo`, like all that follow."""
    convention: Literal["code", "paper"] = "code"
    """As of `graphgpo`."""
    r_succ: float = 10.0
    """As of `graphgpo`."""
    invalid_penalty: float = 0.1
    """As of `graphgpo`."""
    mode: Mode = "mean_std"
    """As of `graphgpo`."""
    ddof: Literal[0, 1] = 1
    """As of `graphgpo`."""
    eps_std: float = 1e-6
    """`eps` of `graphgpo`."""
    episode_weighting: Weighting = "step"
    """`weighting` of `graphgpo`."""
    beta_graph: float = 1.0
    """As of `graphgpo`."""
    beta_episode: float = 1.0
    """As of `graphgpo`."""
    compat: Compat = "none"
    """As of `graphgpo`."""

    def of_graphgpo(self) -> GraphgpoOptions:
        """Return the options of the advantages."""
        return GraphgpoOptions(
            self.omega, self.convention, self.r_succ, self.invalid_penalty, self.mode, self.ddof,
            self.eps_std, self.episode_weighting, self.beta_graph, self.beta_episode, self.compat,
        )  # fmt: skip


def mcgpo(batch: Batch, options: McgpoOptions) -> list[RolloutCredit]:
    """Return GraphGPO's answer, with each group's pairs on the group's first rollout."""
    credited = graphgpo(batch, options.of_graphgpo())
    reasons = lacks(batch)
    pairs = selected(batch, options, reasons.keys())
    group_of = {row["rollout"]: (row["task"], row["group"]) for row in batch.rollouts}
    seen: set[Group] = set()
    for rollout in credited:
        group = group_of[rollout.rollout]
        if reason := reasons.get(group):
            rollout.fallback = "; ".join(filter(None, (rollout.fallback, reason)))
        if group not in seen:
            seen.add(group)
            rollout.pairs = pairs[group]
    return credited


def lacks(batch: Batch) -> dict[Group, str]:
    """Return why groups have no pairs, for those that cannot be matched."""
    members: defaultdict[Group, list[Mapping[str, Any]]] = defaultdict(list)
    for row in batch.rollouts:
        members[row["task"], row["group"]].append(row)
    gaps = library.run(batch.store, "context_gaps", groups=batch.groups).to_pylist()
    incomplete = {(row["task"], row["group"]) for row in gaps}
    found: dict[Group, str] = {}
    for group, rows in members.items():
        if sorted(row["slot"] for row in rows) != list(range(FOLDS)):
            found[group] = NO_FOLDS
        elif any(row["reward"] is None and row["success"] is None for row in rows):
            found[group] = NO_OUTCOMES
        elif group in incomplete:
            found[group] = NO_CONTEXTS
    return found


@dataclass(frozen=True)
class Candidate:
    """A comparison of two decisions that is good enough for a pair."""

    group: Group
    fold: int
    slots: tuple[int, int]
    """Of the preferred decision's rollout, and of the other's."""
    positions: tuple[int, int]
    """Of the two decisions within their rollouts, in the same order."""
    rollouts: tuple[str, str]
    level: str
    contrast: float
    support: int
    weight: float

    @property
    def decisions(self) -> set[tuple[int, int]]:
        """The two decisions, each as slot and position."""
        return set(zip(self.slots, self.positions, strict=True))


def selected(
    batch: Batch, options: McgpoOptions, left_out: Iterable[Group]
) -> dict[Group, list[Pair]]:
    """Return the pairs of every group, in the order of their folds and weights."""
    found: dict[Group, list[Pair]] = {(row["task"], row["group"]): [] for row in batch.rollouts}
    candidates = qualified(batch, options, set(left_out))
    chosen = list(allocated(earliest(candidates), options.max_pairs))
    if options.weighting == "uniform" and chosen:
        mean = fsum(candidate.weight for candidate in chosen) / len(chosen)
        chosen = [replace(candidate, weight=mean) for candidate in chosen]
    for item in chosen:
        preferred, other = map(Decision, item.rollouts, item.positions)
        found[item.group].append(
            Pair(
                item.group[1], item.level, preferred, other,
                item.contrast, item.support, item.weight, item.fold,
            )
        )  # fmt: skip
    for pairs in found.values():
        pairs.sort(key=lambda p: (p.fold, -p.weight, p.preferred.rollout, p.preferred.step))
    return found


def qualified(batch: Batch, options: McgpoOptions, left_out: set[Group]) -> list[Candidate]:
    """Return the comparisons with enough support and contrast, at the finest level with support."""
    rollout_of = {
        (row["task"], row["group"], row["slot"]): row["rollout"] for row in batch.rollouts
    }
    weights = {"exact": options.q_exact, "coarse": options.q_coarse}
    matched: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in library.run(
        batch.store, "matched_contexts", groups=batch.groups, m=options.m, start=options.b,
        threshold=options.threshold, match=options.match, evidence=options.evidence,
    ).to_pylist():  # fmt: skip
        ends = (row["first"], row["second"])
        if (row["task"], row["group"]) not in left_out and (
            ends not in matched or row["level"] == "exact"
        ):
            matched[ends] = row
    found: list[Candidate] = []
    for row in matched.values():
        rates = [row[f"{end}_successes"] / row[f"{end}_evidence"] for end in ("first", "second")]
        contrast = abs(rates[0] - rates[1])
        if contrast == 0 or contrast < options.eps:
            continue
        order = ("first", "second") if rates[0] > rates[1] else ("second", "first")
        group = (row["task"], row["group"])
        support = min(row["first_evidence"], row["second_evidence"])
        slots = (row[f"{order[0]}_slot"], row[f"{order[1]}_slot"])
        found.append(
            Candidate(
                group, row["fold"], slots,
                (row[f"{order[0]}_position"], row[f"{order[1]}_position"]),
                (rollout_of[*group, slots[0]], rollout_of[*group, slots[1]]),
                row["level"], contrast, support,
                contrast * support / (support + options.kappa) * weights[row["level"]],
            )
        )  # fmt: skip
    return found


def earliest(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the earliest comparison of each two rollouts: the one whose later decision is first.

    Where two are as early: the one with more weight, then the one with the earlier decisions, that
    of the lower slot first (decision M8).
    """

    def order(candidate: Candidate) -> tuple[Any, ...]:
        in_slots = sorted(zip(candidate.slots, candidate.positions, strict=True))
        return max(candidate.positions), -candidate.weight, [place for _, place in in_slots]

    first: dict[frozenset[str], Candidate] = {}
    for candidate in sorted(candidates, key=order):
        first.setdefault(frozenset(candidate.rollouts), candidate)
    return list(first.values())


def allocated(candidates: Sequence[Candidate], most: int) -> Iterator[Candidate]:
    """Yield at most so many for each group and fold, the heaviest first, none sharing a decision.

    Of equal weights the earlier one goes first, then the one of the lower slots (decision M9).
    """
    by_fold: defaultdict[tuple[Group, int], list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        by_fold[candidate.group, candidate.fold].append(candidate)
    for _, of_fold in sorted(by_fold.items()):
        of_fold.sort(key=lambda one: (-one.weight, max(one.positions), sorted(one.slots)))
        used: set[tuple[int, int]] = set()
        kept = 0
        for candidate in of_fold:
            if kept < most and used.isdisjoint(candidate.decisions):
                kept += 1
                used |= candidate.decisions
                yield candidate
