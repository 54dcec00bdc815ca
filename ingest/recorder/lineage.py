"""Whose calls they are: the session's processes, and the command that each works for.

A process belongs to the command in whose window it, or the first of its ancestors below the shell,
was started; so a server that outlives its command goes on working for that command. The shell
itself works for the command that it is running.
"""

import re
import time

from .names import UnknownDirectoryError, named
from .processes import Process, Touched
from .strace_lines import Call

_PROC = re.compile(r"/proc/(\d+)(?:/|$)")


class Lineage:
    """Which processes live, and what the command of each has touched."""

    def __init__(self, marker: str) -> None:
        """Start; the shell's probes below `marker` open and close the windows of commands."""
        self.marker = f"{marker}/"
        self.live: dict[int, Process] = {}
        self.orphans: dict[int, Process] = {}
        """Of those, the ones whose parents have not told of them yet."""
        self.handles: dict[bytes, str] = {}
        """Handles of files, with the names that they were made from."""
        self.window: int | None = None
        """The command that the shell is running."""
        self.calls = 0
        """How many there were: the order of changes."""
        self.closed = 0
        """The last command whose end the shell has marked."""
        self.touched: dict[int, Touched] = {}

    def root(self, pid: int, cwd: str, command: int | None = None) -> Process:
        """Begin with a process that a tracer starts: the shell, or a command of its own."""
        is_shell = command is None
        process = Process(pid, [cwd], command, is_shell=is_shell, speaks_for_shell=is_shell)
        self.live[pid] = process
        return process

    def of(self, command: int) -> Touched:
        """Return what a command has touched so far."""
        touched = self.touched.get(command)
        if touched is None:
            touched = self.touched[command] = Touched()
        return touched

    def alive(self, command: int) -> list[Process]:
        """Return the processes of a command that have not ended."""
        return [process for process in self.of(command).processes if process.is_alive]

    def lose(self, command: int) -> None:
        """Take a command's processes for ended: no tracer will tell of them any more."""
        for process in self.alive(command):
            self.end(process.pid)
        self.close_window()

    def close_window(self) -> None:
        """Say that the shell is running no command."""
        self.window = None

    def mark(self, process: Process, mark: str) -> None:
        """Take in a mark of the shell: a command begins or ends."""
        kind, _, command = mark.partition("/")
        if not command.isdigit():
            return
        if kind == "B":
            self.window = int(command)
        elif self.window == int(command):
            self.window, self.closed = None, int(command)
            # The subshell that says so was forked while the command ran, but is not its own.
            if process.command is not None:
                self.of(process.command).processes.remove(process)
                process.command = None

    def touched_by(self, process: Process) -> Touched | None:
        """Return what the command of a process has touched; None: it works for none."""
        command = self.window if process.is_shell else process.command
        return None if command is None else self.of(command)

    def warn(self, process: Process, reason: str) -> None:
        """Note why the record of a process's command may be incomplete."""
        if touched := self.touched_by(process):
            touched.reasons.add(reason)

    def probe(self, process: Process, name: str) -> None:
        """Note that a process tested for a name."""
        if touched := self.touched_by(process):
            touched.probes.add(name)
        self.inspect_proc(process, name)

    def inspect(self, process: Process, target: Process) -> None:
        """Note that a process looked at another one of another command."""
        command = self.window if process.is_shell else process.command
        if command is not None and target.command not in (None, command):
            self.of(command).inspected.add(target.program)

    def inspect_proc(self, process: Process, name: str) -> None:
        """Note the same, where a name is one of /proc's."""
        found = _PROC.match(name)
        target = self.live.get(int(found[1])) if found else None
        if target:
            self.inspect(process, target)

    def name(
        self, process: Process, call: Call, dirfd: int | None, at: int, returned: bytes | None
    ) -> str | None:
        """Return the absolute name of a call's argument, as `named` does; None: there is none."""
        try:
            return named(call, at, dirfd=dirfd, cwd=process.cwd[0], returned=returned)
        except UnknownDirectoryError:
            self.warn(process, "unknown_directory")
            return None

    def end(self, pid: int) -> None:
        """Take in the end of a process."""
        if process := self.live.pop(pid, None):
            process.is_alive, process.ended_at = False, time.monotonic()
