"""Measure what recording costs, against the same commands untraced, in one run.

    python -m tests.bench.recorder

CPU milliseconds are user and system time of the command, and of its tracer, on one CPU; the least
of several runs in turn. `wanted` is the factor that was measured for this profile of strace alone.
The last columns are what a person waits for, on all CPUs: the wall time of the command by itself,
and of `Recorder.run` with everything that it does.
"""

import ctypes
import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from fcntl import F_SETPIPE_SZ, fcntl
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rollgraph.ingest.recorder import Recorder, best_tracer
from rollgraph.ingest.recorder.contents import Contents
from rollgraph.ingest.recorder.traced import LOG_PIPE_BYTES

FILES = 5_000
PR_SET_CHILD_SUBREAPER = 36
ENV = os.environ | {"PATH": "/usr/bin:/bin"}
"""Programs of the system, not of a version manager's."""
RUNS = 5
WANTED = {
    "python3 -c 'print(1)'": 1.8,
    "gcc hello.c": 2.8,
    "git status": 13.6,
    "grep -rq nowhere .": 13.0,
    'python3 -c \'for i in range(20000): open("w", "a")\' > /dev/null': None,
    'python3 -c \'f = open("w", "wb", 0); [f.write(b"x") for i in range(20000)]\'': 1.5,
    "python3 -c 'sum(i * i for i in range(10**7))'": 1.0,
    "for i in $(seq 100); do /bin/true; done": 1.7,
}


def main() -> None:
    console = Console(width=160)
    adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="rollgraph-bench-") as folder:
        root = Path(folder)
        make_files(root)
        console.print(commands_table(root))
        console.print(contents_table(root))


def make_files(root: Path) -> None:
    for number in range(FILES):
        path = root / f"d{number // 50}/f{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"line {line} of {number}\n" for line in range(100)))
    (root / "hello.c").write_text('#include <stdio.h>\nint main(void) { puts("hello"); }\n')
    git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-C", str(root)]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *arguments], check=True)


def commands_table(root: Path) -> Table:
    tracer = best_tracer()
    table = Table(title=f"recording commands (strace {tracer.version}, {FILES:,} files)")
    for name in ("command", "CPU ms", "traced", "factor", "wanted", "wall ms", "recorded"):
        table.add_column(name, justify="left" if name == "command" else "right")
    for command, wanted in WANTED.items():
        if not shutil.which(command.split()[0]) and command.split()[0] != "for":
            continue
        argv = ["bash", "-c", command]
        plain, traced, wall, recorded = [], [], [], []
        with one_cpu():
            for _ in range(RUNS):
                plain.append(cpu_ms(argv, root))
                traced.append(traced_cpu_ms(argv, root))
        with Recorder("t", work_roots=[root], env=ENV) as recorder:
            for _ in range(RUNS):
                wall.append(timed(lambda a=argv: subprocess.run(
                        a, cwd=root, env=ENV, capture_output=True, check=False
                    )))  # fmt: skip
                recorded.append(timed(lambda c=command, r=recorder: r.run(c)))
        factor = min(traced) / min(plain)
        table.add_row(
                escape(command), f"{min(plain):.0f}", f"{min(traced):.0f}", f"{factor:.1f}x",
                f"{wanted}x" if wanted else "-", f"{min(wall):.0f}", f"{min(recorded):.0f}",
            )  # fmt: skip
    return table


def cpu_ms(argv: list[str], cwd: Path, **how) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, cwd=cwd, env=ENV, capture_output=True, check=False, **how)
    with suppress(ChildProcessError):  # the tracer is a child as well, and may end a little later
        while True:
            os.waitpid(-1, 0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def traced_cpu_ms(argv: list[str], cwd: Path) -> float:
    """Trace as the recorder does: into a pipe that a thread empties."""
    read, write = os.pipe()
    fcntl(write, F_SETPIPE_SZ, LOG_PIPE_BYTES)
    drain = threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(read, 65536), b"")])
    drain.start()
    try:
        return cpu_ms(best_tracer().command(argv, f"/dev/fd/{write}"), cwd, pass_fds=[write])
    finally:
        os.close(write)
        drain.join()
        os.close(read)


@contextmanager
def one_cpu() -> Generator[None]:
    """Stay on one CPU: between two idle ones, a tracer and its tracee wake each other slowly."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def adopt_orphans() -> None:
    """Become the parent of tracers, which leave theirs, so that their CPU time is counted."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def timed(action) -> float:
    started = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - started)


def contents_table(root: Path) -> Table:
    table = Table(title=f"what changed among {FILES:,} files, ms: median (least)")
    for name in ("", "10 changed, as traced", "and a sweep for the rest"):
        table.add_column(name)
    started = time.perf_counter()
    contents = Contents([str(root)])
    first = 1000 * (time.perf_counter() - started)
    seen: dict[bool, list[float]] = {False: [], True: []}
    for run in range(2 * RUNS):
        for sweep in (False, True):
            names = [str(root / f"d{number}/f{50 * number}.txt") for number in range(10)]
            for name in names:
                lines = Path(name).read_text().splitlines()
                lines[50] = f"edited {run} {sweep}"
                Path(name).write_text("\n".join(lines))
            seen[sweep].append(timed(lambda n=names, s=sweep: contents.refresh(n, sweep=s)))
    cells = [f"{statistics.median(times):.1f} ({min(times):.1f})" for times in seen.values()]
    table.add_row("each command", *cells)
    table.add_row("the first look at all", f"{first:.0f}", "")
    return table


if __name__ == "__main__":
    main()
