"""How often the dependency mechanism is active (DepGPO, Table 11)."""

from collections.abc import Sequence
from math import fsum

import pandas as pd

from ..graph.store import Store
from . import library
from .credit import credit


def trace_statistics(store: Store, groups: Sequence[str] = ()) -> pd.DataFrame:
    """One row with the statistics of the paper's Table 11, at the method's default parameters.

    A share of nothing is missing. The distance is over pairs of a read with positive credit and a
    write that it reaches. Raises CreditError for an unknown group.
    """
    wanted = list(groups)
    (counts,) = library.run(store, "trace_statistics", groups=wanted).to_pylist()
    rollouts = list(credit(store, "depgpo", wanted)) if counts["rollouts"] or wanted else []
    commands = [(rollout.rollout, command) for rollout in rollouts for command in rollout.commands]
    writes = [command for _, command in commands if command.kind == "write"]
    reads = [command for _, command in commands if command.kind == "read"]
    credited = {
        (rollout, command.position)
        for rollout, command in commands
        if command.kind == "read" and command.credit > 0
    }
    distances = [
        row["distance"]
        for row in library.run(store, "read_distances", groups=wanted).to_pylist()
        if (row["rollout"], row["position"]) in credited
    ]
    usable = [any(step.factor != 1 for step in rollout.steps) for rollout in rollouts]
    positive = [command for command in writes if command.credit > 0]
    row = {
        "rollouts": counts["rollouts"],
        "commands_per_rollout": _mean([counts["commands"]], counts["rollouts"]),
        "usable_credit": _mean(usable),
        "unit_factors": _mean([not is_usable for is_usable in usable]),
        "positive_writes": _mean([command.credit > 0 for command in writes]),
        "positive_reads": _mean([command.credit > 0 for command in reads]),
        "indirect_writes": _mean([command.indirect > 0 for command in positive]),
        "mean_read_distance": _mean(distances),
    }
    return pd.DataFrame([row])


def _mean(values: Sequence[float], count: int | None = None) -> float | None:
    size = len(values) if count is None else count
    return fsum(values) / size if size else None
