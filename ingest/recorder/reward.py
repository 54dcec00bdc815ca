"""The reward that a verifier gives: by a file that it writes, else by its exit status."""

import json
from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import cast

from .recorded import Result

REWARD_FILES = ("reward.txt", "reward.json")


def reward_of(result: Result, written: Iterable[str]) -> tuple[float | None, str]:
    """Return the reward, and why there is none; `written` are the files that the verifier wrote.

    `reward.txt` holds a number; `reward.json` a number, or an object with the key `reward`.
    """
    files = sorted(Path(name) for name in written if Path(name).name in REWARD_FILES)
    for path in filter(Path.is_file, files):
        reward = _read(path)
        return reward, "" if reward is not None else "no_number_as_reward"
    return (None, "") if result.timed_out else (float(result.exit_code == 0), "")


def _read(path: Path) -> float | None:
    try:
        found: object = json.loads(path.read_text(errors="replace"))
    except (OSError, ValueError):
        return None
    if isinstance(found, dict):
        found = cast("dict[str, object]", found).get("reward")
    if isinstance(found, bool) or not isinstance(found, int | float) or not isfinite(found):
        return None
    return float(found)
