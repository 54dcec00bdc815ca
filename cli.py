"""The `rollgraph` command: it composes the rooms' verbs, and adds only their printing."""

import json
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import pandas as pd
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from .graph import EDGES, NODES, RollgraphError, Store, open_store
from .graph.errors import CreditError, IngestError, QueryError, RecorderError
from .graph.records import RECORD
from .graph.schema import Property, embedded_ddl, neo4j_ddl
from .ingest import (
    STATE_READERS,
    Report,
    States,
    catch_up,
    export,
    ingest,
    open_for_reading,
    rebuild,
)  # fmt: skip
from .ingest.demo import DEMO_EXPLAINED, DEMO_FILE, record_demo
from .ingest.recorder import (
    Recorder,
    Result,
    append_records,
    best_tracer,
    run_command,
    run_script,
)
from .ingest.recorder import doctor as tracer_levels
from .queries import (
    CREDIT_METHODS,
    ask,
    credit,
    explain,
    group_health,
    load,
    load_credits,
    names,
    save_credits,
    trace_statistics,
)
from .queries.ask import as_frame
from .queries.show import credit_tables, frame_table, plain

QUERY_TIMEOUT_S = 300
DEFAULT_STORE = "rollouts.rollgraph"

DEMO_ABOUT = """\
Three small tasks, four scripted attempts each. {source}

[bold]credit[/]     of a write: the share of its lines that reach what the verifier inspected;
           of a read: what the writes that it supports are worth, halved for each step of distance
[bold]weight[/]     the step's credit against the rollout's other steps: their token mean is 1
[bold]advantage[/]  the rollout's advantage in its group, times the weight (a token is a byte here)
"""

DEMO_LIVE = "They are really run now, in a temporary folder, and traced."
DEMO_RECORDED = """\
Commands cannot be traced on this machine (`rollgraph doctor`
says why), so this is a recording of a run elsewhere, not a new run."""

app = typer.Typer(
    help="Which steps of these rollouts mattered, and did training learn from them?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
out = Console(width=None if sys.stdout.isatty() else 1000)  # a pipe has no edge to fold at
err = Console(stderr=True)
_debug = False

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


def main() -> None:
    """Run the command line: a RollgraphError is one line on stderr, and status 2."""
    try:
        app()
    except (RollgraphError, OSError) as error:
        if _debug:
            raise
        _complain(error)
        sys.exit(2)


def _version(wanted: bool) -> None:
    if wanted:
        print(version("rollgraph"))
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option(help="Show the traceback of an error.")] = False,
    _: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    global _debug
    _debug = debug


@app.command("ingest")
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
        _notify(opened)
        for file in files:
            try:
                with _progress(file) as update:
                    report = ingest(
                        opened, file, work_roots=work_root or (), strict=strict, rejects=rejects,
                        inferred=inferred, states=kinds, progress=update,
                    )  # fmt: skip
            except IngestError as error:
                _complain(error)
                status = 2
            else:
                _report(file, report)
                status = max(status, int(bool(report.refused)))
    raise typer.Exit(status)


@app.command("record")
def record_session(
    task: Annotated[str, typer.Option(help="The task's id.")],
    work_root: Annotated[
        list[Path], typer.Option(help="Folder whose files count, the first to start in; repeat.")
    ],
    to: Annotated[Path, typer.Option("--out", help="Rollout file to append the record to.")],
    command: Annotated[
        list[str] | None, typer.Argument(help="bash, for a session; or one command to record.")
    ] = None,
    script: Annotated[
        Path | None, typer.Option(help="Run the commands of this file, a step each.")
    ] = None,
    verifier: Annotated[
        str | None, typer.Option(help="Shell command that decides the reward, traced as well.")
    ] = None,
    description: Annotated[
        str | None, typer.Option(help="The task's text; its values are no evidence of use.")
    ] = None,
    group: Annotated[str | None, typer.Option(help="The rollouts to compare with.")] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds after which a command is killed.")
    ] = None,
) -> None:
    """Record what the commands of a shell touch: a session of bash, a script, or one command."""
    if (script is None) == (command is None):
        raise RecorderError("record: expected either --script FILE or -- COMMAND, such as -- bash")
    with Recorder(task, work_roots=[str(root) for root in work_root]) as recorder:
        if script:
            try:
                text = script.read_bytes().decode("utf-8", "surrogateescape")
            except OSError as error:
                raise RecorderError(f"{script}: cannot be read ({error.strerror})") from error
            lines = (f"{line}\n" for line in text.split("\n"))
            run_script(recorder, lines, timeout_s=timeout, on_result=_show_result)
        elif command == ["bash"] and sys.stdin.isatty():
            recorder.terminal()
        elif command == ["bash"]:
            run_script(recorder, sys.stdin, timeout_s=timeout, on_result=_show_result)
        else:
            run_command(recorder, command or [], timeout_s=timeout, on_result=_show_result)
        if verifier:
            _show_result(recorder.verify(verifier, timeout_s=timeout))
        rollout = recorder.rollout(**({"group": group} if group else {}))
    about = {"type": "task", "id": task, "description": description}
    append_records(to, [about, rollout] if description else [rollout])
    reward = f", reward {rollout['reward']:g}" if "reward" in rollout else ""
    err.print(
        f"{to}: {rollout['id']}, {len(rollout['steps'])} steps{reward}; "
        f"level {recorder.tracer.level}", markup=False, highlight=False, soft_wrap=True,
    )  # fmt: skip


@app.command()
def doctor() -> None:
    """Say how well commands can be traced on this machine, and what to install."""
    rows = pd.DataFrame(tracer_levels(), columns=["level", "found", "what to do"])
    out.print(frame_table(rows))
    raise typer.Exit(int(best_tracer().level == "sweep"))


@app.command("credit")
def credit_rollouts(
    method: Annotated[str, typer.Option(help=", ".join(CREDIT_METHODS))] = "depgpo",
    group: GroupOption = None,
    parameters: SetOption = None,
    as_json: JsonOption = False,
    save: Annotated[bool, typer.Option(help="Keep the result in the store.")] = False,
    run: Annotated[str | None, typer.Option(help="Show a kept result by its id.")] = None,
    store: StoreOption = DEFAULT_STORE,
    log: LogOption = None,
) -> None:
    """Compute the credit, weight and advantage of every step."""
    if run and (save or group or parameters or method != "depgpo"):
        raise CreditError("--run shows a kept result as it is: it goes with --json alone")
    with open_store(store, log=log) if save else _reader(store, log) as opened:
        if save:
            catch_up(opened)
        found = (
            load_credits(opened, run)
            if run
            else credit(opened, method, group, **_settings(parameters))
        )
        if save:
            err.print(f"kept as {save_credits(opened, found)}", markup=False)
        if as_json:
            for line in found.to_json_lines():
                print(line)
        else:
            for table in credit_tables(opened, found):
                out.print(table, "")


@app.command("explain")
def explain_command(
    name: Annotated[str, typer.Argument(help="ROLLOUT/STEP/COMMAND, such as r1/2/0, or r1/2.")],
    method: Annotated[str, typer.Option(help="A credit method.")] = "depgpo",
    parameters: SetOption = None,
    as_json: JsonOption = False,
    store: StoreOption = DEFAULT_STORE,
    log: LogOption = None,
) -> None:
    """Show the paths and the evidence that make a command's or a step's credit."""
    with _reader(store, log) as opened:
        _print_frame(explain(opened, name, method, **_settings(parameters)), as_json=as_json)


@app.command("query")
def run_query(
    name: Annotated[str, typer.Argument(help="A named query, or a .cypher file.")],
    parameters: Annotated[
        list[str] | None, typer.Option("-p", help="A parameter, key=value; may be repeated.")
    ] = None,
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values.")] = False,
    as_parquet: Annotated[bool, typer.Option("--parquet", help="A Parquet file.")] = False,
    to: Annotated[Path | None, typer.Option("--out", help="Write to a file.")] = None,
    store: StoreOption = DEFAULT_STORE,
    log: LogOption = None,
) -> None:
    """Ask a named question, or one of your own from a file; the store is only read."""
    if as_json + as_csv + as_parquet > 1:
        raise QueryError("expected one of --json, --csv and --parquet")
    given = _settings(parameters)
    with _reader(store, log) as opened:
        if name.endswith(".cypher"):
            frame = _own_query(opened, Path(name), given)
        else:
            frame = ask(opened, name, **given)
    if as_parquet:
        _write(frame.to_parquet(index=False), to)
    elif as_csv:
        _write(frame.to_csv(index=False).encode(), to)
    elif to:
        _write("".join(f"{line}\n" for line in _json_lines(frame)).encode(), to)
    else:
        _print_frame(frame, as_json=as_json)


@app.command("queries")
def list_queries() -> None:
    """List the named queries with their parameters."""
    rows = [
        {
            "query": name,
            "parameters": ", ".join(load(name).parameters),
            "answers": load(name).summary,
        }
        for name in names()
    ]
    out.print(frame_table(pd.DataFrame(rows)))


@app.command()
def stats(
    group: GroupOption = None,
    as_json: JsonOption = False,
    store: StoreOption = DEFAULT_STORE,
    log: LogOption = None,
) -> None:
    """Show how active the dependency mechanism is, and how healthy each group is."""
    with _reader(store, log) as opened:
        traces = trace_statistics(opened, group or ())
        groups = group_health(opened, group or ())
    if as_json:
        (row,) = _records(traces)
        print(json.dumps({"trace_statistics": row, "group_health": _records(groups)}))
        return
    values = traces.T.reset_index().set_axis(["statistic", "value"], axis=1)
    out.print(frame_table(values.astype(object), "traces"), "", frame_table(groups, "groups"))


@app.command()
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


@app.command("export")
def export_records(
    to: Annotated[Path | None, typer.Option("--out", help="Write to a file.")] = None,
    store: StoreOption = DEFAULT_STORE,
    log: LogOption = None,
) -> None:
    """Print the rollout records of the store, as they came in."""
    with _reader(store, log) as opened:
        lines = (line + b"\n" for line in export(opened))
        if to is None:
            sys.stdout.buffer.writelines(lines)
            return
        part = to.with_name(f"{to.name}.part")
        with part.open("wb") as file:
            file.writelines(lines)
        part.replace(to)


@app.command("rebuild")
def rebuild_graph(store: StoreOption = DEFAULT_STORE, log: LogOption = None) -> None:
    """Make the graph anew from the rollout log."""
    with rebuild(store, log=log) as opened:
        counts = opened.query("MATCH (r:Rollout) RETURN count(*) AS n").column("n")
        err.print(f"{store}: {counts[0].as_py()} rollouts are in the graph again", markup=False)


@app.command()
def demo() -> None:
    """Credit three small tasks with four attempts each, and say why."""
    is_live = best_tracer().level != "sweep"
    out.print(DEMO_ABOUT.format(source=DEMO_LIVE if is_live else DEMO_RECORDED))
    with TemporaryDirectory(prefix="rollgraph-demo-") as folder, open_store(folder) as opened:
        ingest(opened, record_demo(Path(folder) / "tasks") if is_live else DEMO_FILE)
        found = credit(opened)
        for table in credit_tables(opened, found):
            out.print(table, "")
        for command in DEMO_EXPLAINED:
            title = f"why {command} has its credit"
            out.print(frame_table(explain(opened, command), title), "")
        out.print(frame_table(group_health(opened), "groups"), "")
    out.print("Your own rollouts: rollgraph ingest FILE.jsonl && rollgraph credit")


def _show_result(result: Result) -> None:
    sys.stdout.write(result.stdout)
    sys.stdout.flush()
    sys.stderr.write(result.stderr)
    if result.timed_out:
        err.print("rollgraph: the command was killed: its time was up", style="yellow")


def _reader(store: str, log: Path | None) -> Store:
    opened = open_for_reading(store, log=log)
    _notify(opened)
    return opened


def _notify(store: Store) -> None:
    if store.notice:
        err.print(f"rollgraph: {store.notice}", style="yellow", markup=False, soft_wrap=True)


def _complain(error: RollgraphError | OSError) -> None:
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    err.print(f"rollgraph: {text}", style="red", markup=False, highlight=False, soft_wrap=True)


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


def _settings(given: Iterable[str] | None) -> dict[str, Any]:
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


def _own_query(store: Store, file: Path, given: dict[str, Any]) -> pd.DataFrame:
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise QueryError(f"{file}: cannot be read ({error.strerror})") from error
    return as_frame(store.query(text, given, timeout_s=QUERY_TIMEOUT_S))


def _print_frame(frame: pd.DataFrame, *, as_json: bool) -> None:
    if not as_json:
        out.print(frame_table(frame))
        return
    for line in _json_lines(frame):
        print(line)


def _json_lines(frame: pd.DataFrame) -> Iterable[str]:
    return (json.dumps(row, ensure_ascii=False) for row in _records(frame))


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Turn rows into plain objects, with None for what is missing."""
    return [
        {str(name): plain(value) for name, value in row.items()}
        for row in frame.to_dict(orient="records")
    ]


def _write(content: bytes | None, to: Path | None) -> None:
    if to:
        to.write_bytes(content or b"")
    else:
        sys.stdout.buffer.write(content or b"")


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
