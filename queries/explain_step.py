"""Why a step has the credit that a method of state graphs gives it.

The rows are the state before the step and the one after, with the nearest way to success and what
the method says they are worth; the step itself; and the steps that it was compared with, those that
start from the same state.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..graph.errors import CreditError
from ..graph.store import Store
from . import library
from .batch import Batch
from .credit import CREDIT_METHODS
from .g2po import G2poOptions, state_values
from .rewardflow import RewardFlowOptions, values
from .state_graph import Node, StateGraphs

_SINK: Node = ("", None, "success")
"""GraphGPO's success: the last step of a successful rollout leads to it."""
STATE_METHODS = ("rewardflow", "graphgpo", "gigpo", "hgpo", "g2po")


@dataclass(frozen=True)
class StepReason:
    """One row of an explanation."""

    why: str
    """state before, state after, this step, same state; of `hgpo` the longest history shared."""
    step: str
    """ROLLOUT/STEP."""
    text: str | None
    """The state's key, or the step's action."""
    path: str
    """The steps on a shortest way to success from the state, or from the one that a step leads to.
    """
    distance: int | None
    """How many steps those are; None: there is no way, or the method does not ask."""
    value: float | None
    """Of a state: what it is worth; of a step: its credit."""
    advantage: float | None
    """Of a step."""


def explain_step(store: Store, name: str, method: str, options: Any) -> list[StepReason]:
    """Explain the credit of one step, named by its id, such as `ROLLOUT/2`.

    Raises CreditError for an unknown step, or one that has no credit to explain.
    """
    place = step_place(store, name)
    scope = options.scope if isinstance(options, RewardFlowOptions) else "group"
    groups = [place["group"]]
    if scope == "task":
        rows = library.run(store, "rollouts").to_pylist()
        groups = sorted({row["group"] for row in rows if row["task"] == place["task"]})
    batch = Batch(store, groups)
    graphs = StateGraphs(batch, scope)
    explained = _Explained(batch, graphs, method, options)
    return list(explained.rows(place["rollout"], place["step"]))


def step_place(store: Store, name: str) -> dict[str, Any]:
    """Return the rollout, task, group and position of a step. Raises CreditError."""
    found = library.run(store, "step_place", step=name).to_pylist()
    if not found:
        raise CreditError(f"no step is called {name}; expected ROLLOUT/STEP, such as rollout-1/2")
    return found[0]


class _Explained:
    def __init__(self, batch: Batch, graphs: StateGraphs, method: str, options: Any) -> None:
        self._graphs, self._method, self._options = graphs, method, options
        self._credited = {
            found.rollout: found for found in CREDIT_METHODS[method].run(batch, options)
        }
        self._texts: dict[str, str | None] = {_SINK[2]: None}
        self._actions: dict[tuple[str, int], str | None] = {}
        for row in library.run(batch.store, "transitions", groups=batch.groups).to_pylist():
            self._texts |= {row["state"]: row["key"], row["next_state"]: row["next_key"]}
            self._actions[row["rollout"], row["step"]] = row["action"]
        self._worth: dict[Node, float] = {}
        if isinstance(options, RewardFlowOptions):
            self._worth = values(graphs, options)
        elif isinstance(options, G2poOptions):
            self._worth = state_values(batch, graphs, options.gamma)
        self._nodes: dict[str, list[Node | None]] = {}
        for row in batch.rollouts:
            self._nodes[row["rollout"]] = nodes = graphs.nodes(row["rollout"])
            if method == "graphgpo" and row["success"]:
                nodes[-1] = _SINK
            elif method == "g2po" and (end := nodes[-1]) and row["reward"] is not None:
                nodes[-1] = end = ("", row["rollout"], end[2])  # worth what this rollout got
                self._worth[end] = row["reward"]
        self._ways: Mapping[Node, list[str]] = {}
        if method in ("rewardflow", "graphgpo"):
            self._ways = self._ways_to_success()

    def rows(self, rollout: str, step: int) -> Iterator[StepReason]:
        """Go through the rows that explain a step."""
        name = f"{rollout}/{step}"
        nodes = self._nodes[rollout]
        found = self._credited[rollout]
        if nodes[step] is None or found.steps[step].credit is None:
            raise CreditError(f"{name}: has no credit to explain: {found.fallback}")
        yield self._state("state before", name, nodes[step])
        yield self._state("state after", name, nodes[step + 1])
        yield self._step("this step", rollout, step)
        for other, visited in self._nodes.items():
            for position, node in enumerate(visited[:-1]):
                if node == nodes[step] and (other, position) != (rollout, step):
                    shared = _shared(nodes[: step + 1], visited[: position + 1])
                    yield self._step(self._same(shared), other, position)

    def _same(self, shared: int) -> str:
        depth = min(shared, self._options.history + 1) if self._method == "hgpo" else 1
        return "same state" if depth == 1 else f"same last {depth} states"

    def _state(self, why: str, name: str, node: Node | None) -> StepReason:
        if node is None:
            return StepReason(why, name, None, "", None, None, None)
        distance, path = self._way(node)
        worth = self._worth.get(node, 0.0 if self._method == "rewardflow" else None)
        return StepReason(why, name, self._texts[node[2]], path, distance, worth, None)

    def _step(self, why: str, rollout: str, step: int) -> StepReason:
        found = self._credited[rollout].steps[step]
        target = self._nodes[rollout][step + 1]
        distance, path = (None, "") if target is None else self._way(target)
        text = self._actions[rollout, step]
        name = f"{rollout}/{step}"
        return StepReason(why, name, text, path, distance, found.credit, found.advantage)

    def _way(self, node: Node) -> tuple[int | None, str]:
        if node not in self._ways:
            return None, ""
        way = self._ways[node]
        return len(way), " → ".join([*way, "success"])

    def _ways_to_success(self) -> dict[Node, list[str]]:
        """Find the steps of a shortest way from each state to success."""
        into: dict[Node, list[tuple[Node, str]]] = {}
        for rollout, nodes in self._nodes.items():
            for step, (a, b) in enumerate(pairwise(nodes)):
                if a is not None and b is not None:
                    into.setdefault(b, []).append((a, f"{rollout}/{step}"))
        ends = {_SINK} if self._method == "graphgpo" else self._graphs.successes()
        ways: dict[Node, list[str]] = {node: [] for node in sorted(ends)}
        waiting = deque(ways)
        while waiting:
            node = waiting.popleft()
            for before, step in into.get(node, ()):
                if before not in ways:
                    ways[before] = [step, *ways[node]]
                    waiting.append(before)
        return ways


def _shared(first: Sequence[Node | None], second: Sequence[Node | None]) -> int:
    """Return how many of their last states two histories share."""
    count = 0
    for a, b in zip(reversed(first), reversed(second), strict=False):
        if a is None or a != b:
            break
        count += 1
    return count
