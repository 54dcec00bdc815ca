"""RewardFlow: reward flows back from success over the state graph (2603.18859).

A state d steps from the nearest success is worth R = scale gamma^d, one that leads to none 0; a
step is worth what it gains, R(s') - R(s). Its advantage is that gain among those of all steps that
start from the same state of the graph, plus the rollout's outcome among its siblings', weighted.
The distances are Cypher's (`reward_flow`); gamma^d and what follows is arithmetic.

`propagation` chooses the ablations of Tables 10 and 13, which the paper does not define (decision
F6): `mean`: d is the mean distance over the success states that the state leads to; `pagerank`: R
is the personalized PageRank of the reversed graph, restarted in the success states, over its
largest value.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from ..graph.errors import CreditError
from .advantages import Mode
from .batch import Batch, Compat, Normalization, Weighting
from .results import RolloutCredit
from .state_graph import QUERIES as STATE_QUERIES
from .state_graph import Graph, Node, Scope, StateGraphs

QUERIES = (*STATE_QUERIES, "reward_flow")


@dataclass(frozen=True)
class RewardFlowOptions:
    """Parameters of `rewardflow`."""

    gamma: float = 0.9
    """What is left of the reward after each step of distance, in (0, 1]."""
    scale: float = 1.0
    """Reward of a success state."""
    mode: Mode = "mean_std"
    """`mean_std`, or `mean`: only centred (the released code's default)."""
    ddof: Literal[0, 1] = 1
    """0: population deviation; 1: sample deviation."""
    eps: float = 1e-6
    """Added to the deviation."""
    alpha_action: float = 1.0
    """Weight of the step's part (Table 6)."""
    alpha_traj: float = 1.0
    """Weight of the rollout's part."""
    traj_weighting: Weighting = "rollout"
    """How often a rollout counts in its group's statistics: once, or for each `step`."""
    propagation: Literal["min", "mean", "pagerank"] = "min"
    """`min` distance, or an ablation: `mean` distance, `pagerank`."""
    scope: Scope = "group"
    """Which rollouts make one state graph: those of a `group`, or all of a `task` in the store."""
    compat: Compat = "none"
    """`verl-agent`: with the quirks of the released codes."""


def rewardflow(batch: Batch, options: RewardFlowOptions) -> list[RolloutCredit]:
    """Credit each step with the reward that it gains on the way to success."""
    if options.propagation == "pagerank" and options.scope == "task":
        raise CreditError("rewardflow: propagation=pagerank takes scope=group, found task")
    graphs = StateGraphs(batch, options.scope)
    worth = values(graphs, options)
    normalize = Normalization(options.mode, options.ddof, options.eps)
    outcomes = {
        row["rollout"]: float(row["success"])
        if row["reward"] is None and row["success"] is not None
        else row["reward"]
        for row in batch.rollouts
    }
    of_rollout = batch.weighted_advantages(
        normalize, outcomes, options.traj_weighting, options.compat
    )
    gains = {
        rollout: [
            None if a is None or b is None else worth.get(b, 0.0) - worth.get(a, 0.0)
            for a, b in pairwise(graphs.nodes(rollout))
        ]
        for rollout in graphs.states
    }
    parts = normalize.by_group(graphs.sources(), gains)
    return graphs.credited(
        "rewardflow",
        of_rollout,
        gains,
        parts,
        weights=(options.alpha_traj, options.alpha_action),
        needs_success=True,
    )


def values(graphs: StateGraphs, options: RewardFlowOptions) -> dict[Node, float]:
    """Return R of every state that leads to success, of all graphs; that of the others is 0."""
    if options.propagation == "pagerank":
        return _pagerank(graphs, options)
    worth = dict.fromkeys(graphs.successes(), options.scale)
    for graph, row in graphs.measured("reward_flow"):
        node = (*graph, row["state"])
        distance: float = row["distance"]
        if options.propagation == "mean":
            own = node in worth  # a success state is at distance 0 from itself
            distance = row["mean_distance"] * row["successes"] / (row["successes"] + own)
        elif node in worth:
            continue
        worth[node] = options.scale * options.gamma**distance
    return worth


def _pagerank(graphs: StateGraphs, options: RewardFlowOptions) -> dict[Node, float]:
    edges: defaultdict[Graph, set[tuple[Node, Node]]] = defaultdict(set)
    for rollout, graph in graphs.graph_of.items():
        for a, b in pairwise(graphs.nodes(rollout)):
            if a and b:
                edges[graph].add((b, a))
    starts: defaultdict[Graph, list[Node]] = defaultdict(list)
    for task, group, state in graphs.successes():
        starts[task, group].append((task, group, state))
    worth: dict[Node, float] = {}
    for graph, successes in starts.items():
        ranks = personalized_pagerank(edges[graph], successes)
        largest = max(ranks.values())
        worth.update({node: options.scale * rank / largest for node, rank in ranks.items()})
    return worth


def personalized_pagerank(
    edges: Iterable[tuple[Node, Node]], starts: Iterable[Node], damping: float = 0.85
) -> dict[Node, float]:
    """Return the PageRank of a graph's nodes, restarted evenly in `starts`; the sum is 1.

    A node without edges restarts. Iterated until no sum of changes is above 1e-12.
    """
    ordered, restarts = sorted(edges), sorted(starts)
    nodes = sorted({node for edge in ordered for node in edge} | set(restarts))
    number = {node: index for index, node in enumerate(nodes)}
    sources = np.array([number[a] for a, _ in ordered], dtype=np.intp)
    targets = np.array([number[b] for _, b in ordered], dtype=np.intp)
    degrees = np.bincount(sources, minlength=len(nodes))
    restart = np.zeros(len(nodes))
    restart[[number[node] for node in restarts]] = 1 / len(restarts)
    ranks, change = restart, 1.0
    while change > 1e-12:
        flow = np.bincount(targets, ranks[sources] / degrees[sources], minlength=len(nodes))
        stuck = ranks[degrees == 0].sum()
        before, ranks = ranks, damping * (flow + stuck * restart) + (1 - damping) * restart
        change = float(np.abs(ranks - before).sum())
    return dict(zip(nodes, ranks.tolist(), strict=True))
