"""The state graphs of a batch: the states that each rollout passed, and how far from success.

A graph is that of one group, or of all the groups of one task that the store holds (`scope`).
States belong to a task, so no graph joins two tasks (decision F12), and "everything" would be the
same as `task`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from . import library
from .batch import Batch
from .results import RolloutCredit, StepCredit

Scope = Literal["group", "task"]
"""Which rollouts make one graph: those of a group, or of every group of the task."""
Graph: TypeAlias = tuple[str, str | None]
"""A task and a group; None: all of its groups."""
Node: TypeAlias = tuple[str, str | None, str]
"""A state of a graph: task, group and the state's id."""

QUERIES = ("rollouts", "steps", "visited_states", "final_states")
NO_STATES = "no states: the record has no state keys and no observations"
UNKNOWN_STATES = "some states are not known: their steps have no credit"
UNKNOWN_SUCCESS = "success is not known: no reward flows back from its end"


class StateGraphs:
    """The state graphs of a batch."""

    def __init__(self, batch: Batch, scope: Scope) -> None:
        """Read the states that the batch's rollouts passed."""
        self._batch = batch
        self._scope: Scope = scope
        self.graph_of: dict[str, Graph] = {
            row["rollout"]: graph_of(row, scope) for row in batch.rollouts
        }
        self.states: dict[str, list[str | None]] = {
            row["rollout"]: [None] * (batch.length(row["rollout"]) + 1) for row in batch.rollouts
        }
        """Rollout to its T + 1 states; None: not known."""
        visited = library.run(batch.store, "visited_states", groups=batch.groups)
        columns = (visited.column(name).to_pylist() for name in ("rollout", "step", "state"))
        for rollout, step, state in zip(*columns, strict=True):
            self.states[rollout][step] = state
        for row in library.run(batch.store, "final_states", groups=batch.groups).to_pylist():
            self.states[row["rollout"]][-1] = row["state"]

    def nodes(self, rollout: str) -> list[Node | None]:
        """Return the T + 1 states of a rollout as nodes of its graph; None: not known."""
        graph = self.graph_of[rollout]
        return [None if state is None else (*graph, state) for state in self.states[rollout]]

    def sources(self) -> dict[str, list[Node | None]]:
        """Return the states that steps start from, rollout to one a step; None: not known."""
        return {rollout: self.nodes(rollout)[:-1] for rollout in self.states}

    def credited(
        self,
        method: str,
        base: Mapping[str, float | None],
        credits: Mapping[str, Sequence[float | None]],  # noqa: A002 (what they are)
        parts: Mapping[str, Sequence[float]],
        *,
        weights: tuple[float, float] = (1.0, 1.0),
        needs_success: bool = False,
        notes: Mapping[str, str] | None = None,
    ) -> list[RolloutCredit]:
        """Put a method's answer together: a step's advantage is its rollout's part, and its own.

        `base` is the rollouts' part, None: unscored; `credits` are the steps' credits before any
        comparison, `parts` their part of the advantage, both one a step; `weights` are those of the
        two parts. `needs_success`: the method asks which rollouts succeeded. `notes` say what else
        a rollout lacked.
        """
        found: list[RolloutCredit] = []
        for row in self._batch.rollouts:
            rollout = row["rollout"]
            own = base[rollout]
            whole = None if own is None else weights[0] * own
            steps = [
                StepCredit(
                    step, credit, 1.0, 1.0, None if whole is None else whole + weights[1] * part
                )
                for step, (credit, part) in enumerate(
                    zip(credits[rollout], parts[rollout], strict=True)
                )
            ]
            reasons = self._lacks(row, needs_success=needs_success)
            if notes and rollout in notes:
                reasons.append(notes[rollout])
            fallback = "; ".join(reasons) or None
            found.append(RolloutCredit(rollout, row["group"], method, own, fallback, [], steps))
        return found

    def _lacks(self, row: Mapping[str, Any], *, needs_success: bool) -> list[str]:
        states = self.states[row["rollout"]]
        reasons: list[str] = []
        if needs_success and row["success"] is None:
            reasons.append(UNKNOWN_SUCCESS)
        if len(states) > 1 and None in states:
            is_none_known = all(state is None for state in states)
            reasons.append(NO_STATES if is_none_known else UNKNOWN_STATES)
        return reasons

    def measured(self, query: str) -> list[tuple[Graph, dict[str, Any]]]:
        """Run a query of distances for every graph: its rows, each beside its graph."""
        found: list[tuple[Graph, dict[str, Any]]] = []
        for groups, group_of in self._parts():
            rows = library.run(self._batch.store, query, groups=groups).to_pylist()
            found += [((row["task"], group_of.get(row["task"])), row) for row in rows]
        return found

    def successes(self) -> set[Node]:
        """Return the states in which rollouts of the graphs ended with success (decision F3)."""
        if self._scope == "group":
            return {
                node
                for row in self._batch.rollouts
                if row["success"] and (node := self.nodes(row["rollout"])[-1])
            }
        groups, _ = next(self._parts())
        ends = library.run(self._batch.store, "final_states", groups=groups).to_pylist()
        return {(row["task"], None, row["state"]) for row in ends if row["success"]}

    def _parts(self) -> Iterator[tuple[list[str], dict[str, str]]]:
        """Yield groups that can be asked for at once, each task in one of them, with task to group.

        Groups of one task share its states, so that asking for them together would join them.
        """
        if self._scope == "task":
            tasks = {row["task"] for row in self._batch.rollouts}
            rows = library.run(self._batch.store, "rollouts").to_pylist()
            yield sorted({row["group"] for row in rows if row["task"] in tasks}), {}
            return
        tasks_of: defaultdict[str, set[str]] = defaultdict(set)
        for row in self._batch.rollouts:
            tasks_of[row["group"]].add(row["task"])
        parts: list[tuple[list[str], dict[str, str]]] = []
        for group, tasks in tasks_of.items():
            free = [part for part in parts if part[1].keys().isdisjoint(tasks)]
            if not free:
                parts.append(([], {}))
            groups, group_of = free[0] if free else parts[-1]
            groups.append(group)
            group_of.update(dict.fromkeys(tasks, group))
        yield from parts


def graph_of(row: Mapping[str, Any], scope: Scope) -> Graph:
    """Return the graph that a rollout belongs to."""
    return row["task"], row["group"] if scope == "group" else None
