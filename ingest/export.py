"""The rollout records of a store, as they came in."""

import json
from collections.abc import Iterator
from typing import Any

from ..graph.credit_run import KIND
from ..graph.errors import StoreError
from ..graph.store import Store


def export(store: Store) -> Iterator[bytes]:
    """Go through the records of a store, one line each, the newest of each id.

    They come in the order in which their ids first came in, and byte for byte as they were, so
    that ingesting them makes the same graph. Raises StoreError where the store keeps no log.
    """
    if store.log is None:
        raise StoreError(
            "this store keeps no log, and only a log holds whole records (--log FOLDER)"
        )
    newest: dict[tuple[str, str], tuple[str, int]] = {}
    for batch in store.log.read_all():
        if batch.header["kind"] != KIND:
            for index, line in enumerate(batch.lines):
                newest[_key(line)] = (batch.id, index)
    read: dict[str, list[bytes]] = {}
    for batch_id, index in newest.values():
        if batch_id not in read:
            read = {batch_id: store.log.read(batch_id).lines}  # neighbours are mostly of one batch
        yield read[batch_id][index]


def _key(line: bytes) -> tuple[str, str]:
    record: dict[str, Any] = json.loads(line)
    return record["type"], record["id"]
