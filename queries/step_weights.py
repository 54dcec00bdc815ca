"""From the credits of a rollout's steps to weights that redistribute its advantage (DepGPO, A.5).

A pure function: the trainer calls it with the loss mask's own token counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

DELTA_MIN = 1e-9

NO_STEPS = "no steps"
NO_TRACED_STEP = "no traced command"
NO_LOSS_TOKENS = "no loss tokens"
Z_IS_ZERO = "Z is zero"
NO_TOKEN_COUNTS = "no token counts: steps weigh alike"  # noqa: S105


@dataclass(frozen=True)
class StepWeights:
    """Factors and weights of a rollout's T steps."""

    factors: list[float]
    """f_t (Eq. 18); 1 for a step without traced commands."""
    weights: list[float]
    """w_t = f_t / Z (Eq. 19)."""
    compared: list[int]
    """S: the steps with traced commands."""
    minimum: float | None
    """m: the lowest credit among them; None: there are none."""
    delta: float | None
    """The total credit above the minimum (Eq. 17)."""
    z: float | None
    """Z: the token-weighted mean factor; None: no token counts."""
    unmapped_weight: float
    """The weight of loss tokens outside every step."""
    fallback: str | None
    """Why factors or weights are not the method's own; None: they are."""


def step_weights(
    step_credits: Sequence[float | None],
    tokens: Sequence[int | None],
    *,
    unmapped_tokens: int = 0,
    delta_min: float = DELTA_MIN,
) -> StepWeights:
    """Turn step credits into factors of mean 1, and those into weights of token-weighted mean 1.

    `step_credits` has one credit a step, None for a step without traced commands; `tokens` its loss
    tokens, None where they are not known. Unit factors and weights where Table 4 has them.
    Where no step's tokens are known, steps weigh alike; where only some are, weights are 1.

    >>> step_weights([0, 1, None], [10, 30, 20]).weights
    [0.0, 1.5, 0.75]
    >>> step_weights([1, 1], [3, 9]).fallback
    'delta <= 1e-09'
    """
    compared = [step for step, credit in enumerate(step_credits) if credit is not None]
    known = [credit for credit in step_credits if credit is not None]
    minimum = min(known, default=None)
    delta = None if minimum is None else fsum(credit - minimum for credit in known)
    fallback = None
    factors = [1.0] * len(step_credits)
    if minimum is None or delta is None:
        fallback = NO_TRACED_STEP if step_credits else NO_STEPS
    elif delta <= delta_min:
        fallback = f"delta <= {delta_min:g}"
    else:
        for step, credit in zip(compared, known, strict=True):
            factors[step] = len(compared) * (credit - minimum) / delta
    z, reason = _mean_factor(factors, tokens, unmapped_tokens)
    weights = [factor / z for factor in factors] if z else [1.0] * len(factors)
    return StepWeights(
        factors=factors,
        weights=weights,
        compared=compared,
        minimum=minimum,
        delta=delta,
        z=z,
        unmapped_weight=1.0 / z if z else 1.0,
        fallback=fallback or reason,
    )


def _mean_factor(
    factors: Sequence[float], tokens: Sequence[int | None], unmapped_tokens: int
) -> tuple[float | None, str | None]:
    """Z (Eq. 6 and 19, over tokens), and why it does not weigh the factors by their tokens."""
    unknown = [step for step, count in enumerate(tokens) if count is None]
    if unknown and len(unknown) < len(tokens):
        return None, f"no token counts in steps {', '.join(map(str, unknown))}"
    counts = [1 if count is None else count for count in tokens]
    total = sum(counts) + unmapped_tokens
    if not total:
        return None, NO_LOSS_TOKENS
    weighted = (factor * count for factor, count in zip(factors, counts, strict=True))
    z = fsum((*weighted, unmapped_tokens)) / total
    if z == 0:
        return z, Z_IS_ZERO
    return z, NO_TOKEN_COUNTS if unknown else None
