"""Group-relative advantages: GRPO, its centred form and RLOO. Pure functions of a group's rewards.

Sums are exact (`math.fsum`), so the order of a group's members changes nothing.
"""

from collections.abc import Sequence
from math import fsum, sqrt
from typing import Literal

from ..graph.errors import CreditError

HUGE = 1e100

Mode = Literal["mean_std", "mean"]


def group_advantages(
    rewards: Sequence[float],
    *,
    counts: Sequence[int] | None = None,
    mode: Mode = "mean_std",
    ddof: int = 0,
    eps: float = 1e-6,
) -> list[float]:
    """Standardize the rewards of one group: (R - mean) / (std + eps) (DepGPO, Eq. 1).

    `mode="mean"` only centres (Dr. GRPO). `ddof` 0: population deviation. `counts`: how often each
    reward is in the statistics; None: once. A group of equal rewards, or of one member, gives
    exactly 0 (decisions X3, X4).

    >>> [round(advantage, 2) for advantage in group_advantages([0, 0, 0, 1])]
    [-0.58, -0.58, -0.58, 1.73]
    >>> group_advantages([0.1, 0.1, 0.1])
    [0.0, 0.0, 0.0]
    """
    counts = counts or [1] * len(rewards)
    members = sum(counts)
    if len({reward for reward, count in zip(rewards, counts, strict=True) if count}) < 2:
        return [0.0] * len(rewards)
    if (largest := max(map(abs, rewards))) > HUGE:  # squares and sums would overflow
        rewards, eps = [reward / largest for reward in rewards], eps / largest
        scale = largest if mode == "mean" else 1.0
        scaled = group_advantages(rewards, counts=counts, mode=mode, ddof=ddof, eps=eps)
        return [scale * value for value in scaled]
    weighted = list(zip(rewards, counts, strict=True))
    mean = fsum(count * reward for reward, count in weighted) / members
    if mode == "mean":
        return [reward - mean for reward in rewards]
    squares = fsum(count * (reward - mean) ** 2 for reward, count in weighted)
    deviation = sqrt(squares / (members - ddof))
    if deviation + eps == 0:  # they differ by less than a square can tell
        return [0.0] * len(rewards)
    return [(reward - mean) / (deviation + eps) + 0.0 for reward in rewards]  # no negative zero


def leave_one_out_advantages(rewards: Sequence[float]) -> list[float]:
    """Compare each reward with the mean of the others (RLOO).

    Raises CreditError for one reward alone, which has no others.

    >>> leave_one_out_advantages([1, 0, 0])
    [1.0, -0.5, -0.5]
    """
    if len(rewards) == 1:
        raise CreditError("RLOO compares a rollout with the others of its group, and found none")
    if (largest := max(map(abs, rewards))) > HUGE:
        scaled = leave_one_out_advantages([reward / largest for reward in rewards])
        return [largest * value for value in scaled]
    total = fsum(rewards)
    return [reward - (total - reward) / (len(rewards) - 1) for reward in rewards]
