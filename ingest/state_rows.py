"""The state graph's rows: states that rollouts of a task share, and the transitions of steps.

A state that is in the store already, or that another rollout of the batch visits, gets no second
row. Where the last state is not known, one node of the task stands for the ends of successful
rollouts, one for those of failed ones, and one for those whose outcome is not known either.
"""

from collections.abc import Iterable, Sequence, Set

from ..graph.rows import Rows
from ..graph.store import Store
from .shared_nodes import hashed_id, known_ids


def state_id(task: str, key: str) -> str:
    """Return the id of a task's state."""
    return hashed_id(task, key)


def end_id(task: str, success: bool | None) -> str:
    """Return the id of the state that stands for ends that are not known."""
    return f"{task}/{'end' if success is None else 'success' if success else 'failure'}"


def states_in(
    store: Store, visits: Iterable[tuple[str, bool | None, Sequence[str | None]]]
) -> set[str]:
    """Return which states of rollouts are in the store: of (task, success, T + 1 keys)."""
    ids = {
        end_id(task, success) if key is None else state_id(task, key)
        for task, success, keys in visits
        for key in keys
    }
    return known_ids(store, "State", ids)


class StateRows:
    """The rows of a batch's states as they grow."""

    def __init__(self, rows: Rows, known: Set[str]) -> None:
        """Begin; `known`: the states that are in the store."""
        self._rows = rows
        self._known = set(known)

    def add(
        self,
        rollout: str,
        task: str,
        group: str,
        success: bool | None,
        keys: Sequence[str | None],
    ) -> None:
        """Add the states of a rollout of T steps, by their T + 1 keys, and its transitions."""
        if all(key is None for key in keys):
            return
        ids = [None if key is None else self._node(task, key) for key in keys]
        if ids[-1] is None:
            ids[-1] = end_id(task, success)
            self._add(ids[-1], task, None)
        before = self._rows.between("FROM", "Step", "State")
        after = self._rows.between("TO", "Step", "State")
        leads = self._rows.between("LEADS_TO", "State", "State")
        last = len(keys) - 2
        for index in range(last + 1):
            step, source, target = f"{rollout}/{index}", ids[index], ids[index + 1]
            if source is not None:
                before.append(step, source)
            if target is not None:
                after.append(step, target)
            if source is not None and target is not None:
                leads.append(source, target, step, group, success is True and index == last)
        self._rows.between("ENDED_IN", "Rollout", "State").append(rollout, ids[-1])

    def _node(self, task: str, key: str) -> str:
        node = state_id(task, key)
        self._add(node, task, key)
        return node

    def _add(self, node: str, task: str, key: str | None) -> None:
        if node not in self._known:
            self._known.add(node)
            self._rows.add("State", id=node, task=task, key=key)
