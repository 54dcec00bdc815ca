"""A bash in the user's own terminal, whose commands are recorded one by one.

The shell marks each command three times: in the trace, as every recorded shell does; in what it
prints, by an escape sequence that is taken out before the user's terminal sees it; and on a pipe,
with the command's text. After each command it waits until the recorder has looked at the files.
"""

import fcntl
import os
import pty
import re
import select
import signal
import sys
import tempfile
import termios
import tty
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from .pump import Output
from .traced import TracedProcess, Tracing, kill

_MARK = re.compile(rb"\x1b\]6973;(begin|end)\x07")
_PART_OF_MARK = re.compile(rb"\x1b(?:\][0-9;a-z]{0,10})?$")

OUTPUT_S = 2.0
"""How long a command's output may lag behind its end."""

_RC = r"""
[ -f ~/.bashrc ] && . ~/.bashrc
unset HISTFILE HISTCONTROL HISTIGNORE
shopt -s cmdhist lithist
set -o history
_rollgraph_n=0 _rollgraph_told=0
_rollgraph_begin() {
  local began=$EPOCHREALTIME
  [ ! -e MARKER/B/$_rollgraph_n ]
  local text=$(HISTTIMEFORMAT= builtin history 1)
  text=${text#"${text%%[![:space:]]*}"} && text=${text#*[[:space:]]}
  text=${text#"${text%%[![:space:]]*}"}
  builtin printf 'B\0%s\0%s\0%s\0%s\0' "$_rollgraph_n" "$text" "$PWD" "$began" >&REPORTS
}
_rollgraph_end() {
  local status=$?
  [ "$_rollgraph_n" = "$_rollgraph_told" ] && return $status
  _rollgraph_told=$_rollgraph_n
  [ ! -e MARKER/E/$_rollgraph_n ]
  builtin printf '\e]6973;end\a'
  builtin printf 'E\0%s\0%s\0%s\0\0' "$_rollgraph_n" "$status" "$PWD" >&REPORTS
  local answer
  read -r -u ANSWERS answer
  return $status
}
PS0='${HOME:$((_rollgraph_n += 1, 0)):0}\e]6973;begin\a$(_rollgraph_begin)'
PROMPT_COMMAND="_rollgraph_end${PROMPT_COMMAND:+; $PROMPT_COMMAND}"
"""


Begun = Callable[[str, str, float], None]
"""Called with a command's text, working directory and Unix time, when the shell has begun it."""
Ended = Callable[[int | None, str, Output], None]
"""Called with its exit status, the shell's working directory and what it printed; the shell waits.
"""


class Terminal:
    """The shell, between the user's terminal and its own."""

    def __init__(
        self, marker: str, tracing: Tracing, *, cwd: str, begun: Begun, ended: Ended
    ) -> None:
        """Prepare the shell; `run` starts it."""
        self._tracing, self._cwd = tracing, cwd
        self._begun, self._ended, self._pump = begun, ended, tracing.pump
        self._limit = tracing.output_limit
        self._output: Output | None = None
        self._finished = Output(0)
        self._ends = 0
        """Commands whose whole output has been seen."""
        self._unread = b""
        self._report = b""
        self._events: list[list[bytes]] = []
        self._running: str | None = None
        """The working directory of the command that has begun."""
        self._master, self._slave = pty.openpty()
        self._told, self._reports = os.pipe2(0)
        self._answers, self._answer = os.pipe2(0)
        self._wakes, self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        # The shell reads its commands in its own time: they stay until it ends.
        self._rc = tempfile.NamedTemporaryFile("w", prefix="rollgraph-")  # noqa: SIM115
        text = _RC.replace("MARKER", marker).replace("REPORTS", str(self._reports))
        self._rc.write(text.replace("ANSWERS", str(self._answers)))
        self._rc.flush()

    def run(self) -> None:
        """Pass on what the user types until the shell ends."""
        user = sys.stdin.fileno()
        is_open = True
        try:
            with _raw(user), _resized(user, self._slave):
                self._start()
                while self.process.process.poll() is None:
                    ready, _, _ = select.select(
                        [self._wakes, *([user] if is_open else [])], [], [], 0.2
                    )
                    if user in ready:
                        typed = os.read(user, 1024)
                        is_open = bool(typed)
                        self._type(typed or b"\x04")
                    if self._wakes in ready:
                        os.read(self._wakes, 4096)
                    self._record()
        finally:
            self._finish()

    def _finish(self) -> None:
        """Record what is left, whether the shell has ended or is left alone by an exception."""
        kill([self.process.process.pid] if self.process.process.poll() is None else [])
        self.process.wait(1.0)
        self._record()
        if self._running:  # the command that ended the shell
            self._ended(self.process.status, self._running, self._output or Output(self._limit))
        for fd in (self._slave, self._master, self._answer, self._wakes, self._wake):
            os.close(fd)
        self._rc.close()

    def _type(self, keys: bytes) -> None:
        while keys:
            select.select([], [self._master], [], 0.2)
            with suppress(BlockingIOError):  # the shell is busy, and its terminal full
                keys = keys[os.write(self._master, keys) :]

    def _start(self) -> None:
        # A leader of a session that opens a terminal gets it as its own.
        open_it = 'exec bash --rcfile "$1" -i <> "$2" >&0 2>&0'
        self.process = TracedProcess(
            ["bash", "-c", open_it, "bash", self._rc.name, os.ttyname(self._slave)],
            self._tracing, cwd=self._cwd, command=None, pass_fds=[self._reports, self._answers],
        )  # fmt: skip
        os.close(self._reports)
        os.close(self._answers)
        self._tracing.pump.add(os.dup(self._master), self._print)
        self._tracing.pump.add(self._told, self._take_report)

    def _record(self) -> None:
        while self._events:
            kind, number, text, cwd, began = self._events.pop(0)
            folder = os.fsdecode(cwd)
            if kind == b"B":
                if self._running:  # its end was not told: the user changed PROMPT_COMMAND
                    self._ended(None, folder, self._finished)
                self._running = folder
                self._begun(os.fsdecode(text), folder, float(began.replace(b",", b".")))
                continue
            with self._pump.changed:
                self._pump.changed.wait_for(lambda n=int(number): self._ends >= n, OUTPUT_S)
            self._running = None
            self._ended(int(text), folder, self._finished)
            os.write(self._answer, b"\n")

    # Callbacks of the pump.

    def _print(self, data: bytes) -> None:
        """Show what the shell and its commands print, and keep what the commands do."""
        waiting = self._unread + data
        part = _PART_OF_MARK.search(waiting) if data else None
        end = part.start() if part else len(waiting)
        self._unread, waiting = waiting[end:], waiting[:end]
        at = 0
        for mark in _MARK.finditer(waiting):
            self._show(waiting[at : mark.start()])
            at = mark.end()
            if mark[1] == b"begin":
                self._finished = self._output or self._finished
                self._output = Output(self._limit)
            elif self._output:
                self._finished, self._output = self._output, None
                self._ends += 1
        self._show(waiting[at:])

    def _show(self, data: bytes) -> None:
        if self._output:
            self._output.feed(data)
        while data:
            data = data[os.write(sys.stdout.fileno(), data) :]

    def _take_report(self, data: bytes) -> None:
        self._report += data
        while self._report.count(b"\0") >= 5:
            *event, self._report = self._report.split(b"\0", 5)
            self._events.append(event)
            with suppress(BlockingIOError):
                os.write(self._wake, b".")


@contextmanager
def _raw(fd: int) -> Generator[None]:
    """Let every key through."""
    before = termios.tcgetattr(fd)
    tty.setraw(fd, termios.TCSADRAIN)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


@contextmanager
def _resized(user: int, slave: int) -> Generator[None]:
    """Give the shell's terminal the size of the user's, whenever it changes."""

    def resize(*_: object) -> None:
        size = fcntl.ioctl(user, termios.TIOCGWINSZ, b"\0" * 8)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, size)

    resize()
    before: Callable[..., object] | int | None = signal.signal(signal.SIGWINCH, resize)
    try:
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)
