"""What calls on files mean: the names that they read, test for, change, move and link."""

import os
import posixpath
import re
from collections.abc import Callable

from .lineage import Lineage
from .processes import Process
from .strace_lines import Call, annotated, string

_OPENS = {"open": None, "creat": None, "openat": 0, "openat2": 0}
_PROBES = {
    "stat": None, "stat64": None, "lstat": None, "lstat64": None, "access": None, "readlink": None,
    "newfstatat": 0, "fstatat64": 0, "statx": 0, "faccessat": 0, "faccessat2": 0, "readlinkat": 0,
}  # fmt: skip
_REMOVES = {"unlink": None, "unlinkat": 0}
_CREATES = {"mknod": None, "mknodat": 0, "truncate": None, "truncate64": None}
_RENAMES = {"rename": (None, None), "renameat": (0, 2), "renameat2": (0, 2)}
_LINKS = {"link": (None, None), "linkat": (0, 2)}
_FLAGS = re.compile(rb"\bO_\w+")
_HANDLE = re.compile(rb"f_handle=(0x[0-9a-f]+)")


def _open(lineage: Lineage, process: Process, call: Call) -> None:
    dirfd = _OPENS[call.name]
    at = 0 if dirfd is None else 1
    returned = call.returned if call.succeeded else None
    name = lineage.name(process, call, dirfd, at, returned)
    if name is None:
        return
    if not call.succeeded:
        lineage.probe(process, name)
        return
    text = b"".join(call.arguments[at + 1 : at + 2])
    flags: set[bytes] = set(_FLAGS.findall(text))
    if call.name == "creat":
        flags = {b"O_WRONLY", b"O_CREAT", b"O_TRUNC"}
    _opened(lineage, process, name, flags)


def _opened(lineage: Lineage, process: Process, name: str, flags: set[bytes]) -> None:
    touched = lineage.touched_by(process)
    lineage.inspect_proc(process, name)
    if touched is None or b"O_DIRECTORY" in flags or b"O_TMPFILE" in flags:
        return
    if b"O_PATH" in flags:
        touched.probes.add(name)
        return
    anew = bool(flags & {b"O_TRUNC", b"O_EXCL"})
    if b"O_WRONLY" not in flags and not (b"O_RDWR" in flags and anew):
        touched.read(name)
    if flags & {b"O_WRONLY", b"O_RDWR", b"O_CREAT", b"O_TRUNC"}:
        touched.change(name, lineage.calls, anew=anew)
        process.held.add(name)


def _probe(lineage: Lineage, process: Process, call: Call) -> None:
    dirfd = _PROBES[call.name]
    name = lineage.name(process, call, dirfd, 0 if dirfd is None else 1, None)
    if name is None:
        return
    if process.speaks_for_shell and name.startswith(lineage.marker):
        lineage.mark(process, name.removeprefix(lineage.marker))
        return
    lineage.probe(process, name)


def _list(lineage: Lineage, process: Process, call: Call) -> None:
    folder = annotated(call.arguments[0]) if call.arguments else None
    if folder and folder.startswith(b"/") and call.succeeded:
        lineage.probe(process, os.fsdecode(folder))


def _remove(lineage: Lineage, process: Process, call: Call) -> None:
    if b"AT_REMOVEDIR" in b"".join(call.arguments[-1:]):
        return
    dirfd = _REMOVES[call.name]
    _at_name(lineage, process, call, dirfd, 0 if dirfd is None else 1, anew=False)


def _create(lineage: Lineage, process: Process, call: Call) -> None:
    dirfd = _CREATES[call.name]
    _at_name(lineage, process, call, dirfd, 0 if dirfd is None else 1, anew=False)


def _at_name(
    lineage: Lineage, process: Process, call: Call, dirfd: int | None, at: int, *, anew: bool
) -> str | None:
    """Change a name, or, where the call failed, probe it."""
    name = lineage.name(process, call, dirfd, at, None)
    touched = lineage.touched_by(process)
    if name is None or touched is None:
        return None
    if call.result is not None and call.result < 0:
        lineage.probe(process, name)
        return None
    touched.change(name, lineage.calls, anew=anew)
    return name


def _rename(lineage: Lineage, process: Process, call: Call) -> None:
    first, second = _RENAMES[call.name]
    at = (0, 1) if first is None else (1, 3)
    exchanges = any(b"RENAME_EXCHANGE" in argument for argument in call.arguments[4:])
    source = _at_name(lineage, process, call, first, at[0], anew=False)
    touched = lineage.touched_by(process)
    was_made = touched is not None and source in touched.fresh - touched.moved_from.keys()
    target = _at_name(lineage, process, call, second, at[1], anew=not exchanges)
    if touched and source and target:
        touched.moved |= {source, target}
        before = touched.moved_from.pop(source, source)
        if not was_made and not exchanges:
            touched.moved_from[target] = before
        # What was written under the temporary name is held under the new one.
        if source in process.held:
            process.held.add(target)


def _link(lineage: Lineage, process: Process, call: Call) -> None:
    first, second = _LINKS[call.name]
    source = lineage.name(process, call, first, 0 if first is None else 1, None)
    target = _at_name(lineage, process, call, second, 1 if second is None else 3, anew=True)
    _leads(lineage, process, target, source)


def _symlink(lineage: Lineage, process: Process, call: Call) -> None:
    dirfd = None if call.name == "symlink" else 1
    target = _at_name(lineage, process, call, dirfd, 1 if dirfd is None else 2, anew=True)
    text = string(call.arguments[0]) if call.arguments else None
    if target and text:
        leads_to = posixpath.join(posixpath.dirname(target), os.fsdecode(text))
        _leads(lineage, process, target, posixpath.normpath(leads_to))


def _leads(lineage: Lineage, process: Process, name: str | None, before: str | None) -> None:
    """Note that a new name leads to what was there under another, which is what is read."""
    touched = lineage.touched_by(process)
    if touched and name and before and before not in touched.fresh:
        touched.moved_from[name] = before


def _handle(lineage: Lineage, process: Process, call: Call) -> None:
    found = _HANDLE.search(b" ".join(call.arguments))
    if not found or not call.succeeded:
        return
    if call.name == "name_to_handle_at":
        if name := lineage.name(process, call, 0, 1, None):
            lineage.handles[found[1]] = name
    elif known := lineage.handles.get(found[1]):
        _opened(lineage, process, known, set(_FLAGS.findall(call.arguments[-1])))
    else:
        lineage.warn(process, "open_by_handle")


FILE_CALLS: dict[str, Callable[[Lineage, Process, Call], None]] = {
    **dict.fromkeys(_OPENS, _open),
    **dict.fromkeys(_PROBES, _probe),
    **dict.fromkeys(("getdents", "getdents64"), _list),
    **dict.fromkeys(_REMOVES, _remove),
    **dict.fromkeys(_CREATES, _create),
    **dict.fromkeys(_RENAMES, _rename),
    **dict.fromkeys(_LINKS, _link),
    **dict.fromkeys(("symlink", "symlinkat"), _symlink),
    **dict.fromkeys(("name_to_handle_at", "open_by_handle_at"), _handle),
}
