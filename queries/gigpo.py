"""GiGPO: the rollout against its siblings, and each step against those from the same anchor state.

Group-in-Group Policy Optimization (2505.10978). A step's return is what the environment rewards
from it on, discounted; where steps have no rewards, the outcome reward is the last step's. Anchor
states are the states of the group's graph.
"""

from dataclasses import dataclass
from typing import Literal

from .advantages import Mode
from .batch import Batch, Compat, Normalization, Weighting, discounted
from .results import RolloutCredit
from .state_graph import StateGraphs


@dataclass(frozen=True)
class GigpoOptions:
    """Parameters of `gigpo`."""

    gamma: float = 0.95
    """Discount of later rewards, in (0, 1]."""
    omega: float = 1.0
    """Weight of the step's part."""
    mode: Mode = "mean_std"
    """`mean_std`, or `mean`: only centred; the paper has both."""
    ddof: Literal[0, 1] = 1
    """0: population deviation; 1: sample deviation."""
    eps: float = 1e-6
    """Added to the deviation."""
    episode_weighting: Weighting = "rollout"
    """How often a rollout counts in its group's statistics: once, or for each `step`."""
    compat: Compat = "none"
    """`verl-agent`: with the quirks of the released codes."""


def gigpo(batch: Batch, options: GigpoOptions) -> list[RolloutCredit]:
    """Compare each step's return with those from the same state, beside the rollout's part."""
    graphs = StateGraphs(batch, "group")
    normalize = Normalization(options.mode, options.ddof, options.eps)
    base = batch.weighted_advantages(
        normalize, batch.totals(), options.episode_weighting, options.compat
    )
    rewards, notes = batch.rewards()
    returns = {rollout: discounted(given, options.gamma) for rollout, given in rewards.items()}
    parts = normalize.by_group(graphs.sources(), returns)
    return graphs.credited("gigpo", base, returns, parts, weights=(1.0, options.omega), notes=notes)
