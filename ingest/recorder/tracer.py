"""How commands are traced: strace's command line, and the ladder that this machine gives.

Levels, best first: `strace+seccomp` stops a process only for the calls that matter; `strace` stops
it for every call; `sweep` traces nothing, and compares the work roots' files before and after.
"""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

Level = Literal["strace+seccomp", "strace", "sweep"]
LEVELS: tuple[Level, ...] = ("strace+seccomp", "strace", "sweep")

CALLS = (
    "open openat openat2 creat open_by_handle_at name_to_handle_at unlink unlinkat mknod "
    "mknodat rename renameat renameat2 link linkat symlink symlinkat truncate truncate64 "
    "stat stat64 lstat lstat64 newfstatat fstatat64 statx access faccessat faccessat2 "
    "readlink readlinkat getdents getdents64 chdir fchdir getcwd chroot pivot_root "
    "unshare setns mount umount2 move_mount execve execveat clone clone3 fork vfork "
    "ptrace kill tkill bind listen connect io_uring_setup"
)
"""The calls that are traced. Not among them: read, write, close, dup, mmap and other ways
of moving data, since the flags of an open say what can follow, and tracing them costs several times
as much."""

SELF_TEST_S = 20


@dataclass(frozen=True)
class Tracer:
    """What this machine gives, and why not more."""

    level: Level
    version: str
    """strace's; empty: there is none."""
    refused: tuple[tuple[str, str], ...] = ()
    """Better levels with what they failed with."""

    def command(self, argv: Sequence[str], log: str) -> list[str]:
        """Return the command line that runs `argv` traced; strace's lines go to the file `log`.

        The process that is started becomes `argv` itself; the tracer is a session of its own.
        """
        if self.level == "sweep":
            return list(argv)
        return [*_strace(self.level), "-o", log, "--", *argv]


def _strace(level: Level) -> list[str]:
    return [
        "strace", "-DDD", "-f", *(["--seccomp-bpf"] if level == "strace+seccomp" else []),
        "-q", "-ttt", "-s", "512", "--decode-fds=path,socket",
        "-e", "signal=!SIGCHLD,SIGWINCH,SIGURG",
        "-e", "trace=" + ",".join(f"?{name}" for name in CALLS.split()),
    ]  # fmt: skip


@lru_cache(maxsize=1)
def best_tracer() -> Tracer:
    """Try the levels on this machine by tracing `true`, and return the best that works."""
    refused: list[tuple[str, str]] = []
    path = shutil.which("strace")
    version = _version() if path else ""
    for level in LEVELS[:-1]:
        error = _self_test(level) if path else "strace is not installed"
        if not error:
            return Tracer(level, version, tuple(refused))
        refused.append((level, error))
    return Tracer("sweep", version, tuple(refused))


def tracer_at(level: Level) -> Tracer:
    """Return the tracer of one level, whether or not this machine gives it."""
    return Tracer(level, _version() if shutil.which("strace") else "")


def _version() -> str:
    found = subprocess.run(["strace", "-V"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"version (\S+)", found)
    return version[1] if version else ""


def _self_test(level: Level) -> str:
    """Trace `true`; empty: it worked, else what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        command = [*_strace(level), "-o", str(log), "--", "true"]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=SELF_TEST_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        lines = ""
        deadline = time.monotonic() + 2
        while done.returncode == 0 and time.monotonic() < deadline:
            lines = log.read_text(errors="replace") if log.exists() else ""
            if "+++ exited with 0 +++" in lines:
                return "" if "execve(" in lines else "it saw no call"
            time.sleep(0.01)
    complaints = done.stderr.strip().splitlines()
    return complaints[0] if complaints else "its log has no end"


def doctor() -> Iterable[tuple[str, str, str]]:
    """Say for each level whether this machine gives it, and what to do: level, found, advice."""
    tracer = best_tracer()
    refused = dict(tracer.refused)
    for level in LEVELS:
        if level in refused:
            yield level, refused[level], _advice(refused[level])
        elif level == tracer.level:
            note = f"strace {tracer.version}" if level != "sweep" else "no reads, no verifier"
            yield level, f"works ({note}); `rollgraph record` uses it", ""
        else:
            yield level, "works" if level == "sweep" else "not needed", ""


def _advice(error: str) -> str:
    if "not installed" in error:
        return "install strace 5.6 or newer, such as by: apt-get install strace"
    if re.search(r"PTRACE|ptrace|Operation not permitted", error):
        user = "" if os.geteuid() == 0 else ", or record as the user who owns the processes"
        return f"allow ptrace: docker run --cap-add SYS_PTRACE{user}"
    if re.search(r"unrecognized option|invalid system call|invalid option", error):
        return "this strace is too old: 5.6 is needed"
    return "see docs/recording.md"
