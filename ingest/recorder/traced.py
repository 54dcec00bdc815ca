"""Processes under the tracer: a command of its own, and a shell that lives as long as the session.

The tracer's lines come through a pipe that no path leads to, so no command can read them and no
disk can fill up with them.
"""

import os
import re
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fcntl import F_DUPFD_CLOEXEC, F_SETPIPE_SZ, fcntl
from typing import Self

from ...graph.errors import RecorderError
from .pump import Output, Pump
from .replay import Replay
from .script import complaints
from .strace_lines import LineReader
from .tracer import Tracer

LOG_PIPE_BYTES = 1 << 20
TRACER_S = 5.0
"""How long the tracer's lines may lag behind what they tell of."""
HIGH_FD = 100
"""The shell reports on a descriptor from here on, out of the way of scripts."""


@dataclass(frozen=True)
class Tracing:
    """What all processes of a session are started with."""

    tracer: Tracer
    pump: Pump
    replay: Replay
    env: Mapping[str, str]
    keeps: Callable[[bytes], bool]
    """Which absolute names of files matter; calls that only look at others are passed over."""
    output_limit: int
    """Bytes of each output of a command that are kept."""
    processes: list["TracedProcess"] = field(default_factory=list["TracedProcess"])
    """All that were started, whatever became of them."""


class TracedProcess:
    """A command under the tracer; what it prints and what its calls are goes to the pump."""

    def __init__(
        self,
        argv: Sequence[str],
        tracing: Tracing,
        *,
        cwd: str,
        command: int | None,
        stdin: int = subprocess.DEVNULL,
        pass_fds: Sequence[int] = (),
    ) -> None:
        """Start it; `command` None: it is the session's shell."""
        self._pump, self._replay = tracing.pump, tracing.replay
        self._reader = LineReader(tracing.keeps)
        self._limit = tracing.output_limit
        self.new_outputs()
        self.log_ended = tracing.tracer.level == "sweep"
        self.tracer_lost = False
        """Whether the tracer ended before the process."""
        self._is_traced = not self.log_ended
        self._keeper: int | None = None
        out, out_end = os.pipe2(os.O_CLOEXEC)
        err, err_end = os.pipe2(os.O_CLOEXEC)
        self._ends = {out: self._stdout_from(out), err: self._stderr_from(err)}
        with tempfile.TemporaryDirectory(prefix="rollgraph-") as folder, self._pump.changed:
            log = f"{folder}/log"
            if self._is_traced:
                self._open_log(log)
            try:
                self.process = subprocess.Popen(
                    tracing.tracer.command(argv, log),
                    cwd=cwd, env=tracing.env, stdin=stdin, stdout=out_end, stderr=err_end,
                    pass_fds=pass_fds, start_new_session=True,
                )  # fmt: skip
            except OSError:
                if self._keeper is not None:
                    os.close(self._keeper)
                raise
            finally:
                os.close(out_end)
                os.close(err_end)
                for fd, callback in self._ends.items():
                    self._pump.add(fd, callback)
            tracing.processes.append(self)
            self.root = self._replay.root(self.process.pid, cwd, command)
            # The name of the pipe goes with the folder, once the tracer has opened it.
            self._wait(lambda: self._keeper is None or self.process.poll() is not None, TRACER_S)
            if self._keeper is not None:
                self._opened(b"")

    @property
    def status(self) -> int | None:
        """The exit status, as a shell counts: 128 and the signal that killed it. None: it runs."""
        status = self.process.poll()
        return status if status is None or status >= 0 else 128 - status

    def new_outputs(self) -> None:
        """Begin to keep what is printed from now on."""
        self.stdout, self.stderr = Output(self._limit), Output(self._limit)

    def drain(self) -> None:
        """Within a callback of the pump: take in what has been printed until now."""
        for fd, callback in list(self._ends.items()):
            self._pump.drain(fd, callback)

    def wait(self, timeout_s: float | None) -> bool:
        """Wait for the end of the process, and of what the log says of it; whether it came."""
        with self._pump.changed:
            if not self._wait(lambda: self.process.poll() is not None, timeout_s):
                return False
            if self._is_traced:
                self._wait(lambda: not self.root.is_alive or self.log_ended, TRACER_S)
            self.drain()
        return True

    def _wait(self, is_done: Callable[[], bool], timeout_s: float | None) -> bool:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not is_done():
            if self._pump.failure:
                raise RecorderError("the recorder failed") from self._pump.failure
            left = 0.05 if deadline is None else min(0.05, deadline - time.monotonic())
            if left <= 0:
                return False
            self._pump.changed.wait(left)
        return True

    def _open_log(self, path: str) -> None:
        os.mkfifo(path, 0o600)
        log = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        # Without a writer the pipe would be at its end before the tracer has begun.
        self._keeper = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        with suppress(OSError):  # the size is a convenience; an administrator may limit it
            fcntl(log, F_SETPIPE_SZ, LOG_PIPE_BYTES)
        self._pump.add(log, self._opened)

    def _opened(self, data: bytes) -> None:
        if self._keeper is not None:
            os.close(self._keeper)
            self._keeper = None
        if data:
            for event in self._reader.feed(data):
                self._replay.apply(event)
        elif not self.log_ended:
            for event in self._reader.finish():
                self._replay.apply(event)
            self.log_ended = True
            self.tracer_lost = self.root.is_alive

    def _stdout_from(self, fd: int) -> Callable[[bytes], None]:
        return lambda data: self.stdout.feed(data) if data else self._end_of(fd)

    def _stderr_from(self, fd: int) -> Callable[[bytes], None]:
        return lambda data: self.stderr.feed(data) if data else self._end_of(fd)

    def _end_of(self, fd: int) -> None:
        """Forget a descriptor that is closed now: its number will be another file's."""
        self._ends.pop(fd, None)


class Shell(TracedProcess):
    """A bash that runs one command after the other, each between two marks in the trace.

    A mark is a test for a file that is not there. Commands get no input, and neither the pipe that
    they come by nor the one that their ends are reported on.
    """

    def __init__(self, marker: str, tracing: Tracing, *, cwd: str) -> None:
        """Start the shell."""
        self._marker = marker
        self._ended_with = _Ended(0, [0])
        self._reported = (0, 0)
        self._report = b""
        self.cwd = cwd
        commands, self._commands = os.pipe2(os.O_CLOEXEC)
        reports, low = os.pipe2(os.O_CLOEXEC)
        self._reports = fcntl(low, F_DUPFD_CLOEXEC, HIGH_FD)
        os.close(low)
        fd = self._reports
        super().__init__(
            ["bash", "--norc", "--noprofile", "-s"], tracing,
            cwd=cwd, command=None, stdin=commands, pass_fds=[fd],
        )  # fmt: skip
        os.close(commands)
        os.close(fd)
        self._pump.add(reports, self._take_report)

    def start(self, command: int, text: str) -> None:
        """Begin to run a command."""
        self.new_outputs()
        self._send(f"{self._before(command)}; {self._body(text)}\n{self._after(command)}")

    # The shell's own words run in subshells, which neither traps nor `set -x` and `$_` see. What
    # the last command ended with is there for this one: of a list, only the last member sets off
    # an ERR trap or ends the shell.

    def _before(self, command: int) -> str:
        mark = f"builtin test ! -e {self._marker}/B/{command}"
        first, *rest = self._ended_with.parts
        pipeline = [f"({mark}; builtin exit {first}) 2>/dev/null"]
        pipeline += [f"(builtin exit {part}) 2>/dev/null" for part in rest]
        negation = "! " if self._ended_with.is_negated else ""
        return f"{negation}{' | '.join(pipeline)}{' && :' if self._ended_with.status else ''}"

    def _body(self, text: str) -> str:
        """Let bash parse what it can as it stands; `eval` keeps a faulty text from ending it."""
        around = f"</dev/null {self._reports}>&-"
        group = f"{{ {text}\n}} {around}"
        is_whole = "\r" not in text and not complaints(f"{group}\n")
        return group if is_whole else f"builtin eval {shlex.quote(text)} {around}"

    def _after(self, command: int) -> str:
        values = f'{command} "$?" "${{PIPESTATUS[*]}} $SHELLOPTS" "${{PWD-}}"'
        return (
            f"(builtin printf '%s\\0%s\\0%s\\0%s\\0' {values} >&{self._reports}; "
            f"builtin test ! -e {self._marker}/E/{command}) 2>/dev/null"
        )

    def finished(self, command: int, timeout_s: float | None) -> int | None:
        """Wait for the command's end; its exit status, or None: time is up or the shell is gone."""
        with self._pump.changed:
            self._wait(
                lambda: self._reported[0] == command
                or self.process.poll() is not None or self.tracer_lost,
                timeout_s,
            )  # fmt: skip
            if self._reported[0] != command:
                return None
            return self._reported[1]

    def close(self) -> None:
        """Let the shell have no more commands."""
        os.close(self._commands)

    def _send(self, line: str) -> None:
        data = memoryview(line.encode("utf-8", "surrogateescape") + b"\n")
        with suppress(BrokenPipeError):  # the shell has ended, which `finished` tells
            while data:
                data = data[os.write(self._commands, data) :]

    def _take_report(self, data: bytes) -> None:
        self._report += data
        while self._report.count(b"\0") >= 4:
            command, status, statuses, cwd, self._report = self._report.split(b"\0", 4)
            self.drain()
            self._reported = int(command), int(status)
            self._ended_with = _Ended.of(int(status), statuses)
            self.cwd = os.fsdecode(cwd) or self.cwd


@dataclass(frozen=True)
class _Ended:
    """What the last command ended with: its status, and that of each part of its last pipeline."""

    status: int
    parts: list[int]
    is_negated: bool = False

    @classmethod
    def of(cls, status: int, told: bytes) -> Self:
        """Read PIPESTATUS and SHELLOPTS; where they do not make the status, it is by itself."""
        parts = [int(number) for number in re.findall(rb"\d+", told)] or [status]
        failed = [part for part in parts if part] if b"pipefail" in told else parts[-1:]
        made = failed[-1] if failed else 0
        if status == made:
            return cls(status, parts)
        if status == int(not made):
            return cls(status, parts, is_negated=True)
        return cls(status, [status])


def kill(pids: Iterable[int]) -> None:
    """Kill processes, those that are gone already aside."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
