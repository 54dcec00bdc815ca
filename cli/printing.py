"""What the commands print: answers on stdout, everything else on stderr."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from ..graph import RollgraphError, Store
from ..ingest import open_for_reading
from ..queries.show import frame_table, plain

out = Console(width=None if sys.stdout.isatty() else 1000)  # a pipe has no edge to fold at
err = Console(stderr=True)


def reader(store: str, log: Path | None) -> Store:
    """Open a store to read, and print what it has to say."""
    opened = open_for_reading(store, log=log)
    notify(opened)
    return opened


def notify(store: Store) -> None:
    """Print what a store has to say about itself."""
    if store.notice:
        err.print(f"rollgraph: {store.notice}", style="yellow", markup=False, soft_wrap=True)


def complain(error: RollgraphError | OSError) -> None:
    """Print an error as one line."""
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    err.print(f"rollgraph: {text}", style="red", markup=False, highlight=False, soft_wrap=True)


def print_frame(frame: pd.DataFrame, *, as_json: bool) -> None:
    """Print a table, or its rows as JSON Lines."""
    if not as_json:
        out.print(frame_table(frame))
        return
    for line in json_lines(frame):
        print(line)


def json_lines(frame: pd.DataFrame) -> Iterable[str]:
    """Yield the rows as JSON objects."""
    return (json.dumps(row, ensure_ascii=False) for row in records(frame))


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Turn rows into plain objects, with None for what is missing."""
    return [
        {str(name): plain(value) for name, value in row.items()}
        for row in frame.to_dict(orient="records")
    ]


def write(content: bytes | None, to: Path | None) -> None:
    """Write to a file, or to stdout where there is none."""
    if to:
        to.write_bytes(content or b"")
    else:
        sys.stdout.buffer.write(content or b"")
