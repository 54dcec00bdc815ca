"""The calls of traced processes, replayed: which command touched which names.

A process belongs to the command in whose window it, or the first of its ancestors below the shell,
was started; so a server that outlives its command goes on working for that command. The shell
itself works for the command that it is running.
"""

import os
import posixpath
import re
import stat
import time
from collections.abc import Callable
from typing import ClassVar

from . import ports
from .names import UnknownDirectoryError, named
from .processes import Process, Touched
from .strace_lines import (
    CREATES_PROCESS,
    Call,
    Ended,
    Event,
    Signalled,
    Unparsed,
    annotated,
    is_deleted,
    string,
)

_OPENS = {"open": None, "creat": None, "openat": 0, "openat2": 0}
_PROBES = {
    "stat": None, "stat64": None, "lstat": None, "lstat64": None, "access": None, "readlink": None,
    "newfstatat": 0, "fstatat64": 0, "statx": 0, "faccessat": 0, "faccessat2": 0, "readlinkat": 0,
}  # fmt: skip
_REMOVES = {"unlink": None, "unlinkat": 0}
_CREATES = {"mknod": None, "mknodat": 0, "truncate": None, "truncate64": None}
_RENAMES = {"rename": (None, None), "renameat": (0, 2), "renameat2": (0, 2)}
_LINKS = {"link": (None, None), "linkat": (0, 2)}
_NAMESPACE = frozenset({"chroot", "pivot_root", "setns", "mount", "umount2", "move_mount"})
_FLAGS = re.compile(rb"\bO_\w+")
_HANDLE = re.compile(rb"f_handle=(0x[0-9a-f]+)")
_PROC = re.compile(r"/proc/(\d+)(?:/|$)")


class Replay:
    """Events of the session's tracers in, what each command touched out."""

    def __init__(self, marker: str) -> None:
        """Start; the shell's probes below `marker` open and close the windows of commands."""
        self._marker = f"{marker}/"
        self._live: dict[int, Process] = {}
        self._orphans: dict[int, Process] = {}
        self._handles: dict[bytes, str] = {}
        self._window: int | None = None
        self._calls = 0
        self.closed = 0
        """The last command whose end the shell has marked."""
        self.touched: dict[int, Touched] = {}

    def root(self, pid: int, cwd: str, command: int | None = None) -> Process:
        """Begin with a process that a tracer starts: the shell, or a command of its own."""
        process = Process(pid, [cwd], command, is_shell=command is None)
        self._live[pid] = process
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
            self._end(process.pid)
        self.close_window()

    def close_window(self) -> None:
        """Say that the shell is running no command."""
        self._window = None

    def apply(self, event: Event) -> None:
        """Take in one event."""
        match event:
            case Call():
                self._call(event)
            case Ended():
                self._end(event.pid)
            case Signalled():
                self._signal(event)
            case Unparsed():
                if self._window is not None:
                    self.of(self._window).reasons.add("unparsed_lines")

    def _call(self, call: Call) -> None:
        process = self._live.get(call.pid)
        if process is None:
            process = self._live[call.pid] = Process(call.pid, ["/"], None, waiting=[])
            self._orphans[call.pid] = process
        if process.waiting is not None:
            process.waiting.append(call)
        else:
            self._perform(process, call)

    def _perform(self, process: Process, call: Call) -> None:
        self._calls += 1
        self._sync_cwd(process, call)
        if call.name in CREATES_PROCESS:
            self._fork(process, call)
        elif action := self._ACTIONS.get(call.name):
            action(self, process, call)

    def _sync_cwd(self, process: Process, call: Call) -> None:
        for argument in call.arguments[:3]:
            if argument.startswith(b"AT_FDCWD<"):
                path = annotated(argument)
                if path and not is_deleted(argument):
                    process.cwd[0] = os.fsdecode(path)
                return

    def _fork(self, parent: Process, call: Call) -> None:
        flags = b", ".join(call.arguments)
        if b"CLONE_UNTRACED" in flags:
            self._warn(parent, "untraced_child")
        if call.result is None:  # it ended on the way: a child that nobody told of is its own
            children = list(self._orphans.values())
        elif call.result > 0:
            child = self._orphans.get(call.result) or Process(call.result, ["/"], None)
            if child.pid not in self._orphans:
                self._live[child.pid] = child
            children = [child]
        else:
            return
        for child in children:
            self._orphans.pop(child.pid, None)
            self._adopt(parent, child, flags)

    def _adopt(self, parent: Process, child: Process, flags: bytes) -> None:
        child.cwd = parent.cwd if b"CLONE_FS" in flags else [parent.cwd[0]]
        child.is_thread = b"CLONE_THREAD" in flags
        child.program = parent.program
        child.command = self._window if parent.is_shell else parent.command
        child.held = set(parent.held)
        if child.command is not None and not child.is_thread:
            self.of(child.command).processes.append(child)
        waiting, child.waiting = child.waiting or [], None
        for call in waiting:
            self._perform(child, call)

    def _end(self, pid: int) -> None:
        if process := self._live.pop(pid, None):
            process.is_alive, process.ended_at = False, time.monotonic()

    def _signal(self, event: Signalled) -> None:
        target, sender = self._live.get(event.pid), self._live.get(event.sender or -1)
        if target and sender and sender.pid != target.pid:
            self._inspect(sender, target)

    # What the calls mean.

    def _touched(self, process: Process) -> Touched | None:
        command = self._window if process.is_shell else process.command
        return None if command is None else self.of(command)

    def _warn(self, process: Process, reason: str) -> None:
        if touched := self._touched(process):
            touched.reasons.add(reason)

    def _named(
        self, process: Process, call: Call, dirfd: int | None, at: int, returned: bytes | None
    ) -> str | None:
        try:
            return named(call, at, dirfd=dirfd, cwd=process.cwd[0], returned=returned)
        except UnknownDirectoryError:
            self._warn(process, "unknown_directory")
            return None

    def _open(self, process: Process, call: Call) -> None:
        dirfd = _OPENS[call.name]
        at = 0 if dirfd is None else 1
        returned = call.returned if call.succeeded else None
        name = self._named(process, call, dirfd, at, returned)
        if name is None:
            return
        if not call.succeeded:
            self._probe_name(process, name)
            return
        text = b"".join(call.arguments[at + 1 : at + 2])
        flags: set[bytes] = set(_FLAGS.findall(text))
        if call.name == "creat":
            flags = {b"O_WRONLY", b"O_CREAT", b"O_TRUNC"}
        self._opened(process, name, flags)

    def _opened(self, process: Process, name: str, flags: set[bytes]) -> None:
        touched = self._touched(process)
        self._inspect_proc(process, name)
        if touched is None or b"O_DIRECTORY" in flags or b"O_TMPFILE" in flags:
            return
        if b"O_PATH" in flags:
            touched.probes.add(name)
            return
        anew = bool(flags & {b"O_TRUNC", b"O_EXCL"})
        if b"O_WRONLY" not in flags and not (b"O_RDWR" in flags and anew):
            self._read(touched, name)
        if flags & {b"O_WRONLY", b"O_RDWR", b"O_CREAT", b"O_TRUNC"}:
            self._change(touched, name, anew=anew)
            process.held.add(name)

    def _read(self, touched: Touched, name: str) -> None:
        if touched.moved_from and (before := _before_moves(touched.moved_from, name)):
            touched.reads.add(before)
        elif name not in touched.fresh:
            touched.reads.add(name)

    def _change(self, touched: Touched, name: str, *, anew: bool) -> None:
        touched.changed[name] = self._calls
        touched.ever_changed.add(name)
        if anew:
            touched.moved_from.pop(name, None)
            if name not in touched.reads:
                touched.fresh.add(name)

    def _probe(self, process: Process, call: Call) -> None:
        dirfd = _PROBES[call.name]
        name = self._named(process, call, dirfd, 0 if dirfd is None else 1, None)
        if name is None:
            return
        if process.command is None and name.startswith(self._marker):
            self._mark(name.removeprefix(self._marker))
            return
        self._probe_name(process, name)

    def _mark(self, mark: str) -> None:
        kind, _, command = mark.partition("/")
        if command.isdigit():
            if kind == "B":
                self._window = int(command)
            else:
                self._window, self.closed = None, int(command)

    def _probe_name(self, process: Process, name: str) -> None:
        if touched := self._touched(process):
            touched.probes.add(name)
        self._inspect_proc(process, name)

    def _list(self, process: Process, call: Call) -> None:
        folder = annotated(call.arguments[0]) if call.arguments else None
        if folder and folder.startswith(b"/") and call.succeeded:
            self._probe_name(process, os.fsdecode(folder))

    def _remove(self, process: Process, call: Call) -> None:
        if b"AT_REMOVEDIR" in b"".join(call.arguments[-1:]):
            return
        dirfd = _REMOVES[call.name]
        self._at_name(process, call, dirfd, 0 if dirfd is None else 1, anew=False)

    def _create(self, process: Process, call: Call) -> None:
        dirfd = _CREATES[call.name]
        self._at_name(process, call, dirfd, 0 if dirfd is None else 1, anew=False)

    def _at_name(
        self, process: Process, call: Call, dirfd: int | None, at: int, *, anew: bool
    ) -> str | None:
        """Change a name, or, where the call failed, probe it."""
        name = self._named(process, call, dirfd, at, None)
        touched = self._touched(process)
        if name is None or touched is None:
            return None
        if call.result is not None and call.result < 0:
            self._probe_name(process, name)
            return None
        self._change(touched, name, anew=anew)
        return name

    def _rename(self, process: Process, call: Call) -> None:
        first, second = _RENAMES[call.name]
        at = (0, 1) if first is None else (1, 3)
        exchanges = any(b"RENAME_EXCHANGE" in argument for argument in call.arguments[4:])
        source = self._at_name(process, call, first, at[0], anew=False)
        touched = self._touched(process)
        was_made = touched is not None and source in touched.fresh - touched.moved_from.keys()
        target = self._at_name(process, call, second, at[1], anew=not exchanges)
        if touched and source and target:
            touched.moved |= {source, target}
            before = touched.moved_from.pop(source, source)
            if not was_made and not exchanges:
                touched.moved_from[target] = before
            # What was written under the temporary name is held under the new one.
            if source in process.held:
                process.held.add(target)

    def _link(self, process: Process, call: Call) -> None:
        first, second = _LINKS[call.name]
        source = self._named(process, call, first, 0 if first is None else 1, None)
        target = self._at_name(process, call, second, 1 if second is None else 3, anew=True)
        self._leads(process, target, source)

    def _symlink(self, process: Process, call: Call) -> None:
        dirfd = None if call.name == "symlink" else 1
        target = self._at_name(process, call, dirfd, 1 if dirfd is None else 2, anew=True)
        text = string(call.arguments[0]) if call.arguments else None
        if target and text:
            leads_to = posixpath.join(posixpath.dirname(target), os.fsdecode(text))
            self._leads(process, target, posixpath.normpath(leads_to))

    def _leads(self, process: Process, name: str | None, before: str | None) -> None:
        """Note that a new name leads to what was there under another, which is what is read."""
        touched = self._touched(process)
        if touched and name and before and before not in touched.fresh:
            touched.moved_from[name] = before

    def _chdir(self, process: Process, call: Call) -> None:
        if not call.succeeded:
            return
        if call.name == "fchdir":
            folder = annotated(call.arguments[0]) if call.arguments else None
            if folder and folder.startswith(b"/"):
                process.cwd[0] = os.fsdecode(folder)
        elif name := self._named(process, call, None, 0, None):
            process.cwd[0] = name

    def _getcwd(self, process: Process, call: Call) -> None:
        path = string(call.arguments[0]) if call.succeeded and call.arguments else None
        if path and path.startswith(b"/"):
            process.cwd[0] = os.fsdecode(path)

    def _unshare(self, process: Process, call: Call) -> None:
        if call.succeeded:
            flags = b"".join(call.arguments)
            if b"CLONE_FS" in flags or b"CLONE_NEWNS" in flags:
                process.cwd = [process.cwd[0]]
            if b"CLONE_NEW" in flags:
                self._warn(process, "namespace_changed")

    def _namespace(self, process: Process, call: Call) -> None:
        if call.succeeded:
            self._warn(process, "namespace_changed")

    def _exec(self, process: Process, call: Call) -> None:
        dirfd, at = (0, 1) if call.name == "execveat" else (None, 0)
        name = self._named(process, call, dirfd, at, None)
        if name is None:
            return
        if not call.succeeded:
            self._probe_name(process, name)
            return
        process.program = posixpath.basename(name)
        if process.is_shell and self._window is None:
            return
        if touched := self._touched(process):
            self._read(touched, name)
            touched.executed.add(name)
            if os.geteuid() and _is_setuid(name):
                touched.reasons.add("setuid_dropped")

    def _ptrace(self, process: Process, call: Call) -> None:
        if call.error == "EPERM":
            self._warn(process, "nested_ptrace")

    def _io_uring(self, process: Process, call: Call) -> None:
        if call.succeeded:
            self._warn(process, "io_uring")

    def _handle(self, process: Process, call: Call) -> None:
        found = _HANDLE.search(b" ".join(call.arguments))
        if not found or not call.succeeded:
            return
        if call.name == "name_to_handle_at":
            if name := self._named(process, call, 0, 1, None):
                self._handles[found[1]] = name
        elif known := self._handles.get(found[1]):
            self._opened(process, known, set(_FLAGS.findall(call.arguments[-1])))
        else:
            self._warn(process, "open_by_handle")

    def _bind(self, process: Process, call: Call) -> None:
        if number := ports.bound(call):
            process.bound[call.arguments[0].partition(b"<")[0]] = number
            if b"<UDP" in call.arguments[0] and (touched := self._touched(process)):
                touched.opened.add(number)

    def _listen(self, process: Process, call: Call) -> None:
        touched = self._touched(process)
        if touched is None or not call.succeeded:
            return
        fd = call.arguments[0].partition(b"<")[0] if call.arguments else b""
        if number := ports.listening(call) or process.bound.get(fd, 0):
            touched.opened.add(number)

    def _connect(self, process: Process, call: Call) -> None:
        if (touched := self._touched(process)) and (number := ports.connected(call)):
            touched.used.add(number)

    def _kill(self, process: Process, call: Call) -> None:
        """`kill -0` asks whether a process is there; other signals are told of by their targets."""
        pid = call.arguments[0] if call.succeeded and call.arguments else b""
        target = self._live.get(int(pid)) if pid.isdigit() else None
        if target:
            self._inspect(process, target)

    def _inspect_proc(self, process: Process, name: str) -> None:
        found = _PROC.match(name)
        target = self._live.get(int(found[1])) if found else None
        if target:
            self._inspect(process, target)

    def _inspect(self, process: Process, target: Process) -> None:
        command = self._window if process.is_shell else process.command
        if command is not None and target.command not in (None, command):
            self.of(command).inspected.add(target.program)

    _ACTIONS: ClassVar[dict[str, Callable[["Replay", Process, Call], None]]] = {
        **dict.fromkeys(_OPENS, _open),
        **dict.fromkeys(_PROBES, _probe),
        **dict.fromkeys(("getdents", "getdents64"), _list),
        **dict.fromkeys(_REMOVES, _remove),
        **dict.fromkeys(_CREATES, _create),
        **dict.fromkeys(_RENAMES, _rename),
        **dict.fromkeys(_LINKS, _link),
        **dict.fromkeys(("symlink", "symlinkat"), _symlink),
        **dict.fromkeys(("chdir", "fchdir"), _chdir),
        "getcwd": _getcwd,
        "unshare": _unshare,
        **dict.fromkeys(_NAMESPACE, _namespace),
        **dict.fromkeys(("execve", "execveat"), _exec),
        "ptrace": _ptrace,
        "io_uring_setup": _io_uring,
        **dict.fromkeys(("name_to_handle_at", "open_by_handle_at"), _handle),
        "bind": _bind,
        "listen": _listen,
        "connect": _connect,
        **dict.fromkeys(("kill", "tkill"), _kill),
    }


def _before_moves(moved_from: dict[str, str], name: str) -> str | None:
    """Return the name that a file had before it, or a folder above it, got a new one."""
    above, rest = name, ""
    while above not in ("", "/"):
        if before := moved_from.get(above):
            return before + rest
        above, slash, last = above.rpartition("/")
        rest = f"{slash}{last}{rest}"
    return None


def _is_setuid(name: str) -> bool:
    try:
        return bool(os.stat(name).st_mode & stat.S_ISUID)
    except OSError:
        return False
