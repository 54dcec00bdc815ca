"""G2PO: each step by the value of the state that it leads to, and by what it gains.

Group-Graph Policy Optimization (2606.22995). A state is worth the mean, over all visits of the
group, of the rollout's reward discounted by the steps that were left, the visit's own included; an
end is worth its rollout's reward. A step's part is the value of the next state among the steps from
the same state (an action that was not accepted is worth a little less), and the gain in value among
all steps of the group.
"""

from collections import defaultdict
from dataclasses import dataclass
from math import fsum
from typing import Literal

from .advantages import Mode
from .batch import Batch, Compat, Normalization, Weighting
from .results import RolloutCredit
from .state_graph import Node, StateGraphs


@dataclass(frozen=True)
class G2poOptions:
    """Parameters of `g2po`."""

    gamma: float = 0.95
    """Discount of the reward for each step that is left, in (0, 1]."""
    omega: float = 1.0
    """Weight of the step's part."""
    invalid_penalty: float = 0.1
    """What an action that was not accepted takes from the value of the state that it led to."""
    mode: Mode = "mean_std"
    """`mean_std`, or `mean`: only centred (the released code's default)."""
    ddof: Literal[0, 1] = 1
    """0: population deviation; 1: sample deviation."""
    eps: float = 1e-6
    """Added to the deviation."""
    weighting: Weighting = "rollout"
    """How often a rollout counts in its group's statistics: once, or for each `step`."""
    compat: Compat = "none"
    """`verl-agent`: with the quirks of the released codes."""


def g2po(batch: Batch, options: G2poOptions) -> list[RolloutCredit]:
    """Compare the values of next states, and the gains; `credit` is the gain."""
    graphs = StateGraphs(batch, "group")
    normalize = Normalization(options.mode, options.ddof, options.eps)
    base = batch.weighted_advantages(normalize, batch.outcomes(), options.weighting, options.compat)
    worth = state_values(batch, graphs, options.gamma)
    sources = graphs.sources()
    following: dict[str, list[float | None]] = {}
    gains: dict[str, list[float | None]] = {}
    for row in batch.rollouts:
        rollout = row["rollout"]
        nodes = sources[rollout]
        values = [None if node is None else worth.get(node) for node in nodes]
        after = [*values[1:], row["reward"]] if nodes else []
        gains[rollout] = [
            None if a is None or b is None else b - a for a, b in zip(values, after, strict=True)
        ]
        following[rollout] = [
            None if value is None else value - options.invalid_penalty * (is_valid is False)
            for value, is_valid in zip(after, batch.is_valid[rollout], strict=True)
        ]
    by_state = normalize.by_group(sources, following)
    whole = {rollout: [graphs.graph_of[rollout]] * len(gains[rollout]) for rollout in gains}
    by_gain = normalize.by_group(whole, gains)
    parts = {
        rollout: [fsum(pair) for pair in zip(by_state[rollout], by_gain[rollout], strict=True)]
        for rollout in gains
    }
    return graphs.credited("g2po", base, gains, parts, weights=(1.0, options.omega))


def state_values(batch: Batch, graphs: StateGraphs, gamma: float) -> dict[Node, float]:
    """Return the mean discounted reward over the visits of each state by scored rollouts."""
    visits: defaultdict[Node, list[float]] = defaultdict(list)
    for row in batch.rollouts:
        nodes = graphs.nodes(row["rollout"])[:-1]
        for step, node in enumerate(nodes):
            if node is not None and row["reward"] is not None:
                visits[node].append(gamma ** (len(nodes) - step) * row["reward"])
    return {node: fsum(values) / len(values) for node, values in visits.items()}
