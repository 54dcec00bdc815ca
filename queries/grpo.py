"""GRPO, its centred form and RLOO: the rollout's advantage, the same on every step."""

from dataclasses import dataclass
from functools import partial
from typing import Literal

from .advantages import Mode, group_advantages, leave_one_out_advantages
from .batch import Batch
from .results import RolloutCredit, StepCredit


@dataclass(frozen=True)
class GrpoOptions:
    """Parameters of `grpo`."""

    mode: Mode = "mean_std"
    """`mean_std`, or `mean`: only centred (Dr. GRPO)."""
    ddof: Literal[0, 1] = 0
    """0: population deviation; 1: sample deviation."""
    eps: float = 1e-6
    """Added to the deviation."""


@dataclass(frozen=True)
class RlooOptions:
    """`rloo` takes no parameters."""


def grpo(batch: Batch, options: GrpoOptions) -> list[RolloutCredit]:
    """Give every step its rollout's group-relative advantage (DepGPO, Eq. 1)."""
    return _uniform(batch, "grpo", group_relative(batch, options))


def rloo(batch: Batch, _: RlooOptions) -> list[RolloutCredit]:
    """Give every step its rollout's reward less the mean of its siblings'."""
    return _uniform(batch, "rloo", batch.advantages(leave_one_out_advantages, batch.outcomes()))


def group_relative(batch: Batch, options: GrpoOptions) -> dict[str, float | None]:
    """Return each rollout's group-relative advantage; None: it is unscored."""
    estimate = partial(group_advantages, mode=options.mode, ddof=options.ddof, eps=options.eps)
    return batch.advantages(estimate, batch.outcomes())


def _uniform(batch: Batch, method: str, advantages: dict[str, float | None]) -> list[RolloutCredit]:
    credited: list[RolloutCredit] = []
    for row in batch.rollouts:
        rollout, advantage = row["rollout"], advantages[row["rollout"]]
        steps = [
            StepCredit(step, None, 1.0, 1.0, advantage) for step in range(batch.length(rollout))
        ]
        credited.append(RolloutCredit(rollout, row["group"], method, advantage, None, [], steps))
    return credited
