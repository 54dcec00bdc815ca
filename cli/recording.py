"""The commands that run and record other commands."""

import signal
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
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
    lines = _lines(script) if script else sys.stdin
    with (
        Recorder(task, work_roots=[str(root) for root in work_root]) as recorder,
        _appended(recorder, to, group=group, description=description),
    ):
        if script or (command == ["bash"] and not sys.stdin.isatty()):
            run_script(recorder, lines, timeout_s=timeout, on_result=_show_result)
        elif command == ["bash"]:
            recorder.terminal()
        else:
            run_command(recorder, command or [], timeout_s=timeout, on_result=_show_result)
        if verifier:
            _show_result(recorder.verify(verifier, timeout_s=timeout))


def doctor() -> None:
    """Say how well commands can be traced on this machine, and what to install."""
    rows = pd.DataFrame(tracer_levels(), columns=["level", "found", "what to do"])
    out.print(frame_table(rows))
    raise typer.Exit(int(best_tracer().level == "sweep"))


def _lines(script: Path) -> Iterable[str]:
    try:
        text = script.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise RecorderError(f"{script}: cannot be read ({error.strerror})") from error
    return (f"{line}\n" for line in text.split("\n"))


@contextmanager
def _appended(
    recorder: Recorder, to: Path, *, group: str | None, description: str | None
) -> Generator[None]:
    """Append the rollout to a file at the end, even where an error or a signal brings it."""

    def append() -> None:
        rollout = recorder.rollout(**({"group": group} if group else {}))
        about = {"type": "task", "id": recorder.task, "description": description}
        append_records(to, [about, rollout] if description else [rollout])
        reward = f", reward {rollout['reward']:g}" if "reward" in rollout else ""
        err.print(
            f"{to}: {rollout['id']}, {len(rollout['steps'])} steps{reward}; "
            f"level {recorder.tracer.level}", markup=False, highlight=False, soft_wrap=True,
        )  # fmt: skip

    def stop(number: int, _: object) -> None:
        sys.exit(128 + number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    except BaseException:
        if recorder.rollout()["steps"]:
            append()
        raise
    finally:
        for number, action in before.items():
            signal.signal(number, action)
    append()


def _show_result(result: Result) -> None:
    sys.stdout.write(result.stdout)
    sys.stdout.flush()
    sys.stderr.write(result.stderr)
    if result.timed_out:
        err.print("rollgraph: the command was killed: its time was up", style="yellow")
