"""The commands that fill a store, print its records and make it anew."""

import json
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from ..graph import EDGES, NODES, open_store
from ..graph.errors import IngestError, QueryError
from ..graph.records import RECORD
from ..graph.schema import Property, embedded_ddl, neo4j_ddl
from ..ingest import STATE_READERS, Report, States, export, ingest, rebuild
from ..queries.show import frame_table
from .options import DEFAULT_STORE, LogOption, StoreOption
from .printing import complain, err, notify, out, reader


def ingest_files(
    files: Annotated[list[Path], typer.Argument(help="Rollout files: plain, gzip or zstd.")],
    store: StoreOption = DEFAULT_STORE,
    log: LogOption = None,
    work_root: Annotated[
        list[str] | None, typer.Option(help="Folder outside which paths are noise; repeat.")
    ] = None,
    strict: Annotated[bool, typer.Option(help="Refuse a file at its first faulty line.")] = False,
    rejects: Annotated[Path | None, typer.Option(help="Append refused lines to a file.")] = None,
    inferred: Annotated[
        str, typer.Option(help="Accesses inferred from commands' texts: keep, add or drop.")
    ] = "keep",
    states: Annotated[
        str, typer.Option(help=f"How states are read: {', '.join(STATE_READERS)}, or module.name.")
    ] = "text",
    keep_noise: Annotated[
        bool, typer.Option("--keep-noise", help="Looking around makes states of its own.")
    ] = False,
    similarity: Annotated[
        float | None, typer.Option(help="States this similar (0 to 1) are one within a group.")
    ] = None,
) -> None:
    """Bring rollout files into the store. Status 1: some lines were refused; 2: a whole file."""
    if inferred not in ("keep", "add", "drop"):
        raise IngestError(f"--inferred: expected keep, add or drop, found {inferred}")
    kinds = States.named(states, prune=not keep_noise, similarity=similarity)
    status = 0
    with open_store(store, log=log) as opened:
        notify(opened)
        for file in files:
            try:
                with _progress(file) as update:
                    report = ingest(
                        opened, file, work_roots=work_root or (), strict=strict, rejects=rejects,
                        inferred=inferred, states=kinds, progress=update,
                    )  # fmt: skip
            except IngestError as error:
                complain(error)
                status = 2
            else:
                _report(file, report)
                status = max(status, int(bool(report.refused)))
    raise typer.Exit(status)


def export_records(
    to: Annotated[Path | None, typer.Option("--out", help="Write to a file.")] = None,
    store: StoreOption = DEFAULT_STORE,
    log: LogOption = None,
) -> None:
    """Print the rollout records of the store, as they came in."""
    with reader(store, log) as opened:
        lines = (line + b"\n" for line in export(opened))
        if to is None:
            sys.stdout.buffer.writelines(lines)
            return
        part = to.with_name(f"{to.name}.part")
        with part.open("wb") as file:
            file.writelines(lines)
        part.replace(to)


def rebuild_graph(store: StoreOption = DEFAULT_STORE, log: LogOption = None) -> None:
    """Make the graph anew from the rollout log."""
    with rebuild(store, log=log) as opened:
        counts = opened.query("MATCH (r:Rollout) RETURN count(*) AS n").column("n")
        err.print(f"{store}: {counts[0].as_py()} rollouts are in the graph again", markup=False)


def schema(
    engine: Annotated[str | None, typer.Option(help="Statements for embedded or neo4j.")] = None,
    json_schema: Annotated[bool, typer.Option(help="JSON Schema of a record.")] = False,
) -> None:
    """Print the graph's schema, an engine's statements, or the rollout format's JSON Schema."""
    statements = {"embedded": embedded_ddl, "neo4j": neo4j_ddl}
    if engine and json_schema:
        raise QueryError("expected one of --engine and --json-schema")
    if json_schema:
        print(json.dumps(RECORD.json_schema(), indent=2))
    elif engine:
        if engine not in statements:
            raise QueryError(f"--engine: expected embedded or neo4j, found {engine}")
        print("\n".join(f"{statement};" for statement in statements[engine]()))
    else:
        out.print(frame_table(_schema_frame()))


@contextmanager
def _progress(file: Path) -> Generator[Callable[[int, int], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(escape(file.name), total=None)
        yield lambda done, size: bar.update(task, completed=done, total=size)


def _report(file: Path, report: Report) -> None:
    for refusal in report.refused:
        err.print(str(refusal), style="red", markup=False, highlight=False, soft_wrap=True)
    for note in report.notes:
        err.print(f"{file}: {note}", style="yellow", markup=False, soft_wrap=True)
    if report.dropped_paths:
        err.print(
            f"{file}: {report.dropped_paths} relative paths have no known working directory and "
            "take part in nothing", style="yellow", markup=False, soft_wrap=True,
        )  # fmt: skip
    err.print(
        f"{file}: rollouts {report.new} new, {report.replaced} replaced, {report.unchanged} "
        f"unchanged, {len(report.refused)} lines refused; {report.tasks} tasks",
        markup=False, highlight=False, soft_wrap=True,
    )  # fmt: skip


def _schema_frame() -> pd.DataFrame:
    rows = [
        (node.label, "", prop.name, prop.type, prop.about)
        for node in NODES
        for prop in (Property("id", "STRING", node.about), *node.properties)
    ]
    for edge in EDGES:
        ends = ", ".join(f"{source} → {target}" for source, target in edge.ends)
        rows.append((edge.type, ends, "", "", edge.about))
        rows += [(edge.type, ends, prop.name, prop.type, prop.about) for prop in edge.properties]
    return pd.DataFrame(rows, columns=["label or type", "ends", "property", "type", "about"])
