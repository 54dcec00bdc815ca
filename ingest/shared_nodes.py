"""Nodes that the rollouts of a task share: they may be in the store already."""

from collections.abc import Collection
from hashlib import blake2b

from ..graph.store import Store


def hashed_id(task: str, name: str) -> str:
    """Return the id of a task's node that is known by a name of any length."""
    return f"{task}/{blake2b(name.encode(errors='surrogatepass'), digest_size=16).hexdigest()}"


def known_ids(store: Store, label: str, ids: Collection[str]) -> set[str]:
    """Return which ids of a label's nodes are in the store."""
    if not ids:
        return set()
    text = f"UNWIND $ids AS id MATCH (n:{label} {{id: id}}) RETURN n.id AS id"
    return {row["id"] for row in store.query(text, {"ids": sorted(ids)}).to_pylist()}
