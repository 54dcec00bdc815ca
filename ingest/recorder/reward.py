"""The reward that a verifier gives: by a file that it writes, else by its exit status."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from ...graph.errors import RecorderError
from .recorded import Result

REWARD_FILES = ("reward.txt", "reward.json")


def reward_of(result: Result, written: Iterable[str]) -> float | None:
    """Return the reward; `written` are the files that the verifier wrote. None: it timed out.

    `reward.txt` holds a number; `reward.json` a number, or an object with the key `reward`. Raises
    RecorderError where such a file holds something else.
    """
    files = sorted(Path(name) for name in written if Path(name).name in REWARD_FILES)
    for path in filter(Path.is_file, files):
        return _read(path)
    return None if result.timed_out else float(result.exit_code == 0)


def _read(path: Path) -> float:
    text = path.read_text(errors="replace").strip()
    try:
        found: object = json.loads(text)
    except ValueError:
        found = None
    if isinstance(found, dict):
        found = cast("dict[str, object]", found).get("reward")
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise RecorderError(f"{path}: expected a number as the reward, found {text[:60]!r}")
    return float(found)
