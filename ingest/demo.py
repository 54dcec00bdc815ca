"""The demo's rollouts: three small tasks, four attempts each, recorded while they really run.

Where commands cannot be traced, a recording of such a run stands in, which is made by
`python -m tests.demo.record`.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .demo_tasks import TASKS, DemoTask
from .recorder import Recorder

DEMO_FILE = Path(__file__).with_name("demo_rollouts.jsonl")
"""The recording."""

DEMO_EXPLAINED = (
    "fix-config/reads-then-edits/1/0",
    "build-report/mends-the-script/0/0",
    "start-server/tries-another-port-first/2/0",
)
"""Commands whose credit the demo explains: a read, an indirect write, a read of a port."""

TIMEOUT_S = 60.0


def record_demo(folder: Path) -> Iterator[dict[str, Any]]:
    """Run every attempt in a folder of its own below `folder`, and yield the records.

    The policy is a script that types: its tokens are the bytes of its responses.
    """
    for task in TASKS:
        yield {"type": "task", "id": task.name, "description": task.description}
        for name in task.attempts:
            yield _attempt(task, name, folder / task.name)


def _attempt(task: DemoTask, name: str, folder: Path) -> dict[str, Any]:
    for path in folder.rglob("*"):
        if path.is_file():
            path.unlink()
    for path, text in task.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": os.devnull}
    with Recorder(task.name, work_roots=[folder], env=env) as recorder:
        for text in task.attempts[name]:
            recorder.step(response=text, action=text, tokens={"count": len(text.encode())})
            recorder.run(text, timeout_s=TIMEOUT_S)
        recorder.verify(task.verifier, timeout_s=TIMEOUT_S)
        return recorder.rollout(id=f"{task.name}/{name}", policy={"name": "script"})
