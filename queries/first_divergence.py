"""The states in which failed rollouts part ways with siblings that succeed."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ..graph.store import Store
from . import library

_COLUMNS = ("task", "group", "rollout", "sibling", "step", "state", "key", "action")


def first_divergence(store: Store, groups: Sequence[str] = ()) -> pd.DataFrame:
    """One row a failed rollout: the sibling that it follows longest, and where it leaves it."""
    rows = library.run(store, "first_divergence", groups=list(groups)).to_pylist()
    paths: defaultdict[tuple[str, str], dict[str, list[Mapping[str, Any]]]] = defaultdict(dict)
    for row in rows:
        paths[row["task"], row["group"]].setdefault(row["rollout"], []).append(row)
    found: list[dict[str, Any]] = []
    for of_group in paths.values():
        succeeded = [path for path in of_group.values() if path[0]["success"]]
        for path in of_group.values():
            if path[0]["success"] or not succeeded:
                continue
            shared, sibling = max(
                ((_shared(path, other), other) for other in succeeded), key=lambda pair: pair[0]
            )
            if shared:
                last = path[shared - 1]
                found.append(
                    {name: last.get(name) for name in _COLUMNS}
                    | {"sibling": sibling[0]["rollout"]}
                    | {"sibling_action": sibling[shared - 1]["action"]}
                )
    return pd.DataFrame(found, columns=[*_COLUMNS, "sibling_action"])


def _shared(first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> int:
    """Return how many states two paths share from their first step on."""
    count = 0
    for a, b in zip(first, second, strict=False):
        if a["step"] != count or b["step"] != count or a["state"] != b["state"]:
            break
        count += 1
    return count
