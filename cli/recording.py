"""The commands that run and record other commands."""

import sys
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from ..graph.errors import RecorderError
from ..ingest.recorder import (
    Recorder,
    Result,
    append_records,
    best_tracer,
    run_command,
    run_script,
)
from ..ingest.recorder import doctor as tracer_levels
from ..queries.show import frame_table
from .printing import err, out


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


def doctor() -> None:
    """Say how well commands can be traced on this machine, and what to install."""
    rows = pd.DataFrame(tracer_levels(), columns=["level", "found", "what to do"])
    out.print(frame_table(rows))
    raise typer.Exit(int(best_tracer().level == "sweep"))


def _show_result(result: Result) -> None:
    sys.stdout.write(result.stdout)
    sys.stdout.flush()
    sys.stderr.write(result.stderr)
    if result.timed_out:
        err.print("rollgraph: the command was killed: its time was up", style="yellow")
