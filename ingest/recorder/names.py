"""The absolute names of a call's path arguments.

A name is the one that the program gave, made absolute with the working directory, or the directory
descriptor, of the call. Symbolic links are not resolved, but for `..` and for names under
/proc/self, where only the kernel knows.
"""

import os
import posixpath
import re

from .strace_lines import Call, annotated, is_deleted, string

_KERNEL_NAMED = re.compile(r"/(?:proc/(?:self|thread-self|\d+)/(?:fd|cwd|root)|dev/fd)/")


class UnknownDirectoryError(Exception):
    """A name is relative to a descriptor that the trace does not name."""


def named(
    call: Call, at: int, *, dirfd: int | None, cwd: str, returned: bytes | None = None
) -> str | None:
    """Return the absolute name of the argument at a position; None: it is no name.

    `dirfd` is the position of a directory descriptor, `cwd` the process's working directory,
    `returned` the kernel's own name of the file that was opened. Raises UnknownDirectoryError.
    """
    text = string(call.arguments[at]) if at < len(call.arguments) else None
    if not text:
        return None
    name = os.fsdecode(text)
    if not name.startswith("/"):
        folder = _folder(call.arguments[dirfd], cwd) if dirfd is not None else cwd
        if folder is None:
            return None
        name = f"{folder}/{name}"
    if "/../" in f"{name}/" or _KERNEL_NAMED.match(name):
        if returned and returned.startswith(b"/"):
            return os.fsdecode(returned)
        if not name.startswith(("/proc/", "/dev/")):
            name = _climbed(name)
    return "/" + posixpath.normpath(name).lstrip("/")


def _folder(descriptor: bytes, cwd: str) -> str | None:
    """Return the folder that a relative name belongs to; None: it has been removed."""
    if descriptor.startswith(b"AT_FDCWD"):
        return None if is_deleted(descriptor) else cwd
    folder = annotated(descriptor)
    if not folder or not folder.startswith(b"/"):
        raise UnknownDirectoryError
    return os.fsdecode(folder)


def _climbed(name: str) -> str:
    """Resolve `..` as the kernel does: from where a symbolic link leads to."""
    folder, _, last = name.rstrip("/").rpartition("/")
    if last == "..":
        return os.path.realpath(name)
    return f"{os.path.realpath(folder)}/{last}"
