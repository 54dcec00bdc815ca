"""States from which nothing that a group's rollouts did leads to success."""

from collections.abc import Sequence

import pandas as pd

from ..graph.store import Store
from . import library
from .batch import Batch
from .state_graph import StateGraphs


def dead_ends(store: Store, groups: Sequence[str] = ()) -> pd.DataFrame:
    """One row a state of a group that has no way to success, those visited most first.

    Raises CreditError for an unknown group.
    """
    graphs = StateGraphs(Batch(store, list(groups)), "group")
    alive = graphs.successes()
    alive |= {(*graph, row["state"]) for graph, row in graphs.measured("reward_flow")}
    table = library.run(store, "dead_ends", groups=list(groups)).to_pandas()
    nodes = zip(table["task"], table["group"], table["state"], strict=True)
    return table[[node not in alive for node in nodes]].reset_index(drop=True)
