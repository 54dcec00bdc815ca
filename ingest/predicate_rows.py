"""The rows of progress predicates: what a task lists, and which of them steps marked.

A predicate that a step marks and the task's record does not list is a node without HAS_PREDICATE.
"""

from collections.abc import Iterable, Iterator, Mapping, Set

from ..graph.records import Predicate, Rollout
from ..graph.rows import Rows
from ..graph.store import Store
from .shared_nodes import hashed_id, known_ids

MARKS = {"verified": "VERIFIED", "invalidated": "INVALIDATED", "repaired": "REPAIRED"}
"""Key of a step's marks to the edge that it makes."""


def predicates_in(
    store: Store, listed: Mapping[str, Iterable[Predicate]], rollouts: Iterable[Rollout]
) -> set[str]:
    """Return which predicates of tasks and of rollouts' marks are in the store."""
    ids = {hashed_id(task, item.id) for task, items in listed.items() for item in items}
    ids |= {hashed_id(rollout.task, name) for rollout in rollouts for _, _, name in _marks(rollout)}
    return known_ids(store, "Predicate", ids)


class PredicateRows:
    """The rows of a batch's predicates as they grow."""

    def __init__(self, rows: Rows, known: Set[str]) -> None:
        """Begin; `known`: the predicates that are in the store."""
        self._rows = rows
        self._known = set(known)

    def add_task(self, task: str, predicates: Iterable[Predicate]) -> None:
        """Add the predicates that a task lists, with what each requires."""
        for predicate in predicates:
            node = self._node(task, predicate.id)
            weight = 1.0 if predicate.weight is None else predicate.weight
            self._rows.between("HAS_PREDICATE", "Task", "Predicate").append(task, node, weight)
            for other in dict.fromkeys(predicate.requires or ()):
                requires = self._rows.between("REQUIRES", "Predicate", "Predicate")
                requires.append(node, self._node(task, other))

    def add_marks(self, rollout: Rollout) -> None:
        """Add what the steps of a rollout marked."""
        for step, mark, name in _marks(rollout):
            marks = self._rows.between(MARKS[mark], "Step", "Predicate")
            marks.append(f"{rollout.id}/{step}", self._node(rollout.task, name))

    def _node(self, task: str, name: str) -> str:
        node = hashed_id(task, name)
        if node not in self._known:
            self._known.add(node)
            self._rows.add("Predicate", id=node, task=task, name=name)
        return node


def _marks(rollout: Rollout) -> Iterator[tuple[int, str, str]]:
    for index, step in enumerate(rollout.steps or ()):
        for mark in MARKS if step.predicates else ():
            for name in dict.fromkeys(getattr(step.predicates, mark) or ()):
                yield index, mark, name
