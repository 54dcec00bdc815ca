"""Ingest: rollout records become the rows of the graph.

>>> from rollgraph.graph import open_store
>>> from tempfile import TemporaryDirectory
>>> record = {"type": "rollout", "id": "r1", "task": "t1", "reward": 1, "steps": []}
>>> with TemporaryDirectory() as folder, open_store(folder) as store:
...     print(ingest(store, [record]).new, ingest(store, [record]).unchanged)
1 1
"""

from .export import export
from .reader import Refusal
from .recovery import catch_up, open_for_reading, rebuild
from .states import STATE_READERS, StateReader, States
from .values import Extractor, TypedValue, typed_values
from .writer import Report, ingest

__all__ = [
    "STATE_READERS",
    "Extractor",
    "Refusal",
    "Report",
    "StateReader",
    "States",
    "TypedValue",
    "catch_up",
    "export",
    "ingest",
    "open_for_reading",
    "rebuild",
    "typed_values",
]
