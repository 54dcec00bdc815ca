"""The Neo4j store: a server of version 5.26 or newer, over Bolt, with plain Cypher only.

Rows go in as columns, `UNWIND range(…)` over at most `STATEMENT_ROWS` of them, sorted by key, in
one transaction. Where the server has too little memory for it, `BatchTooLargeError` asks for
smaller batches: the driver would retry the same transaction in vain. A log is optional.
"""

import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, cast

import neo4j
import pyarrow as pa
from neo4j.exceptions import ClientError, DatabaseError, DriverError, Neo4jError
from neo4j.graph import Node, Relationship
from neo4j.graph import Path as GraphPath

from .errors import QueryError, StoreError, UncertainWriteError
from .log import RolloutLog
from .rows import Columns, Rows
from .schema import NODES, SCHEMA_VERSION, neo4j_ddl
from .store import (
    SHARED,
    BatchTooLargeError,
    check_parameters,
    check_version,
    removals,
    task_update,
)

STATEMENT_ROWS = 10_000
DELETE_ROWS = 10_000


class Neo4jStore:
    """A rollgraph database on a Neo4j server. Safe to share between threads."""

    engine = "neo4j"

    def __init__(
        self,
        url: str,
        *,
        auth: tuple[str, str] | None,
        database: str,
        log: Path | None,
        read_only: bool,
        anew: bool,
    ) -> None:
        self.url = url
        self.log = RolloutLog(log) if log else None
        self.notice: str | None = None
        self._database = database
        self._read_only = read_only
        self._writing = threading.RLock()
        self._driver = neo4j.GraphDatabase.driver(
            url, auth=auth, notifications_min_severity="OFF", telemetry_disabled=True
        )
        try:
            self._driver.verify_connectivity()
            if anew:
                self._clear()
            if not read_only:
                self._create()
            check_version(self, url)
        except (Neo4jError, DriverError) as error:
            self._driver.close()
            raise StoreError(f"{url}: cannot be opened ({_reason(error)})") from error
        except BaseException:
            self._driver.close()
            raise

    def _create(self) -> None:
        with self._session() as session:
            for statement in neo4j_ddl():
                session.run(cast("Any", statement)).consume()
            session.run("CALL db.awaitIndexes()").consume()
            session.run(
                "MERGE (s:Schema {id: 'rollgraph'}) ON CREATE SET s.version = $version",
                version=SCHEMA_VERSION,
            ).consume()

    def _clear(self) -> None:
        """Remove the graph, where the log holds all of it."""
        if self.log is None or not self.log.batches():
            raise StoreError(f"{self.url}: there is no log to make the graph from (--log FOLDER)")
        strangers = self.query(
            "MATCH (r:Rollout) WHERE r.batch IS NULL OR NOT r.batch STARTS WITH $log "
            "RETURN count(*) AS n",
            {"log": f"{self.log.id}/"},
        )
        if count := strangers.column("n")[0].as_py():
            raise StoreError(
                f"{self.url}: {count} rollouts of the graph are not in the log {self.log.folder}, "
                "and would be lost"
            )
        with self._session() as session:
            for node in NODES:
                session.run(
                    cast(
                        "Any",
                        f"MATCH (n:`{node.label}`) CALL (n) {{ DETACH DELETE n }} "
                        f"IN TRANSACTIONS OF {DELETE_ROWS} ROWS",
                    )
                ).consume()

    def _session(self) -> neo4j.Session:
        return self._driver.session(database=self._database)

    def query(
        self,
        text: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> pa.Table:
        """Run one query in a read transaction and return its rows. Raises QueryError."""
        check_parameters(text, parameters or {})
        query = neo4j.Query(cast("Any", text), timeout=timeout_s)
        try:
            with self._driver.session(
                database=self._database, default_access_mode=neo4j.READ_ACCESS
            ) as session:
                result = session.run(query, dict(parameters or {}))
                names = list(result.keys())
                rows = [[_plain(value) for value in row] for row in result.values()]
        except (ClientError, DriverError) as error:
            raise QueryError(f"Neo4j refused the query: {_reason(error)}") from error
        except Neo4jError as error:
            raise StoreError(f"{self.url}: {_reason(error)}") from error
        return pa.table({name: [row[index] for row in rows] for index, name in enumerate(names)})

    @contextmanager
    def writing(self) -> Generator[None]:
        """Keep other threads from writing, across several calls."""
        if self._read_only:
            raise StoreError("the store was opened for reading only")
        with self._writing:
            yield

    def write(self, rows: Rows) -> None:
        """Write rows in one transaction: all of them or none.

        Raises StoreError; UncertainWriteError where the server went away on the way.
        """
        with self.writing(), self._session() as session:
            try:
                session.execute_write(_write_all, rows)
            except (Neo4jError, DriverError) as error:
                message = f"{self.url}: nothing was written ({_reason(error)})"
                if isinstance(error, ClientError | DatabaseError):
                    raise StoreError(message) from error
                raise UncertainWriteError(message.replace("nothing", "perhaps nothing")) from error

    def publish(self) -> None:
        """Do nothing: a server shows what was committed."""

    def close(self) -> None:
        """Close the connections."""
        self._driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _write_all(transaction: neo4j.ManagedTransaction, rows: Rows) -> None:
    left: dict[str, list[str]] = {}
    for used, delete in SHARED.items() if rows.replaced else ():
        left[delete] = transaction.run(cast("Any", used), {"rollouts": rows.replaced}).value("id")
    for statement, parameters in _statements(rows, left):
        try:
            transaction.run(cast("Any", statement), parameters).consume()
        except Neo4jError as error:
            if "MemoryPoolOutOfMemory" in (error.code or ""):
                raise BatchTooLargeError(_reason(error)) from error
            raise


def _statements(rows: Rows, left: Mapping[str, list[str]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Go through the statements of one transaction, with their parameters.

    `left` are the shared nodes of the rollouts that go, each with what removes the unused.
    """
    yield from removals(rows)
    for label, columns in rows.nodes.items():
        for names, part in _parts(columns):
            yield f"{_UNWIND} CREATE (:`{label}` {{{_settings(names)}}})", part
    for (kind, source, target), columns in rows.edges.items():
        for names, part in _parts(columns):
            ends = (
                f"MATCH (a:`{source}` {{id: $source[i]}}) MATCH (b:`{target}` {{id: $target[i]}})"
            )
            yield f"{_UNWIND} {ends} CREATE (a)-[:`{kind}` {{{_settings(names[2:])}}}]->(b)", part
    yield from ((delete, {"ids": ids}) for delete, ids in left.items() if ids)
    yield from map(task_update, rows.tasks)


_UNWIND = "UNWIND range(0, $rows - 1) AS i"


def _settings(names: list[str]) -> str:
    return ", ".join(f"`{name}`: ${name}[i]" for name in names)


def _parts(columns: Columns) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """Cut rows, sorted by key, into the parameters of statements of at most STATEMENT_ROWS."""
    table = columns.to_arrow()
    table = table.sort_by(table.schema.names[0])
    for offset in range(0, table.num_rows, STATEMENT_ROWS):
        part = table.slice(offset, STATEMENT_ROWS)
        yield table.schema.names, {"rows": part.num_rows, **part.to_pydict()}


def _plain(value: object) -> object:
    """Turn a graph value of the driver into plain data."""
    if isinstance(value, Node | Relationship):
        return dict(value.items())
    if isinstance(value, GraphPath):
        return [dict(node.items()) for node in value.nodes]
    return value


def _reason(error: Exception) -> str:
    message = getattr(error, "message", None) or str(error)
    return " ".join(str(message).split())
