"""The rollouts that a credit method is asked about, with their steps, and their rollout part.

The rollout part of an advantage compares a rollout's outcome with its siblings': the scored members
of its task and group. Rollouts of different tasks are never compared.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import Any, Literal

from ..graph.errors import CreditError
from ..graph.store import Store
from . import library
from .advantages import Mode, group_advantages

Weighting = Literal["rollout", "step", "trajectory"]
"""How often a rollout counts in its group's statistics: once, or once for each of its steps
(verl-agent's default, decision X5). `trajectory` is the papers' word for `rollout`."""
Compat = Literal["none", "verl-agent"]
"""`verl-agent`: the released codes' quirks: `weighting="step"`, and a group of one has its raw
value as its advantage (decisions X4, X5)."""

SOME_STEP_REWARDS = "some steps have no reward: the outcome reward is taken at the end"


@dataclass(frozen=True)
class Normalization:
    """How values are compared within their group."""

    mode: Mode
    ddof: int
    eps: float

    def __call__(self, values: Sequence[float], counts: Sequence[int] | None = None) -> list[float]:
        """Normalize the values of one group; `counts`: how often each is in the statistics."""
        return group_advantages(values, counts=counts, mode=self.mode, ddof=self.ddof, eps=self.eps)

    def by_group(
        self,
        groups: Mapping[str, Sequence[object]],
        values: Mapping[str, Sequence[float | None]],
    ) -> dict[str, list[float]]:
        """Normalize each step's value among those of its group of steps.

        Both are rollout to one entry a step. A step without group or value, and one alone in its
        group, gets 0.
        """
        members: defaultdict[object, list[tuple[str, int]]] = defaultdict(list)
        for rollout, of_steps in values.items():
            for step, (group, value) in enumerate(zip(groups[rollout], of_steps, strict=True)):
                if group is not None and value is not None:
                    members[group].append((rollout, step))
        found = {rollout: [0.0] * len(of_steps) for rollout, of_steps in values.items()}
        for places in members.values():
            normalized = self([values[rollout][step] or 0.0 for rollout, step in places])
            for (rollout, step), value in zip(places, normalized, strict=True):
                found[rollout][step] = value
        return found


class Batch:
    """The rollouts of some groups with their steps, as every method needs them."""

    def __init__(self, store: Store, groups: list[str]) -> None:
        """Read them. Raises CreditError for a group that there is not."""
        self.store = store
        self.groups = groups
        self.rollouts = library.run(store, "rollouts", groups=groups).to_pylist()
        if missing := sorted(set(groups) - {row["group"] for row in self.rollouts}):
            raise CreditError(
                f"no rollout is in group {missing[0]}; `rollgraph query rollouts` lists the groups"
            )
        self._steps = library.run(store, "steps", groups=groups)

    @cached_property
    def loss_tokens(self) -> Mapping[str, list[int | None]]:
        """Rollout to the loss tokens of its steps, in order; None: not known."""
        return self._of_steps("loss_tokens")

    @cached_property
    def step_rewards(self) -> Mapping[str, list[float | None]]:
        """Rollout to the environment's rewards of its steps, in order; None: not known."""
        return self._of_steps("reward")

    @cached_property
    def is_valid(self) -> Mapping[str, list[bool | None]]:
        """Rollout to whether its actions were accepted, in order; None: not known."""
        return self._of_steps("valid")

    @cached_property
    def is_annotated(self) -> Mapping[str, list[bool]]:
        """Rollout to whether it is known which predicates its steps marked, in order."""
        return self._of_steps("annotated")

    def _of_steps(self, column: str) -> Mapping[str, list[Any]]:
        found: dict[str, list[Any]] = {row["rollout"]: [] for row in self.rollouts}
        rollouts = self._steps.column("rollout").to_pylist()
        for rollout, value in zip(rollouts, self._steps.column(column).to_pylist(), strict=True):
            found[str(rollout)].append(value)
        return found

    def length(self, rollout: str) -> int:
        """Return how many steps a rollout has."""
        return len(self.step_rewards[rollout])

    def rewards(self) -> tuple[dict[str, list[float | None]], dict[str, str]]:
        """Return the rewards of each rollout's steps, and notes where they are not as recorded.

        Where no step has one, the outcome reward is the last step's; all None: it has none either.
        """
        found: dict[str, list[float | None]] = {}
        notes: dict[str, str] = {}
        for row in self.rollouts:
            rollout, given = row["rollout"], self.step_rewards[row["rollout"]]
            known = sum(value is not None for value in given)
            if known < len(given) and row["reward"] is not None:
                found[rollout] = [*[0.0] * (len(given) - 1), row["reward"]]
                if known:
                    notes[rollout] = SOME_STEP_REWARDS
            else:
                found[rollout] = given if known == len(given) else [None] * len(given)
        return found, notes

    def totals(self) -> dict[str, float | None]:
        """Return each rollout's outcome reward, or else the sum of its steps' rewards."""
        found: dict[str, float | None] = {}
        for row in self.rollouts:
            known = [value for value in self.step_rewards[row["rollout"]] if value is not None]
            is_whole = known and len(known) == self.length(row["rollout"])
            total = fsum(known) if is_whole else None
            found[row["rollout"]] = total if row["reward"] is None else row["reward"]
        return found

    def outcomes(self) -> dict[str, float | None]:
        """Return each rollout's outcome reward; None: unscored, which is not zero."""
        return {row["rollout"]: row["reward"] for row in self.rollouts}

    def siblings(self, values: Mapping[str, float | None]) -> list[tuple[str, list[str]]]:
        """Return the rollouts of each group that have a value, beside the group's name."""
        members: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for row in self.rollouts:
            if values[row["rollout"]] is not None:
                members[row["task"], row["group"]].append(row["rollout"])
        return [(group, rollouts) for (_, group), rollouts in members.items()]

    def advantages(
        self, estimate: Callable[[list[float]], list[float]], values: Mapping[str, float | None]
    ) -> dict[str, float | None]:
        """Estimate each rollout's advantage among its siblings; None: it has no value."""
        found: dict[str, float | None] = dict.fromkeys(values)
        for group, rollouts in self.siblings(values):
            try:
                estimates = estimate([values[rollout] or 0.0 for rollout in rollouts])
            except CreditError as error:
                raise CreditError(f"group {group}: {error}") from error
            found.update(zip(rollouts, estimates, strict=True))
        return found

    def weighted_advantages(
        self,
        normalize: Normalization,
        values: Mapping[str, float | None],
        weighting: Weighting,
        compat: Compat,
    ) -> dict[str, float | None]:
        """Normalize values of rollouts among their siblings; None: it has no value."""
        is_by_step = weighting == "step" or compat == "verl-agent"
        found: dict[str, float | None] = dict.fromkeys(values)
        for _, rollouts in self.siblings(values):
            given = [values[rollout] or 0.0 for rollout in rollouts]
            counts = [self.length(rollout) if is_by_step else 1 for rollout in rollouts]
            if compat == "verl-agent" and sum(counts) == 1:
                scale = 1 + normalize.eps if normalize.mode == "mean_std" else 1
                estimates = [value / scale for value in given]
            else:
                estimates = normalize(given, counts)
            found.update(zip(rollouts, estimates, strict=True))
        return found


def discounted(rewards: Sequence[float | None], gamma: float) -> list[float | None]:
    """Return the discounted return from each step on: R_t = r_t + gamma R_{t+1}.

    None where a reward that it needs is not known.

    >>> discounted([0.0, 1.0, 10.0], 0.5)
    [3.0, 6.0, 10.0]
    """
    found: list[float | None] = []
    total: float | None = 0.0
    for reward in reversed(rewards):
        total = None if reward is None or total is None else reward + gamma * total
        found.append(total)
    return found[::-1]
