"""The library of named queries: one question a file, listed and run by its header.

`NAME.cypher` starts with a comment that says what it answers, its parameters (with a default, or
required) and its columns; the command line, the docs and the checks read it. Where an engine has a
better text of its own, `NAME.embedded.cypher` or `NAME.neo4j.cypher` stands beside it, without a
header: same parameters, same columns, same rows.

Two things of the embedded engine shape the texts. Tested between two hops of a MATCH, a property of
an edge gives wrong rows, in silence: the texts test it after a WITH DISTINCT. And a plan starts
where its WHERE is most selective, so that a batch is always chosen by its rollouts' groups.

>>> print(load("read_distances").summary)
How far each read command is from the writes that it supports.
>>> load("read_distances").parameters["whole_file"].default
'removal'
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, cast

import pyarrow as pa

from ..graph.errors import QueryError
from ..graph.store import Store

_FOLDER = files(__package__ or __name__.rpartition(".")[0])
_GROUPS = "(size($groups) = 0 OR r.`group` IN $groups)"
_ITEM = re.compile(
    r"//   (?P<name>\w+)(?: \((?P<type>[\w ]+)(?:, default (?P<default>.+?))?\))?: (?P<about>.+)"
)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a query."""

    name: str
    type: str
    about: str
    is_required: bool
    default: Any


@dataclass(frozen=True)
class NamedQuery:
    """A question with its text for each engine."""

    name: str
    summary: str
    about: str
    parameters: dict[str, Parameter]
    columns: dict[str, str]
    texts: dict[str, str]
    """Engine to text; the key `any` is the text for an engine without its own."""

    def text(self, engine: str, groups: Sequence[str] | None = None) -> str:
        """Return the text that an engine runs.

        Where it is known whether `groups` is empty, the choice between all groups and some is made
        here: with an OR, neither engine's planner starts from the groups.
        """
        text = self.texts.get(engine, self.texts["any"])
        if groups is None:
            return text
        return text.replace(_GROUPS, "r.`group` IN $groups" if groups else "true")

    def bind(self, given: dict[str, Any]) -> dict[str, Any]:
        """Complete parameters with the defaults. Raises QueryError."""
        if unknown := sorted(set(given) - set(self.parameters)):
            known = ", ".join(self.parameters) or "none"
            raise QueryError(
                f"query {self.name}: unknown parameter {unknown[0]}; it takes: {known}"
            )
        required = [
            p.name for p in self.parameters.values() if p.is_required and p.name not in given
        ]
        if required:
            raise QueryError(f"query {self.name}: parameter {required[0]} is required")
        for name, value in given.items():
            if self.parameters[name].type == "list of strings" and not _are_strings(value):
                raise QueryError(
                    f"query {self.name}: {name}: expected a list of strings, such as "
                    f'["a", "b"], found {json.dumps(value, default=str)}'
                )
        defaults = {p.name: p.default for p in self.parameters.values() if not p.is_required}
        return {**defaults, **given}


def _are_strings(value: object) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(item, str) for item in cast("Sequence[object]", value)
    )


@cache
def names() -> tuple[str, ...]:
    """Return the names of all queries, in order."""
    found = (entry.name.partition(".") for entry in _FOLDER.iterdir())
    return tuple(sorted({name for name, _, rest in found if rest.endswith("cypher")}))


@cache
def load(name: str) -> NamedQuery:
    """Read a query by name. Raises QueryError for an unknown one."""
    if name not in names():
        raise QueryError(f"no query is called {name}; there are: {', '.join(names())}")
    texts: dict[str, str] = {}
    for key, ending in (("any", ""), ("embedded", ".embedded"), ("neo4j", ".neo4j")):
        file = _FOLDER / f"{name}{ending}.cypher"
        if file.is_file():
            texts[key] = file.read_text(encoding="utf-8")
    return _parsed(name, texts)


def run(store: Store, name: str, **given: Any) -> pa.Table:
    """Run a named query and return its rows as an Arrow table."""
    query = load(name)
    parameters = query.bind(given)
    return store.query(query.text(store.engine, parameters.get("groups")), parameters)


def _parsed(name: str, texts: dict[str, str]) -> NamedQuery:
    header = [line for line in texts["any"].splitlines() if line.startswith("//")]
    section, about = "", list[str]()
    parameters: dict[str, Parameter] = {}
    columns: dict[str, str] = {}
    for line in header[1:]:
        if line in ("// Parameters:", "// Columns:"):
            section = line
        elif item := _ITEM.fullmatch(line):
            if section == "// Columns:":
                columns[item["name"]] = item["about"]
            else:
                default = item["default"]
                parameters[item["name"]] = Parameter(
                    item["name"],
                    item["type"] or "string",
                    item["about"],
                    default is None,
                    None if default is None else json.loads(default),
                )
        else:
            about.append(line.removeprefix("//").strip())
    summary = header[0].removeprefix("// ")
    return NamedQuery(name, summary, " ".join(about).strip(), parameters, columns, texts)
