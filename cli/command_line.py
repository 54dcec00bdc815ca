"""The command line: which commands there are, and what an error looks like."""

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from ..graph import RollgraphError
from .demo import demo
from .games import play_games
from .printing import complain
from .questions import credit_rollouts, explain_command, list_queries, run_query, stats
from .recording import doctor, record_session
from .stores import export_records, ingest_files, rebuild_graph, schema

app = typer.Typer(
    help="Which steps of these rollouts mattered, and did training learn from them?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
_debug = False


def main() -> None:
    """Run the command line: a RollgraphError is one line on stderr, and status 2."""
    try:
        app()
    except (RollgraphError, OSError) as error:
        if _debug:
            raise
        complain(error)
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


for _name, _command in {
    "ingest": ingest_files,
    "record": record_session,
    "doctor": doctor,
    "credit": credit_rollouts,
    "explain": explain_command,
    "query": run_query,
    "queries": list_queries,
    "stats": stats,
    "schema": schema,
    "export": export_records,
    "rebuild": rebuild_graph,
    "play": play_games,
    "demo": demo,
}.items():
    app.command(_name)(_command)
