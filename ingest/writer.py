"""Bring rollouts into a store: once, whole, and again whenever you like.

Ingest is idempotent by rollout id and atomic for each batch. A batch is in the log, on disk, before
the graph is touched, so whatever happens to the graph, `catch_up` finds what it lacks. Values in a
task's description never make an edge (D10), whatever order the records come in: where a task is
described after its rollouts came in, their edges are made anew from the log.
"""

import gc
import json
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from ..graph.errors import IngestError, RecordError
from ..graph.parsing import parse_record
from ..graph.records import Rollout, Task
from ..graph.store import Store, logged
from .hints import Hints
from .indexer import Indexer, Provenance, RawRecord, extractor_name
from .inferred import drop_inferred, infer_record
from .paths import normalize
from .reader import DamagedError, FileSource, Line, RecordSource, Refusal, refusals_file
from .recovery import catch_up, remake
from .states import States
from .values import Extractor, typed_values

BATCH_ROLLOUTS = 1024
BATCH_BYTES = 32 << 20
MAX_COMMANDS = 65535
"""Of one rollout: no dependency path is longer than the embedded engine can count."""

InferredAccesses = Literal["keep", "add", "drop"]
Progress = Callable[[int, int], None]
"""Called with how much of the source has been read, and how much there is."""


@dataclass
class Report:
    """What an ingest did."""

    new: int = 0
    replaced: int = 0
    unchanged: int = 0
    tasks: int = 0
    """Task records read."""
    refused: list[Refusal] = field(default_factory=list[Refusal])
    dropped_paths: int = 0
    """Relative paths with no known working directory: they take part in nothing (D26)."""
    notes: list[str] = field(default_factory=list[str])
    """What else a person should know."""


def ingest(
    store: Store,
    source: str | PathLike[str] | Iterable[object],
    *,
    work_roots: Iterable[str] = (),
    strict: bool = False,
    rejects: str | PathLike[str] | None = None,
    extract: Extractor = typed_values,
    inferred: InferredAccesses = "keep",
    states: States | str = "text",
    progress: Progress | None = None,
) -> Report:
    """Ingest a rollout file, or records that a program hands over.

    `source` is a path (plain, gzip or zstd) or an iterable of records: objects, lines or models.
    Outside `work_roots` every path is noise; with none, everywhere counts. A faulty line is refused
    and the others go on; `strict` refuses the whole source instead, before anything is written.
    Refused lines are appended to the file `rejects`. `extract` replaces the extraction of typed
    values. `inferred` says what to do about commands that were never traced: `add` infers from
    their texts what they touch, marked as `inferred`; `drop` takes such marked accesses out.
    `states` says how states are told apart where the records do not: a name of STATE_READERS, or
    `States` for the rest of the choice. Memory does not grow with the file but for the ids in it.

    Raises IngestError where the source cannot be read, holds no record or is refused by `strict`;
    StoreError where the store fails.
    """
    if isinstance(work_roots, str):
        raise IngestError(f'work_roots: expected a list, such as ["{work_roots}"], found a text')
    opened = (
        FileSource(Path(fspath(source)))
        if isinstance(source, str | PathLike)
        else RecordSource(source)
    )
    roots = tuple(sorted({_root(folder) for folder in work_roots}))
    if strict:
        _check(opened)
    catch_up(store, extract=extract)
    kinds = States.named(states) if isinstance(states, str) else states
    run = _Ingest(store, opened.name, roots, extract, kinds)
    refused_to = refusals_file(opened, rejects)

    def refuse(refusal: Refusal, line: Line | None) -> None:
        run.report.refused.append(refusal)
        if refused_to and line:
            with refused_to.open("ab") as file:
                file.write(line.text + b"\n")

    # Tasks first, so that their rollouts come in once and with their descriptions known.
    run.rewards_are_binary = run.add_tasks(opened)
    found = False
    for raw, record in _records(opened, refuse):
        found = True
        if isinstance(record, Rollout):
            run.add(*run.with_inferred(raw, record, inferred))
        if progress:
            progress(opened.position, opened.size)
    run.flush()
    run.report.notes += run.hints.notes()
    if not found and not run.report.refused:
        raise IngestError(f"{opened.name}: holds no record; expected one JSON object a line")
    store.publish()
    return run.report


class _Ingest:
    """Collects the records of one source into batches and writes them."""

    def __init__(
        self,
        store: Store,
        name: str,
        roots: tuple[str, ...],
        extract: Extractor,
        states: States,
    ) -> None:
        self.report = Report()
        self.rewards_are_binary = False
        self._store = store
        self._name = name
        self._roots = roots
        self._extract = extract
        self._states = states
        self._batch: list[RawRecord] = []
        self._bytes = 0
        self.hints = Hints(roots)

    def add_tasks(self, source: FileSource | RecordSource) -> bool:
        """Take the source's tasks in; return whether every reward in it is 0 or 1.

        Faulty lines are passed over: they are refused when the rollouts are read.
        """
        rewards: set[object] = set()
        for raw, record in _records(source, _pass_over, only_tasks_and=rewards):
            self.add(raw, record)
        self.flush()
        return rewards <= {0, 1}

    def add(self, raw: bytes, record: Task | Rollout) -> None:
        """Take a record in; it is written with its batch."""
        self.report.tasks += isinstance(record, Task)
        self.hints.look(record)
        self._batch.append((raw, record))
        self._bytes += len(raw)
        if len(self._batch) >= BATCH_ROLLOUTS or self._bytes >= BATCH_BYTES:
            self.flush()

    def with_inferred(
        self, raw: bytes, record: Rollout, inferred: InferredAccesses
    ) -> tuple[bytes, Rollout]:
        """Add inferred accesses to a record, or take them out."""
        if inferred == "keep":
            return raw, record
        value = json.loads(raw)
        changed = infer_record(value) if inferred == "add" else drop_inferred(value)
        if not changed:
            return raw, record
        self.hints.inferred += changed
        raw = json.dumps(value, ensure_ascii=False).encode()
        return raw, Rollout.model_validate_json(raw)

    def flush(self) -> None:
        """Write what was taken in."""
        if not self._batch:
            return
        provenance = Provenance(
            self._name,
            self._roots,
            extractor_name(self._extract),
            self.rewards_are_binary,
            self._states,
        )
        indexer = Indexer(self._store, provenance, self._extract)
        with self._store.writing(), _no_garbage_collection():
            plan = indexer.plan(self._batch)
            if plan.lines:
                with logged(self._store, provenance.header(), plan.lines) as batch:
                    self.report.dropped_paths += indexer.write(plan, batch)
                self.report.notes += remake(self._store, plan.redefined, self._extract)
        self.report.new += len(plan.rollouts) - len(plan.replaced)
        self.report.replaced += len(plan.replaced)
        self.report.unchanged += plan.unchanged
        self._batch, self._bytes = [], 0


@contextmanager
def _no_garbage_collection() -> Generator[None]:
    """Spare the collector a batch: many objects come to life there, and no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _pass_over(_: Refusal, __: Line | None) -> None:
    """Refuse a line in silence."""


class _Head(BaseModel):
    """The keys of a record that tell what to do with it before it is validated."""

    type: Any = None
    reward: Any = None


def _records(
    source: FileSource | RecordSource,
    refuse: Callable[[Refusal, Line | None], None],
    *,
    only_tasks_and: set[object] | None = None,
) -> Iterator[RawRecord]:
    """Read and validate a source, and hand what is faulty to `refuse`.

    With `only_tasks_and`, rollouts are passed over and their rewards put into that set.
    """
    seen: dict[tuple[str, str], int] = {}
    try:
        for line in source.lines():
            try:
                if only_tasks_and is not None:
                    head = _Head.model_validate_json(line.text)
                    if head.type != "task":
                        if isinstance(head.reward, int | float):  # else absent, or refused
                            only_tasks_and.add(head.reward)
                        continue
                record = _parse(line)
                first = seen.setdefault((record.type, record.id), line.number)
                if first != line.number:
                    raise RecordError("id", f'"{record.id}" is taken by line {first}')
            except (RecordError, ValidationError) as error:
                fault = error if isinstance(error, RecordError) else RecordError("", str(error))
                refuse(Refusal(source.name, line.number, fault.field, fault.message), line)
            else:
                yield line.text, record
    except DamagedError as error:
        refuse(Refusal(source.name, error.line, "", error.message), None)


def _parse(line: Line) -> Task | Rollout:
    try:
        record = parse_record(line.text)
    except RecordError as error:
        if line.is_torn and error.message.startswith("not JSON"):
            raise RecordError("", "the file ends in the middle of this record") from None
        raise
    if isinstance(record, Rollout):
        commands = sum(len(step.commands or ()) for step in record.steps or ())
        if commands > MAX_COMMANDS:
            raise RecordError(
                "steps", f"expected at most {MAX_COMMANDS} commands, found {commands}"
            )
    return record


def _check(source: FileSource | RecordSource) -> None:
    """Refuse the whole source at its first faulty line."""

    def refuse(refusal: Refusal, _: Line | None) -> None:
        raise IngestError(f"{refusal}; nothing was ingested (strict)")

    for _ in _records(source, refuse):
        pass


def _root(folder: str) -> str:
    root = normalize(folder, None)
    if root is None:
        raise IngestError(f"work root {folder}: expected an absolute path")
    return root
