"""The recorder: what every command of a rollout really read, wrote, printed and opened.

with Recorder("fix-config", work_roots=["/app"]) as rec:
    rec.run("sed -i 's/80/8443/' gateway.conf", timeout_s=120)
    rec.verify("bash tests/test.sh")
    record = rec.rollout()
"""

import json
import os
import secrets
import time
import uuid
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ...graph.errors import RecorderError
from ...graph.parsing import parse_record
from .attribution import attribute
from .contents import Contents
from .pump import Output, Pump
from .recorded import RecordedCommand, Result, Scope, as_text
from .replay import Replay
from .reward import reward_of
from .roots import WorkRoots, expect_folder
from .running import Runner
from .terminal import Terminal
from .traced import Tracing
from .tracer import Level, best_tracer, tracer_at

OUTPUT_LIMIT = 1 << 20
"""Bytes of each output of a command that are kept: half from its head, half from its tail."""
OUTLIVES_S = 1.0
"""A process that goes on for so long after its command's end was started to stay."""


class Recorder:
    """Records one rollout: commands that run one after the other, then the verifier."""

    def __init__(
        self,
        task: str,
        *,
        work_roots: Sequence[str | Path],
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        level: Level | None = None,
        output_limit: int = OUTPUT_LIMIT,
    ) -> None:
        """Begin, and read the files of the work roots.

        Args:
            task: The task's id.
            work_roots: Existing folders; what lies outside them is noise.
            cwd: Where commands start; the first work root where not given.
            env: The environment of commands; this process's where not given.
            level: How to trace; the best that this machine gives where not given.
            output_limit: Bytes of each output of a command that are kept.

        Raises RecorderError where a work root is no folder.

        """
        self.task = task
        self._roots = WorkRoots.of(work_roots)
        self._start = os.path.abspath(expect_folder(cwd)) if cwd else self._roots.given[0]
        self.tracer = tracer_at(level) if level else best_tracer()
        self._contents = Contents(self._roots.outermost)
        self._scope = Scope(self.tracer, self._roots, self._contents)
        self._pump = Pump()
        self._token = f"rollgraph-{secrets.token_hex(8)}"
        self._marker = f"/.{self._token}"
        self._replay = Replay(self._marker)
        environment = dict(os.environ if env is None else env)
        if not self._scope.is_traced:  # else the trace tells whose a process is
            environment["ROLLGRAPH_SESSION"] = self._token
        matter = self._roots.prefixes
        matter += (b"/proc/", b"/dev/fd/", os.fsencode(f"{self._marker}/"))
        self._tracing = Tracing(
            self.tracer, self._pump, self._replay, environment,
            keeps=lambda name: (name + b"/").startswith(matter), output_limit=output_limit,
        )  # fmt: skip
        self._runner = Runner(self._tracing, self._marker, self._token, start=self._start)
        self._commands: dict[int, RecordedCommand] = {}
        self._steps: list[tuple[dict[str, Any], list[int]]] = []
        """Each step's own fields, and the numbers of its commands."""
        self._step_is_open = False
        self._verifier: RecordedCommand | None = None
        self._reward: float | None = None
        self._shadowed: set[str] = set()
        self._between: set[str] = set()
        self._is_closed = False

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it; what was recorded can still be read."""
        self.close()

    def step(self, **fields: Any) -> None:
        """Begin a step: the commands that follow are its own, up to the next call.

        `fields` are keys of a step of the rollout format, such as `response`, `observation` or
        `tokens`. Without this call each command is a step of its own.
        """
        self._steps.append((fields, []))
        self._step_is_open = True

    def run(self, command: str | Sequence[str], *, timeout_s: float | None = None) -> Result:
        """Run a command and record it.

        A text runs in the session's shell, which keeps its working directory, variables and
        background processes; a list of arguments runs by itself. At the timeout, the command's
        whole process tree is killed, and what was recorded stays.

        Raises RecorderError after the verifier has run, or on a text that no shell can be given.
        """
        self._check_open()
        text = command if isinstance(command, str) else " ".join(command)
        if "\0" in text:
            raise RecorderError("command: a NUL character cannot be given to a shell")
        self._between |= self._look(None)
        recorded = self._begin(text, self._runner.folder)
        if not self._step_is_open:
            self._steps.append(({}, []))
        self._steps[-1][1].append(recorded.number)
        with self._kept(recorded):
            if isinstance(command, str):
                result = self._runner.in_shell(recorded, timeout_s)
            else:
                result = self._runner.by_itself(recorded, list(command), timeout_s)
        self._end(recorded, result)
        return result

    def terminal(self) -> None:
        """Give the user's terminal a bash, and record each of its commands as a step.

        Returns when that shell ends. What a command prints is one text, since a terminal has one.
        """
        current: list[RecordedCommand] = []

        def begun(text: str, cwd: str, at: float) -> None:
            self.step(action=as_text(text))
            current[:] = [self._begin(text, cwd)]
            current[0].started_at = at
            self._steps[-1][1].append(current[0].number)

        def ended(status: int | None, cwd: str, output: Output) -> None:
            (recorded,) = current
            self._runner.cwd, recorded.ended = cwd, time.monotonic()
            if self._scope.is_traced:
                self._runner.wait_for_mark(recorded, terminal.process)
            duration_s = time.time() - recorded.started_at
            if output.left_out:
                recorded.left_out = {"stdout": output.left_out}
            self._end(recorded, Result(output.text(), "", status, duration_s))

        terminal = Terminal(
            self._marker, self._tracing, cwd=self._runner.cwd, begun=begun, ended=ended
        )
        terminal.run()

    def verify(self, command: str, *, timeout_s: float | None = None) -> Result:
        """Run the verifier in a shell of its own, and take the reward from it.

        The reward is 1 for exit status 0 and else 0, or what the verifier writes to a file
        `reward.txt` (a number) or `reward.json` (a number, or an object with the key `reward`).
        Files that were put into the work roots since the last command are marked as shadowed.
        Background processes of the session stay alive. Raises RecorderError if it ran before.
        """
        self._check_open()
        self._settle()
        self._shadowed = set(map(self._roots.as_given, self._look(None, must_sweep=True)))
        recorded = self._verifier = self._begin(command, self._start)
        with self._kept(recorded):
            result = self._runner.by_itself(recorded, ["bash", "-c", command], timeout_s)
        self._end(recorded, result)
        touched = self._replay.of(recorded.number)
        self._reward, doubt = reward_of(result, {*touched.ever_changed, *recorded.writes})
        recorded.reasons |= {doubt} - {""}
        if not self._scope.is_traced:  # no record rather than one that inspected nothing
            recorded.reasons.add("not_traced")
        return result

    def _check_open(self) -> None:
        if self._verifier or self._is_closed:
            raise RecorderError("the rollout is over: its verifier has run, or it is closed")

    def _begin(self, text: str, cwd: str) -> RecordedCommand:
        number = len(self._commands) + 1
        self._commands[number] = RecordedCommand(number, text, cwd, time.time())
        return self._commands[number]

    @contextmanager
    def _kept(self, recorded: RecordedCommand) -> Generator[None]:
        """Keep what a command did until an exception, such as Ctrl-C, which ends it."""
        try:
            yield
        except BaseException:
            self._runner.abandon(recorded)
            self._look(recorded)
            raise

    # What became of the files.

    def _end(self, recorded: RecordedCommand, result: Result) -> None:
        recorded.result = result
        self._look(recorded)

    def _look(self, recorded: RecordedCommand | None, *, must_sweep: bool = False) -> set[str]:
        """Compare the work roots with the last look; what nobody of the rollout changed.

        After a command: what no trace tells of is its own. None: none has begun.
        """
        number = recorded.number if recorded else None
        with self._pump.changed:
            doubts = recorded.reasons | self._replay.of(recorded.number).reasons if recorded else ()
            changes = attribute(
                self._contents,
                self._replay.touched,
                current=number,
                sweep=must_sweep or self._contents.is_swept or bool(doubts),
                is_traced=self._scope.is_traced,
            )
        nobodys: set[str] = set()
        for found in changes:
            if found.command is None:
                nobodys.add(found.change.path)
                continue
            command = self._commands[found.command]
            command.reasons |= {found.reason} - {""}
            for name in found.names:
                if self._roots.keeps(name):
                    command.take(self._roots.as_given(name), found.change)
        return nobodys

    def _settle(self) -> None:
        """Note the processes that outlived their commands."""
        if self._is_closed:
            return
        with self._pump.changed:
            for command in self._commands.values():
                if command.ended is not None:
                    command.started |= {
                        process.program
                        for process in self._replay.of(command.number).processes
                        if process.outlives(command.ended, OUTLIVES_S)
                    }

    # The record.

    def rollout(self, **fields: Any) -> dict[str, Any]:
        """Return the rollout as a record of the rollout format.

        `fields` are further keys of a rollout, such as `id`, `group`, `slot`, `policy` or
        `reward`; the id is a new one where not given. Raises RecordError if they are not valid.
        """
        self._settle()
        of = self._replay.of
        record: dict[str, Any] = {
            "type": "rollout",
            "id": f"{self.task}/{uuid.uuid4().hex[:12]}",
            "task": self.task,
            "steps": [
                step
                | {"commands": [self._scope.command(self._commands[n], of(n)) for n in numbers]}
                for step, numbers in self._steps
            ],
        }
        if self._reward is not None:
            record["reward"] = self._reward
        if self._verifier and self._scope.is_traced:
            opened = {port for number in self._commands for port in of(number).opened}
            record["verifier"] = self._scope.verifier(
                self._verifier, of(self._verifier.number), opened, self._shadowed
            )
        doubts = self._verifier and self._scope.fidelity(self._verifier, of(self._verifier.number))
        about = self._scope.about(doubts, self._between)
        about = {"recorder": about, **fields.pop("metadata", {})}
        record |= {"metadata": about, **fields}
        parse_record(json.dumps(record))
        return record

    def close(self) -> None:
        """End the shell and everything that the commands left running."""
        if self._is_closed:
            return
        self._settle()
        self._is_closed = True
        self._runner.close(self._commands)
