"""The commands that ask: credits and their reasons, named queries, and how healthy groups are."""

import json
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from ..graph import Store, open_store
from ..graph.errors import CreditError, QueryError
from ..ingest import catch_up
from ..queries import (
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
from ..queries.ask import as_frame
from ..queries.show import credit_tables, frame_table
from .options import (
    DEFAULT_STORE,
    GroupOption,
    JsonOption,
    LogOption,
    SetOption,
    StoreOption,
    settings,
)
from .printing import err, json_lines, out, print_frame, reader, records, write

QUERY_TIMEOUT_S = 300


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
    with open_store(store, log=log) if save else reader(store, log) as opened:
        if save:
            catch_up(opened)
        found = (
            load_credits(opened, run)
            if run
            else credit(opened, method, group, **settings(parameters))
        )
        if save:
            err.print(f"kept as {save_credits(opened, found)}", markup=False)
        if as_json:
            for line in found.to_json_lines():
                print(line)
        else:
            for table in credit_tables(opened, found):
                out.print(table, "")


def explain_command(
    name: Annotated[str, typer.Argument(help="ROLLOUT/STEP/COMMAND, such as r1/2/0, or r1/2.")],
    method: Annotated[str, typer.Option(help="A credit method.")] = "depgpo",
    parameters: SetOption = None,
    as_json: JsonOption = False,
    store: StoreOption = DEFAULT_STORE,
    log: LogOption = None,
) -> None:
    """Show the paths and the evidence that make a command's or a step's credit."""
    with reader(store, log) as opened:
        print_frame(explain(opened, name, method, **settings(parameters)), as_json=as_json)


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
    given = settings(parameters)
    with reader(store, log) as opened:
        if name.endswith(".cypher"):
            frame = _own_query(opened, Path(name), given)
        else:
            frame = ask(opened, name, **given)
    if as_parquet:
        write(frame.to_parquet(index=False), to)
    elif as_csv:
        write(frame.to_csv(index=False).encode(), to)
    elif to:
        write("".join(f"{line}\n" for line in json_lines(frame)).encode(), to)
    else:
        print_frame(frame, as_json=as_json)


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


def stats(
    group: GroupOption = None,
    as_json: JsonOption = False,
    store: StoreOption = DEFAULT_STORE,
    log: LogOption = None,
) -> None:
    """Show how active the dependency mechanism is, and how healthy each group is."""
    with reader(store, log) as opened:
        traces = trace_statistics(opened, group or ())
        groups = group_health(opened, group or ())
    if as_json:
        (row,) = records(traces)
        print(json.dumps({"trace_statistics": row, "group_health": records(groups)}))
        return
    values = traces.T.reset_index().set_axis(["statistic", "value"], axis=1)
    out.print(frame_table(values.astype(object), "traces"), "", frame_table(groups, "groups"))


def _own_query(store: Store, file: Path, given: dict[str, Any]) -> pd.DataFrame:
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise QueryError(f"{file}: cannot be read ({error.strerror})") from error
    return as_frame(store.query(text, given, timeout_s=QUERY_TIMEOUT_S))
