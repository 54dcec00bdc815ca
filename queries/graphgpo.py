"""GraphGPO: each step by how near to success it leads, against those from the same state.

GraphGPO (2605.26684), the baseline of MCGPO (2610.13755, B.1). The last step of a successful
rollout leads to a success sink; d is a state's distance to the sink, and one more than the largest
where there is no way (decision G3). A step to s' returns r omega^d(s') in the released code's
convention, r omega^(d(s') + 1) in the paper's Eq. 4 (decision G1).
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from .advantages import Mode
from .batch import Batch, Compat, Normalization, Weighting
from .results import RolloutCredit
from .state_graph import QUERIES as STATE_QUERIES
from .state_graph import Graph, Node, StateGraphs

QUERIES = (*STATE_QUERIES, "sink_distances")


@dataclass(frozen=True)
class GraphgpoOptions:
    """Parameters of `graphgpo`."""

    omega: float = 0.1
    """What is left of the return after each step of distance, in (0, 1]: 0.1 for ALFWorld, 0.2 for
    WebShop (MCGPO, Table 7)."""
    convention: Literal["code", "paper"] = "code"
    """Whether the step itself counts in the exponent: `paper`: yes; `code`: no."""
    r_succ: float = 10.0
    """Return of success, and outcome of a successful rollout."""
    invalid_penalty: float = 0.1
    """What each action that was not accepted takes from the rollout's outcome."""
    mode: Mode = "mean_std"
    """`mean_std`, or `mean`: only centred."""
    ddof: Literal[0, 1] = 1
    """0: population deviation; 1: sample deviation."""
    eps: float = 1e-6
    """Added to the deviation."""
    weighting: Weighting = "step"
    """How often a rollout counts in its group's statistics: for each `step`, or once."""
    beta_graph: float = 1.0
    """Weight of the step's part."""
    beta_episode: float = 1.0
    """Weight of the rollout's part."""
    compat: Compat = "none"
    """`verl-agent`: with the quirks of the released codes."""


def graphgpo(batch: Batch, options: GraphgpoOptions) -> list[RolloutCredit]:
    """Compare each step's return with those from the same state, beside the rollout's part."""
    graphs = StateGraphs(batch, "group")
    normalize = Normalization(options.mode, options.ddof, options.eps)
    outcomes = {
        row["rollout"]: None
        if row["success"] is None
        else options.r_succ * row["success"]
        - options.invalid_penalty * batch.is_valid[row["rollout"]].count(False)
        for row in batch.rollouts
    }
    base = batch.weighted_advantages(normalize, outcomes, options.weighting, options.compat)
    returns = edge_returns(batch, graphs, options)
    parts = normalize.by_group(graphs.sources(), returns)
    weights = (options.beta_episode, options.beta_graph)
    return graphs.credited("graphgpo", base, returns, parts, weights=weights, needs_success=True)


def edge_returns(
    batch: Batch, graphs: StateGraphs, options: GraphgpoOptions
) -> dict[str, list[float | None]]:
    """Return what each step leads to, rollout to one value a step; None: it is not known."""
    distances, furthest = sink_distances(batch, graphs)
    own = int(options.convention == "paper")
    found: dict[str, list[float | None]] = {}
    for row in batch.rollouts:
        rollout = row["rollout"]
        graph = graphs.graph_of[rollout]
        found[rollout] = [
            None
            if a is None or b is None
            else options.r_succ * options.omega ** (own + distances.get(b, furthest[graph] + 1))
            for a, b in pairwise(graphs.nodes(rollout))
        ]
        if row["success"] and found[rollout] and graphs.states[rollout][-2] is not None:
            found[rollout][-1] = options.r_succ * options.omega**own
    return found


def sink_distances(
    batch: Batch, graphs: StateGraphs
) -> tuple[dict[Node, int], defaultdict[Graph, int]]:
    """Return the distance of each state that has a way to the sink, and each graph's largest."""
    found: dict[Node, int] = {}
    furthest: defaultdict[Graph, int] = defaultdict(int)
    for row in batch.rollouts:
        nodes = graphs.nodes(row["rollout"])
        if row["success"] and len(nodes) > 1 and nodes[-2]:
            found[nodes[-2]] = furthest[graphs.graph_of[row["rollout"]]] = 1
    for graph, row in graphs.measured("sink_distances"):
        node = (*graph, row["state"])
        if node not in found:
            found[node] = row["distance"] + 1
            furthest[graph] = max(furthest[graph], found[node])
    return found, furthest
