"""Which groups give a training signal, and how much of what they did reaches the verifier."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

import pandas as pd

from ..graph.store import Store
from . import library
from .credit import credit


def group_health(store: Store, groups: Sequence[str] = ()) -> pd.DataFrame:
    """One row a group: rewards, unscored rollouts, and the share of commands that reach E.

    DepGPO, Figure 1 a and d. `reach_share` is the median over verified rollouts with traced
    commands; missing where a group has none. Raises CreditError for an unknown group.
    """
    table = library.run(store, "group_health", groups=list(groups)).to_pandas()
    task_of = {
        row["rollout"]: (row["task"], row["group"])
        for row in library.run(store, "rollouts", groups=list(groups)).to_pylist()
    }
    commands: defaultdict[tuple[str, str], int] = defaultdict(int)
    shares: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for rollout in credit(store, "depgpo", groups) if len(table) or groups else ():
        if rollout.commands:
            group = task_of[rollout.rollout]
            reaching = sum(command.reaches for command in rollout.commands)
            commands[group] += len(rollout.commands)
            shares[group].append(reaching / len(rollout.commands))
    keys = list(zip(table["task"], table["group"], strict=True))
    table["commands"] = [commands[key] for key in keys]
    table["reach_share"] = [median(shares[key]) if shares[key] else None for key in keys]
    return table
