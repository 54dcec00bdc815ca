"""The rows of rubrics and of the contexts that steps decided in."""

from collections.abc import Iterable, Set

from ..graph.records import Rollout, Rubric
from ..graph.rows import Rows
from ..graph.store import Store
from .contexts import Context, Progress, contexts, progress_before
from .shared_nodes import hashed_id, known_ids


class RolloutContexts:
    """Progress and contexts of a rollout's steps; both empty where its task has no rubric."""

    def __init__(self, rubric: Rubric | None, rollout: Rollout) -> None:
        """Find them."""
        steps = len(rollout.steps or ())
        self.progress: list[Progress | None] = [None] * steps
        self.of_steps: list[list[Context]] = [[] for _ in range(steps)]
        if rubric is not None:
            self.progress = progress_before(rubric, rollout)
            self.of_steps = contexts(rubric, rollout, self.progress)

    def ids(self, task: str) -> set[str]:
        """Return the ids of the contexts."""
        return {hashed_id(task, context.name) for found in self.of_steps for context in found}


def contexts_in(store: Store, rollouts: Iterable[tuple[str, RolloutContexts]]) -> set[str]:
    """Return which contexts of rollouts, each with its task, are in the store."""
    ids = {name for task, found in rollouts for name in found.ids(task)}
    return known_ids(store, "Context", ids)


class ContextRows:
    """The rows of a batch's rubrics and contexts as they grow."""

    def __init__(self, rows: Rows, known: Set[str]) -> None:
        """Begin; `known`: the contexts that are in the store."""
        self._rows = rows
        self._known = set(known)

    def add_task(self, task: str, rubric: Rubric) -> None:
        """Add the channels of a task's rubric, and how they depend on one another."""
        required = rubric.required or {}
        for name in rubric.names:
            node = hashed_id(task, name)
            self._rows.add(
                "Channel", id=node, task=task, name=name, required=required.get(name, 1.0)
            )
            self._rows.between("HAS_CHANNEL", "Task", "Channel").append(task, node)
        needs = {"EVER": rubric.requires_ever, "CURRENT": rubric.requires_current}
        for when, pairs in needs.items():
            requires = self._rows.between(f"REQUIRES_{when}", "Channel", "Channel")
            for a, b in dict.fromkeys(pairs or ()):
                requires.append(hashed_id(task, b), hashed_id(task, a))
        blocks = self._rows.between("BLOCKS", "Channel", "Channel")
        for a, b in dict.fromkeys(rubric.blocks or ()):
            blocks.append(hashed_id(task, a), hashed_id(task, b))

    def add_rollout(self, rollout: Rollout, found: RolloutContexts) -> None:
        """Add the contexts that a rollout's steps decided in."""
        edges = self._rows.between("AT", "Step", "Context")
        for index, of_step in enumerate(found.of_steps):
            for context in of_step:
                edges.append(f"{rollout.id}/{index}", self._node(rollout.task, context))

    def _node(self, task: str, context: Context) -> str:
        node = hashed_id(task, context.name)
        if node not in self._known:
            self._known.add(node)
            self._rows.add(
                "Context",
                id=node,
                task=task,
                level=context.level,
                state=context.state,
                progress=list(context.progress),
                frontier=list(context.frontier),
            )
        return node
