"""Bring the graph up to its log: after a writer was stopped, anew, or where a task changed."""

import json
from os import PathLike, fspath
from pathlib import Path

from ..graph.connect import open_store
from ..graph.credit_run import KIND, credit_run_rows
from ..graph.errors import StoreError, StoreLockedError
from ..graph.log import LogBatch
from ..graph.parsing import parse_record
from ..graph.store import Store
from .indexer import Indexer, Provenance
from .values import Extractor, typed_values


def catch_up(store: Store, *, extract: Extractor = typed_values) -> int:
    """Bring the batches into the graph that the log holds and the graph lacks; return how many.

    The graph lacks some after a writer was stopped, and all of them after `open_store(…,
    anew=True)`.
    """
    if store.log is None:
        return 0
    with store.writing():
        missing = _missing(store)
        for batch in missing:
            _index(store, store.log.read(batch), extract)
    if missing:
        store.publish()
    return len(missing)


def _missing(store: Store) -> list[str]:
    """Return the log's batches that the graph lacks, oldest first."""
    known = set(store.query("MATCH (b:Batch) RETURN b.id AS id").column("id").to_pylist())
    return [batch for batch in store.log.batches() if batch not in known] if store.log else []


def _index(store: Store, batch: LogBatch, extract: Extractor) -> None:
    """Bring a batch of the log into the graph."""
    if batch.header["kind"] == KIND:
        rows = credit_run_rows(json.loads(batch.lines[0]))
        rows.add("Batch", id=batch.id, records=1)
        store.write(rows)
        return
    indexer = Indexer(store, Provenance.of(batch.header), extract)
    plan = indexer.plan([(line, parse_record(line)) for line in batch.lines])
    indexer.write(plan, batch.id)
    remake(store, plan.redefined, extract)


def open_for_reading(
    url: str | PathLike[str],
    *,
    log: str | PathLike[str] | None = None,
    extract: Extractor = typed_values,
) -> Store:
    """Open a store for reading only, with all that its log holds.

    Where the published snapshot of an embedded store lacks batches, since a writer was stopped, the
    graph is brought up to date first; where a writer is at work, `notice` says what is missing.
    """
    store = open_store(url, log=log, read_only=True)
    missing = len(_missing(store))
    if not missing or store.engine != "embedded":
        return store
    store.close()
    try:
        with open_store(url) as writer:
            catch_up(writer, extract=extract)
    except StoreLockedError as error:
        store = open_store(url, read_only=True)
        store.notice = f"{missing} batches are not in the published snapshot yet: {error}"
        return store
    store = open_store(url, read_only=True)
    store.notice = f"{missing} batches of the log were brought into the graph first"
    return store


def rebuild(
    url: str | PathLike[str],
    *,
    log: str | PathLike[str] | None = None,
    extract: Extractor = typed_values,
) -> Store:
    """Make the graph of a store anew from its log, and return the open store.

    `url` and `log` as in `open_store`. Raises StoreError where there is no log, or it is not all of
    the graph.
    """
    if "://" not in fspath(url) and not (Path(url) / "log").is_dir():
        raise StoreError(f"{fspath(url)}: holds no rollout log to make a graph from")
    store = open_store(url, log=log, anew=True)
    try:
        catch_up(store, extract=extract)
    except BaseException:
        store.close()
        raise
    return store


def remake(store: Store, tasks: set[str], extract: Extractor) -> list[str]:
    """Make the edges of the tasks' rollouts anew from the log, and note what cannot be."""
    if not tasks:
        return []
    found = store.query(
        "MATCH (r:Rollout)-[:ATTEMPTS]->(t:Task) WHERE t.id IN $tasks "
        "RETURN r.batch AS batch, collect(r.id) AS rollouts",
        {"tasks": sorted(tasks)},
    )
    notes: list[str] = []
    for row in found.to_pylist():
        batch, rollouts = row["batch"], set(row["rollouts"])
        if store.log is None or batch is None or not batch.startswith(store.log.id):
            notes.append(
                f"{len(rollouts)} rollouts came in before their task's description and are not in "
                "the log: ingest them again, or values of the description may count as evidence"
            )
            continue
        read = store.log.read(batch)
        records = [(line, parse_record(line)) for line in read.lines]
        indexer = Indexer(store, Provenance.of(read.header), extract)
        indexer.write(
            indexer.plan([pair for pair in records if pair[1].id in rollouts]),
            batch,
            is_whole=False,
        )
    return notes
