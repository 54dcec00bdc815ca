"""Make the demo's rollout file by really running its tasks under strace.

    python -m tests.demo.record

Each command runs in a shell of its own in the task's folder, which is made anew for every attempt.
Reads, probes and ports come from strace; writes and deletions from the folder's contents before and
after the command. The policy is a script that types: its tokens are the bytes of its responses.
"""

import difflib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from .tasks import TASKS, DemoTask

TARGET = Path(__file__).parents[2] / "ingest" / "demo_rollouts.jsonl"
ROOT = Path("/tmp/rollgraph-demo")
STRACE = ["strace", "-DDD", "-f", "-q", "-y", "-s", "256", "-e", "trace=%file,bind,listen,connect"]
CALL = re.compile(
    r"^(?P<pid>\d+) +(?P<name>\w+)\((?P<args>.*)\) += (?P<result>-?\d+)(?:<(?P<path>[^>]*)>)?"
)
QUOTED = re.compile(r'(?:AT_FDCWD<(?P<cwd>[^>]*)>, )?"(?P<path>(?:[^"\\]|\\.)*)"')
PROBES = {"stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink"}


def main() -> None:
    lines = []
    for task in TASKS:
        lines.append({"type": "task", "id": task.name, "description": task.description})
        lines += [attempt(task, name) for name in task.attempts]
    TARGET.write_text("".join(json.dumps(line) + "\n" for line in lines))
    print(f"{TARGET}: {len(lines)} records")


def attempt(task: DemoTask, name: str) -> dict:
    folder = ROOT / task.name
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in task.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    steps, groups = [], []
    for text in task.attempts[name]:
        command, group = run(text, folder)
        groups.append(group)
        steps.append(
            {
                "response": text,
                "action": text,
                "tokens": {"count": len(text.encode())},
                "commands": [command],
            }
        )
    verifier, group = run(task.verifier, folder)
    for started in [*groups, group]:
        end(started)
    return {
        "type": "rollout",
        "id": f"{task.name}/{name}",
        "task": task.name,
        "policy": {"name": "script"},
        "reward": float(verifier["exit_code"] == 0),
        "steps": steps,
        "verifier": {
            "command": task.verifier,
            "reads": verifier["reads"],
            "probes": verifier["probes"],
            "writes": [write["path"] for write in verifier["writes"]],
            "ports": verifier["ports"]["used"],
        },
    }


def run(text: str, folder: Path) -> tuple[dict, int]:
    """Run one command under strace, and return its record and its process group."""
    before = contents(folder)
    with tempfile.TemporaryDirectory() as outside:
        log, stdout, stderr = (Path(outside) / name for name in ("calls", "stdout", "stderr"))
        started = time.time()
        # Files, not pipes: the tracer of a background server would keep a pipe open.
        with stdout.open("w") as out, stderr.open("w") as err:
            process = subprocess.Popen(
                [*STRACE, "-o", log, "bash", "-c", text],
                cwd=folder, stdout=out, stderr=err, start_new_session=True,
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
            )  # fmt: skip
            process.wait(timeout=60)
        duration = time.time() - started
        deadline = time.time() + 5
        while f"{process.pid} +++ exited" not in log.read_text() and time.time() < deadline:
            time.sleep(0.02)
        calls, printed, complaints = log.read_text(), stdout.read_text(), stderr.read_text()
    after = contents(folder)
    accesses = parsed(calls, folder, {*before, *after})
    writes = [
        {"path": str(path)} | lines(before.get(path), after[path])
        for path in sorted(after)
        if before.get(path) != after[path]
    ]
    return {
        "text": text,
        "cwd": str(folder),
        "exit_code": process.returncode,
        "stdout": printed,
        "stderr": complaints,
        **accesses,
        "writes": writes,
        "deletes": [str(path) for path in sorted(set(before) - set(after))],
        "duration_s": round(duration, 3),
    }, process.pid


def end(group: int) -> None:
    try:
        os.killpg(group, signal.SIGTERM)
    except ProcessLookupError:
        return
    time.sleep(0.2)


def contents(folder: Path) -> dict[Path, str]:
    return {path: path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def lines(before: str | None, after: str) -> dict:
    """Return the new-side ranges of the diff; none where there are no new lines."""
    matcher = difflib.SequenceMatcher(
        None, (before or "").splitlines(), after.splitlines(), autojunk=False
    )
    ranges = [
        [j1 + 1, j2] for tag, _, _, j1, j2 in matcher.get_opcodes() if tag != "equal" and j2 > j1
    ]
    return {"lines": ranges} if ranges else {}


def parsed(calls: str, folder: Path, files: set[Path]) -> dict:
    """Find reads and probes of the folder's files, and ports, in strace's lines."""
    reads, probes, opened, used = set(), set(), set(), set()
    for line in joined(calls):
        call = CALL.match(line)
        if not call:
            continue
        name, arguments, failed = call["name"], call["args"], int(call["result"]) < 0
        port = re.search(r"sin_port=htons\((\d+)\)", arguments)
        if port and name in ("bind", "connect") and int(port[1]):
            (opened if name == "bind" else used).add(int(port[1]))
        quoted = QUOTED.search(arguments)
        if not quoted:
            continue
        if not quoted["cwd"] and not quoted["path"].startswith("/"):
            continue  # relative to a folder that the line does not tell
        path = os.path.normpath(Path(quoted["cwd"] or "/") / quoted["path"])
        if folder not in Path(path).parents:
            continue
        is_read = name.startswith("open") and "O_WRONLY" not in arguments
        if is_read and not failed and Path(path) in files:
            reads.add(path)
        elif name in PROBES or (is_read and failed):
            probes.add(path)
    return {
        "reads": sorted(reads),
        "probes": sorted(probes - reads),
        "ports": {"opened": sorted(opened), "used": sorted(used)},
    }


def joined(calls: str) -> list[str]:
    """Put the two halves of interrupted calls together."""
    waiting: dict[str, str] = {}
    whole = []
    for line in calls.splitlines():
        pid, _, rest = line.partition(" ")
        if line.endswith("<unfinished ...>"):
            waiting[pid] = line.removesuffix("<unfinished ...>").rstrip()
        elif resumed := re.match(r" *<\.\.\. \w+ resumed>(.*)", rest):
            whole.append(waiting.pop(pid, pid) + resumed[1])
        else:
            whole.append(line)
    return whole


if __name__ == "__main__":
    main()
