"""What the files of the work roots hold, and how that changed since it was last looked at.

The contents are read once at the start; after each command only the names that it was seen to
touch are read again, and a sweep over names, sizes and times finds what no trace told of.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..paths import PathFilter
from .line_diff import DiffTooLargeError, Ranges, new_lines

MAX_FILE = 8 << 20
"""Bytes of a file whose lines are followed."""
MAX_TOTAL = 1 << 30
"""Bytes of all files whose contents are kept in memory."""
MAX_SWEPT = 100_000
"""Files that a sweep looks at after each command."""

Signature = tuple[int, int, int, int, int]
"""Times of modification and of change, size, inode, device."""


@dataclass(slots=True)
class Entry:
    """One file as it was last looked at."""

    signature: Signature
    is_link: bool
    text: bytes | None = None
    """None: its lines are not followed."""
    digest: bytes | None = None
    """Of the contents, or a symbolic link's target; None: not read."""
    reason: str = ""
    """Why its lines are not followed."""

    def is_equal(self, other: "Entry") -> bool:
        """Whether nothing was written between the two looks."""
        if self.is_link != other.is_link:
            return False
        if self.digest is None or other.digest is None:
            return self.signature == other.signature
        return self.digest == other.digest


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one file."""

    path: str
    is_deleted: bool = False
    lines: Ranges | None = None
    """Its new lines; None: no range can be had."""
    reason: str = ""
    """Why not."""
    inode: tuple[int, int] | None = None


class Contents:
    """The files below the work roots."""

    def __init__(self, roots: Iterable[str]) -> None:
        """Read the files below the roots, which are existing folders."""
        self.roots = tuple(roots)
        self._keep = PathFilter(work_roots=self.roots)
        self._entries: dict[str, Entry] = {}
        self._total = 0
        for path, status in self._walk():
            self._remember(path, status)

    @property
    def is_swept(self) -> bool:
        """Whether there are few enough files for a sweep after each command."""
        return len(self._entries) <= MAX_SWEPT

    def __contains__(self, path: str) -> bool:
        return path in self._entries

    def below(self, folder: str) -> list[str]:
        """Return the known files below a folder."""
        return [path for path in self._entries if path.startswith(f"{folder}/")]

    def interpreter(self, path: str) -> str | None:
        """Return the interpreter that a script's first line names; None: it names none."""
        entry = self._entries.get(path)
        first = (entry.text or b"").partition(b"\n")[0] if entry and not entry.is_link else b""
        words = first[2:].split() if first.startswith(b"#!") else []
        return os.fsdecode(words[0]) if words else None

    def refresh(self, touched: Iterable[str], *, sweep: bool) -> dict[str, Change]:
        """Look again at some files, whatever their times say, and, in a sweep, at all."""
        changes: dict[str, Change] = {}
        pending = {path for path in touched if self._keep.keeps(path)}
        if sweep:
            missing = dict.fromkeys(self._entries)
            for path, status in self._walk():
                if path in missing:
                    del missing[path]
                    if self._entries[path].signature == _signature(status):
                        continue
                pending.add(path)
            pending.update(missing)
        for path in sorted(pending):
            if change := self._look(path):
                changes[path] = change
        return changes

    def _look(self, path: str) -> Change | None:
        before = self._entries.get(path)
        self._forget(path)
        try:
            status = os.lstat(path)
        except (OSError, ValueError):
            status = None
        if status is None or not _is_followed(status):
            return Change(path, is_deleted=True) if before else None
        after = self._remember(path, status)
        if before and before.is_equal(after):
            return None
        lines, reason = _new_lines(before, after)
        return Change(
            path,
            lines=lines,
            reason=reason,
            inode=(status.st_dev, status.st_ino),
        )

    def _remember(self, path: str, status: os.stat_result) -> Entry:
        entry = self._entries[path] = Entry(_signature(status), stat.S_ISLNK(status.st_mode))
        try:
            if entry.is_link:
                entry.digest = os.readlink(os.fsencode(path))
            elif status.st_size <= MAX_FILE:
                with open(path, "rb") as file:
                    text = file.read(MAX_FILE)
                entry.digest = hashlib.sha1(text, usedforsecurity=False).digest()
                if b"\0" in text:
                    entry.reason = "not_text"
                elif self._total + len(text) > MAX_TOTAL:
                    entry.reason = "over_the_cap"
                else:
                    entry.text = text
            else:
                entry.reason = "oversized"
        except OSError:
            entry.reason = "unreadable"
        self._total += len(entry.text or b"")
        return entry

    def _forget(self, path: str) -> None:
        if entry := self._entries.pop(path, None):
            self._total -= len(entry.text or b"")

    def _walk(self) -> Iterator[tuple[str, os.stat_result]]:
        folders = list(self.roots)
        while folders:
            folder = folders.pop()
            if not self._keep.keeps(folder):
                continue
            try:
                entries = os.scandir(folder)
            except OSError:
                continue
            with entries:
                for item in entries:
                    try:
                        if item.is_dir(follow_symlinks=False):
                            folders.append(item.path)
                            continue
                        status = item.stat(follow_symlinks=False)
                    except OSError:
                        continue
                    if _is_followed(status) and not item.name.endswith(".pyc"):
                        yield item.path, status


def _is_followed(status: os.stat_result) -> bool:
    return stat.S_IFMT(status.st_mode) in (stat.S_IFREG, stat.S_IFLNK)


def _signature(status: os.stat_result) -> Signature:
    return (
        status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev,
    )  # fmt: skip


def _new_lines(before: Entry | None, after: Entry) -> tuple[Ranges | None, str]:
    """Find the new lines, or why there is no range of them."""
    if after.is_link:
        return None, "symbolic_link"
    if after.text is None:
        return None, after.reason
    if before and before.text is None:
        return None, before.reason or "symbolic_link"
    try:
        lines = new_lines((before and before.text) or b"", after.text)
    except DiffTooLargeError:
        return None, "diff_too_large"
    return lines or None, "" if lines else "only_deletions" if after.text else "empty"
