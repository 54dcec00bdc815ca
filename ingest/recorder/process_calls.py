"""What other calls mean: working directories, programs, namespaces, signals and ports."""

import os
import posixpath
import stat
from collections.abc import Callable

from . import ports
from .lineage import Lineage
from .processes import Process
from .strace_lines import Call, annotated, string

_NAMESPACE = frozenset({"chroot", "pivot_root", "setns", "mount", "umount2", "move_mount"})


def _chdir(lineage: Lineage, process: Process, call: Call) -> None:
    if not call.succeeded:
        return
    if call.name == "fchdir":
        folder = annotated(call.arguments[0]) if call.arguments else None
        if folder and folder.startswith(b"/"):
            process.cwd[0] = os.fsdecode(folder)
    elif name := lineage.name(process, call, None, 0, None):
        process.cwd[0] = name


def _getcwd(_: Lineage, process: Process, call: Call) -> None:
    path = string(call.arguments[0]) if call.succeeded and call.arguments else None
    if path and path.startswith(b"/"):
        process.cwd[0] = os.fsdecode(path)


def _unshare(lineage: Lineage, process: Process, call: Call) -> None:
    if call.succeeded:
        flags = b"".join(call.arguments)
        if b"CLONE_FS" in flags or b"CLONE_NEWNS" in flags:
            process.cwd = [process.cwd[0]]
        if b"CLONE_NEW" in flags:
            lineage.warn(process, "namespace_changed")


def _namespace(lineage: Lineage, process: Process, call: Call) -> None:
    if call.succeeded:
        lineage.warn(process, "namespace_changed")


def _exec(lineage: Lineage, process: Process, call: Call) -> None:
    dirfd, at = (0, 1) if call.name == "execveat" else (None, 0)
    name = lineage.name(process, call, dirfd, at, None)
    if name is None:
        return
    if not call.succeeded:
        lineage.probe(process, name)
        return
    process.program = posixpath.basename(name)
    process.speaks_for_shell = process.is_shell
    if process.is_shell and lineage.window is None:
        return
    if touched := lineage.touched_by(process):
        touched.read(name)
        touched.executed.add(name)
        if os.geteuid() and _is_setuid(name):
            touched.reasons.add("setuid_dropped")


def _ptrace(lineage: Lineage, process: Process, call: Call) -> None:
    if call.error == "EPERM":
        lineage.warn(process, "nested_ptrace")


def _io_uring(lineage: Lineage, process: Process, call: Call) -> None:
    if call.succeeded:
        lineage.warn(process, "io_uring")


def _kill(lineage: Lineage, process: Process, call: Call) -> None:
    """`kill -0` asks whether a process is there; other signals are told of by their targets."""
    pid = call.arguments[0] if call.succeeded and call.arguments else b""
    target = lineage.live.get(int(pid)) if pid.isdigit() else None
    if target:
        lineage.inspect(process, target)


def _bind(lineage: Lineage, process: Process, call: Call) -> None:
    if number := ports.bound(call):
        process.bound[call.arguments[0].partition(b"<")[0]] = number
        if b"<UDP" in call.arguments[0] and (touched := lineage.touched_by(process)):
            touched.opened.add(number)


def _listen(lineage: Lineage, process: Process, call: Call) -> None:
    touched = lineage.touched_by(process)
    if touched is None or not call.succeeded:
        return
    fd = call.arguments[0].partition(b"<")[0] if call.arguments else b""
    if number := ports.listening(call) or process.bound.get(fd, 0):
        touched.opened.add(number)


def _connect(lineage: Lineage, process: Process, call: Call) -> None:
    if (touched := lineage.touched_by(process)) and (number := ports.connected(call)):
        touched.used.add(number)


def _is_setuid(name: str) -> bool:
    try:
        return bool(os.stat(name).st_mode & stat.S_ISUID)
    except OSError:
        return False


PROCESS_CALLS: dict[str, Callable[[Lineage, Process, Call], None]] = {
    **dict.fromkeys(("chdir", "fchdir"), _chdir),
    "getcwd": _getcwd,
    "unshare": _unshare,
    **dict.fromkeys(_NAMESPACE, _namespace),
    **dict.fromkeys(("execve", "execveat"), _exec),
    "ptrace": _ptrace,
    "io_uring_setup": _io_uring,
    "bind": _bind,
    "listen": _listen,
    "connect": _connect,
    **dict.fromkeys(("kill", "tkill"), _kill),
}
