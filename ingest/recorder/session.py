"""A whole session to a file: the commands of a script, or one command, then the verifier."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...graph.errors import RecorderError
from .recorded import as_text
from .recorder import Recorder, Result
from .script import complete_commands


def run_script(
    recorder: Recorder,
    lines: Iterable[str],
    *,
    timeout_s: float | None = None,
    on_result: Callable[[Result], None] = lambda _: None,
) -> None:
    """Run every complete command of a script's lines in the recorder's shell, one step each."""
    for text in complete_commands(lines):
        recorder.step(action=as_text(text))
        on_result(recorder.run(text, timeout_s=timeout_s))


def run_command(
    recorder: Recorder,
    argv: Sequence[str],
    *,
    timeout_s: float | None = None,
    on_result: Callable[[Result], None] = lambda _: None,
) -> None:
    """Run one command by itself, as a step."""
    recorder.step(action=as_text(" ".join(argv)))
    on_result(recorder.run(argv, timeout_s=timeout_s))


def append_records(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Append records to a rollout file; on an error the file is as it was.

    Raises RecorderError where it cannot be written.
    """
    data = "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records).encode()
    try:
        with open(path, "ab") as file:
            size = file.tell()
            try:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                os.ftruncate(file.fileno(), size)
                raise
    except OSError as error:
        raise RecorderError(f"{path}: cannot be written ({error.strerror})") from error
