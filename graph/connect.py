"""Open a store by its address."""

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from .embedded import EmbeddedSnapshot, EmbeddedStore
from .errors import StoreError
from .neo4j_store import Neo4jStore
from .store import Store

_SERVER_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")


def open_store(
    url: str | os.PathLike[str],
    *,
    log: str | os.PathLike[str] | None = None,
    read_only: bool = False,
    anew: bool = False,
) -> Store:
    """Open a store, made where it does not exist.

    `url` is a folder (the embedded engine) or a server's address, such as `bolt://host:7687`, whose
    credentials come from the URL or from NEO4J_USERNAME and NEO4J_PASSWORD, and whose database from
    NEO4J_DATABASE (default `neo4j`). `log` is where a Neo4j store keeps its rollout log.
    `read_only` opens the published snapshot of an embedded store, which another process may write.
    `anew` starts from an empty graph; the log stays, and `rollgraph.ingest.catch_up` fills it
    again.

    Raises StoreError, StoreLockedError or SchemaVersionError.
    """
    address = os.fspath(url)
    parts = urlsplit(address)
    if parts.scheme in _SERVER_SCHEMES:
        host = parts.netloc.rpartition("@")[2]
        user = parts.username or os.environ.get("NEO4J_USERNAME")
        password = parts.password or os.environ.get("NEO4J_PASSWORD")
        return Neo4jStore(
            urlunsplit((parts.scheme, host, "", "", "")),
            auth=(unquote(user), unquote(password or "")) if user else None,
            database=os.environ.get("NEO4J_DATABASE", "neo4j"),
            log=Path(log) if log else None,
            read_only=read_only,
            anew=anew,
        )
    if "://" in address:
        schemes = ", ".join(f"{scheme}://" for scheme in _SERVER_SCHEMES)
        raise StoreError(f"{address}: expected a folder or one of {schemes}")
    if log:
        raise StoreError(f"{address}: an embedded store keeps its log itself (no --log)")
    if read_only:
        return EmbeddedSnapshot(Path(address))
    return EmbeddedStore.open(Path(address), anew=anew)
