"""Options that several commands share."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from ..graph.errors import QueryError

DEFAULT_STORE = "rollouts.rollgraph"

StoreOption = Annotated[
    str,
    typer.Option(envvar="ROLLGRAPH_STORE", help="A folder, or a server such as bolt://HOST:7687."),
]
LogOption = Annotated[
    Path | None,
    typer.Option(help="Folder of a Neo4j store's rollout log; an embedded store has its own."),
]
GroupOption = Annotated[list[str] | None, typer.Option(help="Only this group; may be repeated.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="A parameter of the method, key=value; may be repeated."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="JSON Lines: one object a line.")]


def settings(given: Iterable[str] | None) -> dict[str, Any]:
    """Read key=value settings; a value is JSON where it can be, else text."""
    settings: dict[str, Any] = {}
    for setting in given or ():
        key, equals, value = setting.partition("=")
        if not equals:
            raise QueryError(f"{setting}: expected key=value")
        try:
            settings[key] = json.loads(value)
        except ValueError:
            settings[key] = value
    return settings
