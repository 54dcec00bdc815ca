"""Ask a named question: one of the library's queries, or one whose answer needs arithmetic."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa

from ..graph.store import Store
from . import library
from .dead_ends import dead_ends
from .first_divergence import first_divergence
from .group_health import group_health
from .trace_statistics import trace_statistics

WITH_ARITHMETIC: dict[str, Callable[..., pd.DataFrame]] = {
    "dead_ends": dead_ends,
    "first_divergence": first_divergence,
    "group_health": group_health,
    "trace_statistics": trace_statistics,
}


def ask(store: Store, name: str, **parameters: Any) -> pd.DataFrame:
    """Run a named query and return its rows as a table. Raises QueryError."""
    given = library.load(name).bind(parameters)
    if name in WITH_ARITHMETIC:
        return WITH_ARITHMETIC[name](store, **given)
    return as_frame(library.run(store, name, **given))


def as_frame(rows: pa.Table) -> pd.DataFrame:
    """Turn rows into a table for people, in which integers stay integers."""
    return rows.to_pandas(integer_object_nulls=True)
