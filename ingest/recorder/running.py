"""Running the commands of a session: in its shell or by themselves, until their end or a timeout.

What no trace tells, the ports and processes that are there before and after, /proc does.
"""

import os
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from .polling import descendants, listening_ports
from .recorded import RecordedCommand, Result
from .traced import TRACER_S, Shell, TracedProcess, Tracing, kill

KILL_ROUNDS = 100
LEAK_SANITIZER = "LeakSanitizer has encountered a fatal error"


class Runner:
    """The processes of a session, from the first command to the last."""

    def __init__(self, tracing: Tracing, marker: str, token: str, *, start: str) -> None:
        """Prepare; what is not traced is found by the token in its environment.

        `start` is the first working directory.
        """
        self.cwd = start
        """Where the next shell starts."""
        self._start, self._tracing, self._marker, self._token = start, tracing, marker, token
        self._pump, self._replay = tracing.pump, tracing.replay
        self._is_traced = tracing.tracer.level != "sweep"
        self._shell: Shell | None = None
        self._running: tuple[TracedProcess, set[int]] | None = None
        """The process that a command runs in, and untraced processes that are not its own."""

    @property
    def folder(self) -> str:
        """Where the next command of the shell starts."""
        return self._shell.cwd if self._shell else self.cwd

    def in_shell(self, recorded: RecordedCommand, timeout_s: float | None) -> Result:
        """Run a command in the session's shell."""
        self._running = None
        shell = self._ready_shell(recorded)
        ports, processes = set[int](), set[int]()
        if not self._is_traced:
            ports, processes = listening_ports(), set(descendants(shell.process.pid, self._token))
        self._running = shell, processes
        began = time.monotonic()
        shell.start(recorded.number, recorded.text)
        status = shell.finished(recorded.number, timeout_s)
        timed_out = status is None and shell.process.poll() is None and not shell.tracer_lost
        if timed_out:
            self._kill(recorded, shell, processes)
        recorded.ended = time.monotonic()
        if status is None:
            status = self._end_shell(recorded, shell)
        elif self._is_traced:
            self.wait_for_mark(recorded, shell)
        else:
            recorded.opened = listening_ports() - ports
            alive = descendants(shell.process.pid, self._token)
            recorded.started = {alive[pid] for pid in alive.keys() - processes}
        return self._result(recorded, shell, status, began, timed_out=timed_out)

    def by_itself(
        self, recorded: RecordedCommand, argv: Sequence[str], timeout_s: float | None
    ) -> Result:
        """Run a program by itself, in the command's folder."""
        self._running = None
        ports = set[int]() if self._is_traced else listening_ports()
        began = time.monotonic()
        place = os.path.join(recorded.cwd, argv[0]) if "/" in argv[0] else argv[0]
        if shutil.which(place, path=self._tracing.env.get("PATH")) is None:
            recorded.ended = began
            return Result("", f"{argv[0]}: no such program\n", 127, 0.0)
        process = TracedProcess(argv, self._tracing, cwd=recorded.cwd, command=recorded.number)
        self._running = process, set()
        timed_out = not process.wait(timeout_s)
        if timed_out:
            self._kill(recorded, process, set())
            process.wait(TRACER_S)
        recorded.ended = time.monotonic()
        if not self._is_traced:
            recorded.opened = listening_ports() - ports
        return self._result(recorded, process, process.status, began, timed_out=timed_out)

    def abandon(self, recorded: RecordedCommand) -> None:
        """Kill a command that is no longer waited for, and its shell; keep what it printed."""
        recorded.reasons.add("interrupted")
        if self._running is None:
            return
        process, spared = self._running
        self._kill(recorded, process, spared)
        began = recorded.started_at - time.time() + time.monotonic()
        recorded.ended = time.monotonic()
        if isinstance(process, Shell):
            self._end_shell(recorded, process)
        else:
            process.wait(TRACER_S)
        recorded.result = self._result(recorded, process, process.status, began, timed_out=False)

    def wait_for_mark(self, recorded: RecordedCommand, shell: TracedProcess) -> None:
        """Wait until the trace has been read up to the command's end."""
        with self._pump.changed:
            self._pump.changed.wait_for(
                lambda: self._replay.closed == recorded.number or shell.log_ended, TRACER_S
            )

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
            if any(isinstance(process, Shell) for process in self._tracing.processes):
                recorded.reasons.add("shell_restarted")
            places = (self.cwd, self._start, "/")
            recorded.cwd = next(place for place in places if Path(place).is_dir())
            self._shell = Shell(self._marker, self._tracing, cwd=recorded.cwd)
        return self._shell

    def _end_shell(self, recorded: RecordedCommand, shell: Shell) -> int | None:
        """Take leave of a shell that ended within a command, or hangs; the next is a new one."""
        if shell.process.poll() is None:
            kill([*descendants(shell.process.pid, self._token), shell.process.pid])
        shell.wait(TRACER_S)
        with self._pump.changed:
            if shell.log_ended and self._is_traced:
                self._replay.lose(recorded.number)
            else:
                self._replay.close_window()
        recorded.reasons.add("shell_ended")
        self.cwd, self._shell = shell.cwd, None
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
            if not self._is_traced:
                alive |= descendants(own, self._token).keys() - spared
            if not alive:
                return
            kill(sorted(alive))
            with self._pump.changed:
                self._pump.changed.wait(0.02)

    def close(self, commands: Iterable[int]) -> None:
        """End the shell and everything that these commands left running."""
        for _ in range(KILL_ROUNDS):
            with self._pump.changed:
                left = {part.pid for number in commands for part in self._replay.alive(number)}
            for process in self._tracing.processes:
                if process.process.poll() is None:
                    left |= {process.process.pid, *descendants(process.process.pid, self._token)}
            if not left:
                break
            kill(sorted(left))
            time.sleep(0.01)
        if self._shell:
            self._shell.close()
        self._pump.close()
