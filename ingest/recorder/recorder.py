"""The recorder: what every command of a rollout really read, wrote, printed and opened.

with Recorder("fix-config", work_roots=["/app"]) as rec:
    rec.run("sed -i 's/80/8443/' gateway.conf", timeout_s=120)
    rec.verify("bash tests/test.sh")
    record = rec.rollout()
"""

import json
import os
import secrets
import shutil
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ...graph.errors import RecorderError
from ...graph.parsing import parse_record
from ..paths import PathFilter
from .attribution import attribute
from .contents import Contents
from .polling import descendants, listening_ports
from .pump import Output, Pump
from .recorded import RecordedCommand, Result, Scope, as_text
from .replay import Replay
from .reward import reward_of
from .terminal import Terminal
from .traced import TRACER_S, Shell, TracedProcess, Tracing, kill
from .tracer import Level, best_tracer, tracer_at

OUTPUT_LIMIT = 1 << 20
"""Bytes of each output of a command that are kept: half from its head, half from its tail."""
OUTLIVES_S = 1.0
"""A process that goes on for so long after its command's end was started to stay."""
KILL_ROUNDS = 100
LEAK_SANITIZER = "LeakSanitizer has encountered a fatal error"


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
        if not work_roots:
            raise RecorderError("work_roots: expected at least one folder, found none")
        for root in (*work_roots, *([cwd] if cwd else [])):
            if not Path(root).is_dir():
                raise RecorderError(f"{root}: expected a folder, found none")
        self.task = task
        self.tracer = tracer_at(level) if level else best_tracer()
        given = [os.path.abspath(root) for root in work_roots]
        real = [os.path.realpath(root) for root in given]
        self._work_roots = given
        self._start = self._cwd = os.path.abspath(cwd) if cwd else given[0]
        self._contents = Contents(_outermost(real))
        keep = PathFilter(work_roots=tuple(dict.fromkeys([*given, *real])))
        links = {real: root for root, real in zip(given, real, strict=True) if real != root}
        self._scope = Scope(self.tracer.level, keep, self._contents, links)
        self._pump = Pump()
        self._token = f"rollgraph-{secrets.token_hex(8)}"
        self._marker = f"/.{self._token}"
        self._replay = Replay(self._marker)
        environment = dict(os.environ if env is None else env)
        if not self._scope.is_traced:  # else the trace tells whose a process is
            environment["ROLLGRAPH_SESSION"] = self._token
        matter = tuple(os.fsencode(f"{root.rstrip('/')}/") for root in [*given, *real])
        matter += (b"/proc/", b"/dev/fd/", os.fsencode(f"{self._marker}/"))
        self._tracing = Tracing(
            self.tracer,
            self._pump,
            self._replay,
            environment,
            keeps=lambda name: (name + b"/").startswith(matter),
            output_limit=output_limit,
        )
        self._shell: Shell | None = None
        self._processes: list[TracedProcess] = []
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
        """Close it."""
        self.close()

    # Running.

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
        recorded = self._begin(text, self._shell.cwd if self._shell else self._cwd)
        if not self._step_is_open:
            self._steps.append(({}, []))
        self._steps[-1][1].append(recorded.number)
        if isinstance(command, str):
            result = self._in_shell(recorded, timeout_s)
        else:
            result = self._by_itself(recorded, list(command), timeout_s)
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
            self._cwd, recorded.ended = cwd, time.monotonic()
            if self._scope.is_traced:
                self._wait_for_mark(recorded, terminal.process)
            duration_s = time.time() - recorded.started_at
            if output.left_out:
                recorded.left_out = {"stdout": output.left_out}
            self._end(recorded, Result(output.text(), "", status, duration_s))

        terminal = Terminal(self._marker, self._tracing, cwd=self._cwd, begun=begun, ended=ended)
        terminal.run()
        self._processes.append(terminal.process)

    def verify(self, command: str, *, timeout_s: float | None = None) -> Result:
        """Run the verifier in a shell of its own, and take the reward from it.

        The reward is 1 for exit status 0 and else 0, or what the verifier writes to a file
        `reward.txt` (a number) or `reward.json` (a number, or an object with the key `reward`).
        Files that were put into the work roots since the last command are marked as shadowed.
        Background processes of the session stay alive. Raises RecorderError if it ran before.
        """
        self._check_open()
        self._settle()
        self._shadowed = set(map(self._scope.as_given, self._look(None, must_sweep=True)))
        recorded = self._verifier = self._begin(command, self._start)
        result = self._by_itself(recorded, ["bash", "-c", command], timeout_s)
        self._end(recorded, result)
        touched = self._replay.of(recorded.number)
        self._reward, doubt = reward_of(result, {*touched.ever_changed, *recorded.writes})
        recorded.reasons |= {doubt} - {""}
        return result

    def _check_open(self) -> None:
        if self._verifier or self._is_closed:
            raise RecorderError("the rollout is over: its verifier has run, or it is closed")

    def _begin(self, text: str, cwd: str) -> RecordedCommand:
        number = len(self._commands) + 1
        self._commands[number] = RecordedCommand(number, text, cwd, time.time())
        return self._commands[number]

    def _in_shell(self, recorded: RecordedCommand, timeout_s: float | None) -> Result:
        shell = self._ready_shell(recorded)
        is_traced = self._scope.is_traced
        ports = set[int]() if is_traced else listening_ports()
        processes = set[int]() if is_traced else set(descendants(shell.process.pid, self._token))
        began = time.monotonic()
        shell.start(recorded.number, recorded.text)
        status = shell.finished(recorded.number, timeout_s)
        timed_out = status is None and shell.process.poll() is None and not shell.tracer_lost
        if timed_out:
            self._kill(recorded, shell, processes)
        recorded.ended = time.monotonic()
        if status is None:
            status = self._end_shell(recorded, shell)
        elif is_traced:
            self._wait_for_mark(recorded, shell)
        else:
            recorded.opened = listening_ports() - ports
            alive = descendants(shell.process.pid, self._token)
            recorded.started = {alive[pid] for pid in alive.keys() - processes}
        return self._result(recorded, shell, status, began, timed_out=timed_out)

    def _wait_for_mark(self, recorded: RecordedCommand, shell: TracedProcess) -> None:
        """Wait until the trace has been read up to the command's end."""
        with self._pump.changed:
            self._pump.changed.wait_for(
                lambda: self._replay.closed == recorded.number or shell.log_ended, TRACER_S
            )

    def _by_itself(
        self, recorded: RecordedCommand, argv: Sequence[str], timeout_s: float | None
    ) -> Result:
        ports = set[int]() if self._scope.is_traced else listening_ports()
        began = time.monotonic()
        place = os.path.join(recorded.cwd, argv[0]) if "/" in argv[0] else argv[0]
        if shutil.which(place, path=self._tracing.env.get("PATH")) is None:
            recorded.ended = began
            return Result("", f"{argv[0]}: no such program\n", 127, 0.0)
        process = TracedProcess(argv, self._tracing, cwd=recorded.cwd, command=recorded.number)
        self._processes.append(process)
        timed_out = not process.wait(timeout_s)
        if timed_out:
            self._kill(recorded, process, set())
            process.wait(TRACER_S)
        recorded.ended = time.monotonic()
        if not self._scope.is_traced:
            recorded.opened = listening_ports() - ports
        return self._result(recorded, process, process.status, began, timed_out=timed_out)

    def _result(
        self,
        recorded: RecordedCommand,
        process: TracedProcess,
        status: int | None,
        began: float,
        *,
        timed_out: bool,
    ) -> Result:
        with self._pump.changed:
            outputs = {"stdout": process.stdout, "stderr": process.stderr}
            texts = {name: output.text() for name, output in outputs.items()}
            recorded.left_out = {
                name: output.left_out for name, output in outputs.items() if output.left_out
            }
        duration_s = (recorded.ended or began) - began
        if LEAK_SANITIZER in texts["stderr"]:
            recorded.reasons.add("lsan_under_ptrace")
        if process.tracer_lost:
            recorded.reasons.add("tracer_lost")
        if timed_out:
            recorded.reasons.add("timed_out")
        return Result(**texts, exit_code=status, duration_s=duration_s, timed_out=timed_out)

    def _ready_shell(self, recorded: RecordedCommand) -> Shell:
        if self._shell is None:
            if any(isinstance(process, Shell) for process in self._processes):
                recorded.reasons.add("shell_restarted")
            places = (self._cwd, self._start, "/")
            recorded.cwd = next(place for place in places if Path(place).is_dir())
            self._shell = Shell(self._marker, self._tracing, cwd=recorded.cwd)
            self._processes.append(self._shell)
        return self._shell

    def _end_shell(self, recorded: RecordedCommand, shell: Shell) -> int | None:
        """Take leave of a shell that ended within a command, or hangs; the next is a new one."""
        if shell.process.poll() is None:
            kill([*descendants(shell.process.pid, self._token), shell.process.pid])
        shell.wait(TRACER_S)
        with self._pump.changed:
            if shell.log_ended and self._scope.is_traced:
                self._replay.lose(recorded.number)
            else:
                self._replay.close_window()
        recorded.reasons.add("shell_ended")
        self._cwd, self._shell = shell.cwd, None
        shell.close()
        return shell.status

    def _kill(self, recorded: RecordedCommand, process: TracedProcess, spared: set[int]) -> None:
        """Kill what the command started, again and again until nothing is left of it.

        The shell goes first: it would run the rest of the command.
        """
        own = process.process.pid
        kill([own])
        for _ in range(KILL_ROUNDS):
            with self._pump.changed:
                alive = {part.pid for part in self._replay.alive(recorded.number)}
            if not self._scope.is_traced:
                alive |= descendants(own, self._token).keys() - spared
            if not alive:
                return
            kill(sorted(alive))
            with self._pump.changed:
                self._pump.changed.wait(0.02)

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
                if self._scope.keep.keeps(name):
                    command.take(self._scope.as_given(name), found.change)
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
        about = {"recorder": self._about(), **fields.pop("metadata", {})}
        record |= {"metadata": about, **fields}
        parse_record(json.dumps(record))
        return record

    def _about(self) -> dict[str, Any]:
        about: dict[str, Any] = {
            "level": self.tracer.level,
            "strace": self.tracer.version,
            "work_roots": [as_text(root) for root in self._work_roots],
        }
        if self._verifier:
            touched = self._replay.of(self._verifier.number)
            about["verifier"] = self._scope.fidelity(self._verifier, touched)
        if self._between:
            about["changed_between_commands"] = sorted(map(as_text, self._between))
        return about

    def close(self) -> None:
        """End the shell and everything that the commands left running."""
        if self._is_closed:
            return
        self._settle()
        self._is_closed = True
        for _ in range(KILL_ROUNDS):
            with self._pump.changed:
                left = {
                    part.pid for number in self._commands for part in self._replay.alive(number)
                }
            for process in self._processes:
                if process.process.poll() is None:
                    left |= {process.process.pid, *descendants(process.process.pid, self._token)}
            if not left:
                break
            kill(sorted(left))
            time.sleep(0.01)
        if self._shell:
            self._shell.close()
        self._pump.close()


def _outermost(roots: Sequence[str]) -> list[str]:
    """Leave out what lies within another root."""
    unique = list(dict.fromkeys(roots))
    return [
        root
        for root in unique
        if not any(PathFilter(work_roots=(other,)).keeps(root) for other in unique if other != root)
    ]
