"""What every store offers: read with Cypher, write in transactions, and a log of what came in."""

import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

import pyarrow as pa

from .errors import QueryError, SchemaVersionError, StoreError, UncertainWriteError
from .log import RolloutLog
from .rows import Rows, node_row
from .schema import NODE, SCHEMA_VERSION


class Store(Protocol):
    """A graph of rollouts, embedded or on a server."""

    engine: str
    """`embedded` or `neo4j`: which dialect of a query to run."""
    log: RolloutLog | None
    """The rollout log; None: this store keeps none."""
    notice: str | None
    """What a person should know about how the store was opened, or None."""

    def query(
        self,
        text: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> pa.Table:
        """Run one Cypher query and return its rows as an Arrow table. Raises QueryError."""
        ...

    def writing(self) -> AbstractContextManager[Any]:
        """Keep other writers of this process out, across several calls."""
        ...

    def write(self, rows: Rows, /) -> None:
        """Write rows in one transaction: all of them or none. Raises StoreError."""
        ...

    def publish(self) -> None:
        """Make what was written visible to readers in other processes."""
        ...

    def close(self) -> None:
        """Publish and let go of the store."""
        ...

    def __enter__(self) -> "Store": ...

    def __exit__(self, *_: object) -> None: ...


class BatchTooLargeError(StoreError):
    """The server has too little memory for the transaction; a smaller batch may pass."""


@contextmanager
def logged(store: Store, header: dict[str, Any], lines: Iterable[bytes]) -> Generator[str | None]:
    """Put a batch into the store's log while the body writes it; gives its id, None: no log.

    Where the body fails before anything was written, the batch is taken back, so that nobody tries
    it again.
    """
    batch = store.log.append(header, lines) if store.log else None
    try:
        yield batch
    except UncertainWriteError:
        raise
    except Exception:
        if store.log and batch:
            store.log.withdraw(batch)
        raise


def check_parameters(text: str, parameters: Mapping[str, Any]) -> None:
    """Refuse a query with a parameter that has no value; one of the engines would read NULL."""
    code = re.sub(r"//[^\n]*|'(\\.|[^'])*'|\"(\\.|[^\"])*\"", "", text)
    missing = sorted({*re.findall(r"\$(\w+)", code)} - set(parameters))
    if missing:
        names = ", ".join(f"${name}" for name in missing)
        raise QueryError(f"the query takes {names}, which was not given (-p {missing[0]}=…)")


_OF_ROLLOUT = "MATCH (r:Rollout)-[:HAS_STEP]->(:Step)-[:RAN]->"
_REPLACED = (
    f"{_OF_ROLLOUT}(:Command)-[:WROTE_LINES]->(n:Fragment)",
    f"{_OF_ROLLOUT}(:Command)-[:READ|PROBED|WROTE|DELETED|OPENED|STARTED]->(n:Resource)",
    "MATCH (r:Rollout)-[:VERIFIED_BY]->(:Command)-[:READ|PROBED|WROTE]->(n:Resource)",
    f"{_OF_ROLLOUT}(n:Command)",
    "MATCH (r:Rollout)-[:VERIFIED_BY]->(n:Command)",
    "MATCH (r:Rollout)-[:HAS_STEP]->(n:Step)",
)
_TRANSITIONS = (
    "MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)-[:`FROM`]->(a:State) WHERE r.id IN $rollouts "
    "WITH DISTINCT s.id AS step, a MATCH (a)-[e:LEADS_TO]->(:State) WHERE e.step = step DELETE e"
)
_DELETE_ROLLOUTS: tuple[str, ...] = (
    _TRANSITIONS,
    *(f"{path} WHERE r.id IN $rollouts WITH DISTINCT n DETACH DELETE n" for path in _REPLACED),
    "MATCH (r:Rollout) WHERE r.id IN $rollouts DETACH DELETE r",
)
_OF_TASK = "MATCH (t:Task)-[e:HAS_PREDICATE]->(p:Predicate) WHERE t.id IN $tasks"
_FORGET_LISTED = (
    f"{_OF_TASK} WITH p MATCH (p)-[e:REQUIRES]->(:Predicate) DELETE e",
    f"{_OF_TASK} DELETE e",
    "MATCH (t:Task)-[:HAS_CHANNEL]->(c:Channel) WHERE t.id IN $tasks DETACH DELETE c",
)
SHARED = {
    "MATCH (r:Rollout)-[:HAS_STEP]->(:Step)-[:`FROM`|`TO`]->(s:State) WHERE r.id IN $rollouts "
    "RETURN s.id AS id UNION "
    "MATCH (r:Rollout)-[:ENDED_IN]->(s:State) WHERE r.id IN $rollouts RETURN s.id AS id": (
        "UNWIND $ids AS id MATCH (s:State {id: id}) "
        "OPTIONAL MATCH (s)<-[e:`FROM`|`TO`|ENDED_IN]-() "
        "WITH s, count(e) AS uses WHERE uses = 0 DETACH DELETE s"
    ),
    "MATCH (r:Rollout)-[:HAS_STEP]->(:Step)-[:AT]->(c:Context) WHERE r.id IN $rollouts "
    "RETURN DISTINCT c.id AS id": (
        "UNWIND $ids AS id MATCH (c:Context {id: id}) OPTIONAL MATCH (c)<-[e:AT]-() "
        "WITH c, count(e) AS uses WHERE uses = 0 DETACH DELETE c"
    ),
}
"""What rollouts share: how to ask which nodes some rollouts use, before those are removed, and how
to remove those of the nodes that no rollout uses any more."""


def removals(rows: Rows) -> Iterator[tuple[str, dict[str, Any]]]:
    """Go through what is removed before rows are written: statements with their parameters.

    Rollouts go with all that is theirs alone, and tasks lose the predicates and channels that they
    listed.
    """
    if rows.replaced:
        yield from ((statement, {"rollouts": rows.replaced}) for statement in _DELETE_ROLLOUTS)
    if rows.tasks:
        tasks = [task["id"] for task in rows.tasks]
        yield from ((statement, {"tasks": tasks}) for statement in _FORGET_LISTED)


def task_update(task: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the statement and parameters that set the properties of a task that is there.

    NULL is written out, since an untyped NULL parameter fits no column of the embedded engine.
    """
    columns = dict(zip(NODE["Task"].columns, node_row("Task", task), strict=True))
    settings = [
        f"t.`{name}` = " + ("NULL" if value is None else f"${name}")
        for name, value in columns.items()
        if name != "id"
    ]
    parameters = {name: value for name, value in columns.items() if value is not None}
    return f"MATCH (t:Task {{id: $id}}) SET {', '.join(settings)}", parameters


def check_version(store: "Store", name: object) -> None:
    """Refuse a database with another schema version. Raises SchemaVersionError."""
    try:
        found = store.query("MATCH (s:Schema {id: 'rollgraph'}) RETURN s.version AS version")
    except QueryError as error:
        raise SchemaVersionError(f"{name}: is not a rollgraph database ({error})") from error
    versions = found.column("version").to_pylist()
    if versions != [SCHEMA_VERSION]:
        version = versions[0] if versions else "none"
        todo = (
            "run `rollgraph rebuild`"
            if isinstance(version, int) and version < SCHEMA_VERSION
            else "use the rollgraph that made it, or another store"
        )
        raise SchemaVersionError(
            f"{name}: has schema version {version}, this rollgraph reads {SCHEMA_VERSION}; {todo}"
        )
