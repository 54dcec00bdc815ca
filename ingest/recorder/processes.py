"""The processes of a trace, and what a command's processes touched."""

import time
from dataclasses import dataclass, field

from .strace_lines import Call


@dataclass
class Touched:
    """What one command touched, as far as calls tell; file names are absolute."""

    reads: set[str] = field(default_factory=set[str])
    """Names that it opened to read, while they held something of before it."""
    files_read: set[str] = field(default_factory=set[str])
    """Of those, files: folders are opened to read as well."""
    probes: set[str] = field(default_factory=set[str])
    changed: dict[str, int] = field(default_factory=dict[str, int])
    """Names that it may have written or removed since they were last looked at, with the number
    of the call."""
    ever_changed: set[str] = field(default_factory=set[str])
    moved: set[str] = field(default_factory=set[str])
    """Of those, both ends of renames: what lies below them may have moved along."""
    fresh: set[str] = field(default_factory=set[str])
    """Names that it created, emptied or replaced before it read them."""
    moved_from: dict[str, str] = field(default_factory=dict[str, str])
    """Names that it gave to files by a rename, with the names that these had before it."""
    executed: set[str] = field(default_factory=set[str])
    opened: set[int] = field(default_factory=set[int])
    used: set[int] = field(default_factory=set[int])
    inspected: set[str] = field(default_factory=set[str])
    reasons: set[str] = field(default_factory=set[str])
    """Why the record may be incomplete."""
    processes: list["Process"] = field(default_factory=list["Process"])

    def read(self, name: str) -> None:
        """Take in that a name was opened to read: a read of what it held before the command."""
        if self.moved_from and (before := self._before_moves(name)):
            self.reads.add(before)
        elif name not in self.fresh:
            self.reads.add(name)

    def change(self, name: str, call: int, *, anew: bool) -> None:
        """Take in that a name may change by the call of this number; `anew`: nothing is left."""
        self.changed[name] = call
        self.ever_changed.add(name)
        if anew:
            self.moved_from.pop(name, None)
            if name not in self.reads:
                self.fresh.add(name)

    def _before_moves(self, name: str) -> str | None:
        """Return the name that a file had before it, or a folder above it, got a new one."""
        above, rest = name, ""
        while above not in ("", "/"):
            if before := self.moved_from.get(above):
                return before + rest
            above, slash, last = above.rpartition("/")
            rest = f"{slash}{last}{rest}"
        return None


@dataclass(eq=False)
class Process:
    """A thread or process of the trace, from its start to its end."""

    pid: int
    cwd: list[str]
    """One element, shared among threads."""
    command: int | None
    program: str = "bash"
    is_thread: bool = False
    is_shell: bool = False
    speaks_for_shell: bool = False
    """Whether it is the shell, or a subshell of its that has become no other program."""
    is_alive: bool = True
    started_at: float = field(default_factory=time.monotonic)
    """On the monotonic clock, in seconds."""
    ended_at: float | None = None
    held: set[str] = field(default_factory=set[str])
    """Files that it opened to write; it may still be writing them."""
    waiting: list[Call] | None = None
    """Calls of a process whose parent has not told of it yet."""
    bound: dict[bytes, int] = field(default_factory=dict[bytes, int])

    def outlives(self, moment: float, seconds: float) -> bool:
        """Whether it is alive, or went on for so many seconds after a moment, or its start."""
        if self.is_alive or self.ended_at is None:
            return self.is_alive
        return self.ended_at - max(moment, self.started_at) > seconds
