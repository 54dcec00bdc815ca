"""The graph: typed records, the schema, and the stores that hold them.

>>> from rollgraph.graph import open_store
>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder, open_store(folder) as store:
...     store.query("MATCH (r:Rollout) RETURN count(*) AS rollouts").to_pydict()
{'rollouts': [0]}
"""

from .connect import open_store
from .errors import (
    CreditError,
    IngestError,
    QueryError,
    RecorderError,
    RecordError,
    RollgraphError,
    SchemaVersionError,
    StoreError,
    StoreLockedError,
)
from .log import RolloutLog
from .parsing import parse_record
from .records import Rollout, Task
from .rows import Rows
from .schema import EDGES, NODES, SCHEMA_VERSION
from .store import Store

__all__ = [
    "EDGES",
    "NODES",
    "SCHEMA_VERSION",
    "CreditError",
    "IngestError",
    "QueryError",
    "RecordError",
    "RecorderError",
    "RollgraphError",
    "Rollout",
    "RolloutLog",
    "Rows",
    "SchemaVersionError",
    "Store",
    "StoreError",
    "StoreLockedError",
    "Task",
    "open_store",
    "parse_record",
]
