"""The rows that one transaction writes, kept by column on their way to Arrow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa

from .schema import ARROW, EDGE, NODE, capped

EdgeKey: TypeAlias = tuple[str, str, str]
"""Edge type, label of its source, label of its target."""


class Columns:
    """The rows of one table, kept by column."""

    def __init__(self, types: Mapping[str, str]) -> None:
        self._types = types
        self._values: list[list[Any]] = [[] for _ in types]

    def append(self, *row: Any) -> None:
        """Add a row, with a value for each of the schema's columns."""
        for column, value in zip(self._values, row, strict=True):
            column.append(value)

    def extend(self, *columns: Sequence[Any]) -> None:
        """Add rows by column, with equally many values for each of the schema's columns."""
        for column, values in zip(self._values, columns, strict=True):
            column += values

    def __len__(self) -> int:
        return len(self._values[0])

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table with the schema's types."""
        columns = zip(self._types.items(), self._values, strict=True)
        return pa.table(
            {name: pa.array(values, type=ARROW[kind]) for (name, kind), values in columns}
        )


@dataclass
class Rows:
    """What one transaction writes: new nodes and edges, and what goes or changes before them."""

    nodes: dict[str, Columns] = field(default_factory=dict[str, Columns])
    edges: dict[EdgeKey, Columns] = field(default_factory=dict[EdgeKey, Columns])
    replaced: list[str] = field(default_factory=list[str])
    """Rollouts that go first, with their steps, commands, resources and fragments."""
    tasks: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Properties by name of tasks that are there already."""

    def add(self, label: str, /, **values: Any) -> None:
        """Add a node from its properties by name; those not named are NULL, a TEXT is capped."""
        self.of(label).append(*node_row(label, values))

    def of(self, label: str) -> Columns:
        """Return the new nodes of a label."""
        if label not in self.nodes:
            self.nodes[label] = Columns(NODE[label].columns)
        return self.nodes[label]

    def between(self, kind: str, source: str, target: str) -> Columns:
        """Return the new edges of a type between two labels."""
        key = (kind, source, target)
        if key not in self.edges:
            self.edges[key] = Columns(EDGE[kind].columns)
        return self.edges[key]

    def __len__(self) -> int:
        return sum(map(len, self.nodes.values())) + sum(map(len, self.edges.values()))


_SHAPES: dict[str, tuple[tuple[str, bool], ...]] = {
    label: tuple((prop.name, prop.type == "TEXT") for prop in node.properties)
    for label, node in NODE.items()
}
"""Label to its properties, and whether each is a TEXT."""
_NAMES = {label: {"id", *(name for name, _ in shape)} for label, shape in _SHAPES.items()}


def node_row(label: str, values: Mapping[str, Any]) -> list[Any]:
    """Turn a node's properties by name into the values of its columns."""
    if not values.keys() <= _NAMES[label]:
        raise KeyError(f"{label} has no property {', '.join(values.keys() - _NAMES[label])}")
    row: list[Any] = [values["id"]]
    for name, is_text in _SHAPES[label]:
        value = values.get(name)
        if is_text:
            row += capped(value)
        else:
            row.append(value)
    return row
