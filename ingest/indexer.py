"""From a batch of records to the graph: which of them are new, and the one transaction for them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from hashlib import blake2b
from math import inf
from typing import Any, Self

from ..graph.errors import IngestError, StoreError, UncertainWriteError
from ..graph.records import Predicate, Rollout, Rubric, Task
from ..graph.rows import Rows
from ..graph.schema import SCHEMA_VERSION
from ..graph.store import BatchTooLargeError, Store
from .context_rows import ContextRows, RolloutContexts, contexts_in
from .paths import PathFilter
from .predicate_rows import PredicateRows, predicates_in
from .rows import RolloutFacts, add_rollout, task_properties
from .state_rows import StateRows, states_in
from .states import States
from .values import Extractor, TypedValue, described_values

_ROLLOUTS = (
    "UNWIND $ids AS id MATCH (r:Rollout {id: id}) "
    "RETURN r.id AS id, r.digest AS digest, r.slot AS slot"
)
_TASKS = (
    "UNWIND $ids AS id MATCH (t:Task {id: id}) "
    "RETURN t.id AS id, t.digest AS digest, t.values AS values, t.rubric AS rubric"
)
_GROUP_SIZES = (
    "MATCH (r:Rollout) WHERE r.`group` IN $groups "
    "RETURN r.task AS task, r.`group` AS `group`, count(*) AS size"
)

RawRecord = tuple[bytes, Task | Rollout]
"""A line as it came in, and the record that it holds."""


@dataclass(frozen=True)
class Provenance:
    """Where records came from and what their edges are made with: the header of a log's batch."""

    source: str
    work_roots: tuple[str, ...]
    extractor: str
    """Import path of the extraction of typed values."""
    rewards_are_binary: bool
    """Every reward of the source is 0 or 1, so that a reward tells success."""
    states: States = field(default_factory=States)

    def header(self) -> dict[str, Any]:
        """As the log keeps it."""
        return {"kind": "records", **asdict(self), "states": self.states.header()}

    @classmethod
    def of(cls, header: dict[str, Any]) -> Self:
        """From a header that was read back."""
        return cls(
            source=header["source"],
            work_roots=tuple(header["work_roots"]),
            extractor=header["extractor"],
            rewards_are_binary=header["rewards_are_binary"],
            states=States.of(header["states"]) if "states" in header else States(),
        )


def extractor_name(extract: Extractor) -> str:
    """Return the import path of an extraction, as provenance names it."""
    return f"{extract.__module__}.{extract.__qualname__}"


@dataclass
class Plan:
    """What of a batch is to be written, and what became of each of its rollouts."""

    lines: list[bytes] = field(default_factory=list[bytes])
    """The lines of what is new or changed."""
    new_tasks: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    changed_tasks: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    predicates: dict[str, list[Predicate]] = field(default_factory=dict[str, list[Predicate]])
    """New or changed task to the progress predicates that it lists."""
    rubrics: dict[str, Rubric] = field(default_factory=dict[str, Rubric])
    """New or changed task to its rubric."""
    redefined: set[str] = field(default_factory=set[str])
    """Tasks that were known and now have other typed values in their description, or another
    rubric."""
    rollouts: list[tuple[Rollout, RolloutFacts]] = field(
        default_factory=list[tuple[Rollout, RolloutFacts]]
    )
    replaced: set[str] = field(default_factory=set[str])
    unchanged: int = 0


@dataclass(frozen=True)
class _TaskFacts:
    """What the rows of a task's rollouts depend on."""

    values: frozenset[TypedValue] = frozenset()
    rubric: str | None = None
    """As JSON."""


class Indexer:
    """Plans and writes batches of one provenance."""

    def __init__(self, store: Store, provenance: Provenance, extract: Extractor) -> None:
        if provenance.extractor != extractor_name(extract):
            raise IngestError(
                f"{provenance.source}: was ingested with the values of {provenance.extractor}, "
                f"found {extractor_name(extract)}; pass that extraction as `extract`"
            )
        self._store = store
        self._provenance = provenance
        self._extract = extract
        self._keep = PathFilter(provenance.work_roots)

    def plan(self, records: Sequence[RawRecord]) -> Plan:
        """Tell what is new, changed and unchanged. The store's writers must be kept out."""
        plan = Plan()
        tasks = [(raw, record) for raw, record in records if isinstance(record, Task)]
        rollouts = [(raw, record) for raw, record in records if isinstance(record, Rollout)]
        names = {task.id for _, task in tasks} | {rollout.task for _, rollout in rollouts}
        known = _by_id(self._store, _TASKS, names)
        facts = {
            name: _TaskFacts(_values(row["values"]), row["rubric"]) for name, row in known.items()
        }
        for raw, task in tasks:
            facts[task.id] = self._plan_task(plan, raw, task, known.get(task.id))
        described = {task.id for _, task in tasks}
        for name in sorted({rollout.task for _, rollout in rollouts} - set(known) - described):
            plan.new_tasks.append({"id": name, "values": []})
        self._plan_rollouts(plan, rollouts, facts)
        return plan

    def _plan_task(
        self, plan: Plan, raw: bytes, task: Task, known: dict[str, Any] | None
    ) -> _TaskFacts:
        values = frozenset(described_values(task.description or "", self._extract))
        digest = _digest(raw, self._provenance.extractor)
        properties = task_properties(task, [f"{kind} {value}" for kind, value in values], digest)
        facts = _TaskFacts(values, properties["rubric"])
        if known is None:
            plan.new_tasks.append(properties)
        elif known["digest"] != digest:
            plan.changed_tasks.append(properties)
            if facts != _TaskFacts(_values(known["values"]), known["rubric"]):
                plan.redefined.add(task.id)
        else:
            return facts
        plan.predicates[task.id] = task.predicates or []
        if task.rubric:
            plan.rubrics[task.id] = task.rubric
        plan.lines.append(raw)
        return facts

    def _plan_rollouts(
        self,
        plan: Plan,
        rollouts: Sequence[tuple[bytes, Rollout]],
        tasks: dict[str, _TaskFacts],
    ) -> None:
        known = _by_id(self._store, _ROLLOUTS, {rollout.id for _, rollout in rollouts})
        slots = _Slots(self._store, [rollout for _, rollout in rollouts if rollout.slot is None])
        states = self._states([rollout for _, rollout in rollouts])
        made_with = json.dumps(self._provenance.states.header())
        for raw, rollout in rollouts:
            task = tasks.get(rollout.task, _TaskFacts())
            success = self._success(rollout)
            digest = _digest(
                raw,
                self._provenance.extractor,
                *self._provenance.work_roots,
                *(f"{kind} {value}" for kind, value in sorted(task.values)),
                task.rubric or "",
                str(success),
                made_with,
            )
            before = known.get(rollout.id)
            if before is not None and before["digest"] == digest:
                plan.unchanged += 1
                continue
            slot = rollout.slot
            if slot is None:
                slot = before["slot"] if before else slots.next(rollout)
            group = rollout.group or rollout.task
            contexts = RolloutContexts(_rubric(task.rubric), rollout)
            facts = RolloutFacts(
                group, slot, success, task.values, states[rollout.id], contexts, digest
            )
            if before is not None:
                plan.replaced.add(rollout.id)
            plan.rollouts.append((rollout, facts))
            plan.lines.append(raw)

    def _states(self, rollouts: Sequence[Rollout]) -> dict[str, tuple[str | None, ...]]:
        """Return the state keys of rollouts, merged within each group where that is asked for."""
        groups: dict[tuple[str, str], list[Rollout]] = {}
        for rollout in rollouts:
            groups.setdefault((rollout.task, rollout.group or rollout.task), []).append(rollout)
        found: dict[str, tuple[str | None, ...]] = {}
        for members in groups.values():
            keys = self._provenance.states.merged(
                (
                    (inf if rollout.slot is None else rollout.slot, rollout.id),
                    self._provenance.states.keys(rollout),
                )
                for rollout in members
            )
            found.update(zip((rollout.id for rollout in members), keys, strict=True))
        return found

    def _success(self, rollout: Rollout) -> bool | None:
        if rollout.success is not None or rollout.reward is None:
            return rollout.success
        return rollout.reward > 0 if self._provenance.rewards_are_binary else None

    def write(self, plan: Plan, batch: str | None, *, is_whole: bool = True) -> int:
        """Write a plan in one transaction and return how many paths had to be dropped (D26).

        `batch` is the log's batch that the records are in; `is_whole`: the plan is all of it. Where
        the server has too little memory, the rollouts go in halves.
        """
        return self._write(plan, plan.rollouts, batch, is_first=True, is_last=is_whole)

    def _write(
        self,
        plan: Plan,
        rollouts: Sequence[tuple[Rollout, RolloutFacts]],
        batch: str | None,
        *,
        is_first: bool,
        is_last: bool,
    ) -> int:
        rows = Rows()
        dropped = self._fill(rows, plan, rollouts, batch, with_tasks=is_first)
        if is_last and batch:
            rows.add("Batch", id=batch, records=len(plan.lines))
        try:
            self._store.write(rows)
        except BatchTooLargeError:
            middle = len(rollouts) // 2
            if not middle:
                raise
            head, tail = rollouts[:middle], rollouts[middle:]
            dropped = self._write(plan, head, batch, is_first=is_first, is_last=False)
            try:
                dropped += self._write(plan, tail, batch, is_first=False, is_last=is_last)
            except StoreError as error:
                raise UncertainWriteError(f"a part of the batch was written: {error}") from error
        return dropped

    def _fill(
        self,
        rows: Rows,
        plan: Plan,
        rollouts: Sequence[tuple[Rollout, RolloutFacts]],
        batch: str | None,
        *,
        with_tasks: bool,
    ) -> int:
        """Add the rows of some of a plan's rollouts; return how many paths had to be dropped."""
        listed, rubrics = (plan.predicates, plan.rubrics) if with_tasks else ({}, {})
        known = predicates_in(self._store, listed, (rollout for rollout, _ in rollouts))
        predicates = PredicateRows(rows, known)
        met = contexts_in(self._store, ((r.task, facts.contexts) for r, facts in rollouts))
        contexts = ContextRows(rows, met)
        for task, of_task in listed.items():
            predicates.add_task(task, of_task)
        for task, rubric in rubrics.items():
            contexts.add_task(task, rubric)
        if with_tasks:
            for task in plan.new_tasks:
                rows.add("Task", **task)
            rows.tasks += plan.changed_tasks
        dropped = 0
        visits = [(rollout.task, facts.success, facts.states) for rollout, facts in rollouts]
        states = StateRows(rows, states_in(self._store, visits))
        for rollout, facts in rollouts:
            if rollout.id in plan.replaced:
                rows.replaced.append(rollout.id)
            dropped += add_rollout(
                rows, states, predicates, contexts, rollout, facts, batch, self._keep,
                self._extract,
            )  # fmt: skip
        return dropped


class _Slots:
    """Positions within a group for rollouts that name none: the order of appearance."""

    def __init__(self, store: Store, rollouts: Sequence[Rollout]) -> None:
        self._next: dict[tuple[str, str], int] = {}
        groups = sorted({rollout.group or rollout.task for rollout in rollouts})
        if groups:
            for row in store.query(_GROUP_SIZES, {"groups": groups}).to_pylist():
                self._next[row["task"], row["group"]] = row["size"]

    def next(self, rollout: Rollout) -> int:
        """Return the next free position in the rollout's group."""
        group = (rollout.task, rollout.group or rollout.task)
        slot = self._next.get(group, 0)
        self._next[group] = slot + 1
        return slot


def _by_id(store: Store, query: str, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    ids = sorted(ids)
    rows = store.query(query, {"ids": ids}).to_pylist() if ids else []
    return {row["id"]: row for row in rows}


@cache
def _rubric(text: str | None) -> Rubric | None:
    """Read a rubric back from the form in which a Task node keeps it."""
    return Rubric.model_validate_json(text) if text else None


def _values(shown: Iterable[str]) -> frozenset[TypedValue]:
    """Typed values from the form in which a Task node keeps them."""
    pairs = (value.partition(" ") for value in shown)
    return frozenset((kind, value) for kind, _, value in pairs)


def _digest(raw: bytes, *made_with: str) -> str:
    """Hash a line with everything else that its rows depend on."""
    digest = blake2b(raw, digest_size=16)
    for part in (str(SCHEMA_VERSION), *made_with):
        digest.update(b"\0" + part.encode())
    return digest.hexdigest()
