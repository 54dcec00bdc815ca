"""What every store offers: read with Cypher, write in transactions, and a log of what came in."""

import re
from collections import defaultdict
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from .errors import QueryError, SchemaVersionError, StoreError
from .log import RolloutLog
from .schema import ARROW, EDGE, NODE, SCHEMA_VERSION, capped

EdgeKey: TypeAlias = tuple[str, str, str]
"""Edge type, label of its source, label of its target."""


@dataclass
class Rows:
    """The rows that one transaction writes.

    A row is a tuple in the order of the schema's columns. `replaced` names the rollouts whose
    steps, commands, resources and fragments go before the new rows come; `tasks` are rows of Task
    nodes that are there already.
    """

    nodes: defaultdict[str, list[tuple[Any, ...]]] = field(
        default_factory=lambda: defaultdict[str, list[tuple[Any, ...]]](list)
    )
    edges: defaultdict[EdgeKey, list[tuple[Any, ...]]] = field(
        default_factory=lambda: defaultdict[EdgeKey, list[tuple[Any, ...]]](list)
    )
    replaced: list[str] = field(default_factory=list[str])
    tasks: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])

    def add(self, label: str, **values: Any) -> None:
        """Add a node from its properties by name; those not named are NULL, a TEXT is capped."""
        self.nodes[label].append(node_row(label, **values))

    def node_tables(self) -> dict[str, pa.Table]:
        """Return the new nodes as Arrow tables by label."""
        return {
            label: arrow_table(rows, NODE[label].columns)
            for label, rows in self.nodes.items()
            if rows
        }

    def edge_tables(self) -> dict[EdgeKey, pa.Table]:
        """Return the new edges as Arrow tables by edge type and ends."""
        return {
            key: arrow_table(rows, EDGE[key[0]].columns) for key, rows in self.edges.items() if rows
        }

    def __len__(self) -> int:
        return sum(map(len, self.nodes.values())) + sum(map(len, self.edges.values()))


def node_row(label: str, /, **values: Any) -> tuple[Any, ...]:
    """Make the row of a node from its properties by name."""
    row: list[Any] = [values.pop("id")]
    for prop in NODE[label].properties:
        value = values.pop(prop.name, None)
        row += capped(value) if prop.type == "TEXT" else (value,)
    if values:
        raise KeyError(f"{label} has no property {', '.join(values)}")
    return tuple(row)


def arrow_table(rows: list[tuple[Any, ...]], columns: Mapping[str, str]) -> pa.Table:
    """Turn rows into an Arrow table with the schema's types."""
    values = zip(*rows, strict=True)
    return pa.table(
        {
            name: pa.array(column, type=ARROW[kind])
            for (name, kind), column in zip(columns.items(), values, strict=True)
        }
    )


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
        """Write rows in one transaction: all of them or none."""
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
DELETE_ROLLOUTS: tuple[str, ...] = (
    *(f"{path} WHERE r.id IN $rollouts WITH DISTINCT n DETACH DELETE n" for path in _REPLACED),
    "MATCH (r:Rollout) WHERE r.id IN $rollouts DETACH DELETE r",
)
"""The statements that remove rollouts with all that is theirs alone; both engines run them."""


def task_update(row: tuple[Any, ...]) -> tuple[str, dict[str, Any]]:
    """Return the statement and parameters that set the properties of a task that is there.

    NULL is written out, since an untyped NULL parameter fits no column of the embedded engine.
    """
    values = dict(zip(NODE["Task"].columns, row, strict=True))
    settings = [
        f"t.`{name}` = " + ("NULL" if value is None else f"${name}")
        for name, value in values.items()
        if name != "id"
    ]
    parameters = {name: value for name, value in values.items() if value is not None}
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
