"""The rollout log: the truth that the graph is an index of.

An append-only folder with one compressed file a batch. A batch is on disk, whole and flushed,
before the graph is touched; a reader never sees half of one. The first line of a file is its
header (JSON: where the records came from and what their edges were made with), every further line
a record, byte for byte as it came in.

    log/log-id              a random name: the graph tells the batches of several logs apart
    log/00000001.jsonl.zst  the first batch
"""

import json
import os
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import zstandard

from .errors import StoreError

_SUFFIX = ".jsonl.zst"


@dataclass(frozen=True)
class LogBatch:
    """A batch that was read back."""

    id: str
    header: dict[str, Any]
    lines: list[bytes]


class RolloutLog:
    """The batches of one folder, in order."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        name = folder / "log-id"
        if not name.exists():
            _write_new(name, uuid.uuid4().hex.encode())
        self.id = name.read_text().strip()

    def append(self, header: dict[str, Any], lines: Iterable[bytes]) -> str:
        """Write one batch to disk and return its id; it is durable when this returns."""
        content = b"\n".join([json.dumps(header).encode(), *lines]) + b"\n"
        compressed = zstandard.compress(content)
        number = self._last() + 1
        while True:
            path = self.folder / f"{number:08d}{_SUFFIX}"
            if _write_new(path, compressed):
                return self._id(path)
            number += 1  # another writer of the same log took the number

    def withdraw(self, batch: str) -> None:
        """Take back a batch whose transaction was refused, so that nobody tries it again."""
        self._path(batch).unlink()

    def batches(self) -> list[str]:
        """Return the ids of all batches, oldest first."""
        return [self._id(path) for path in sorted(self.folder.glob(f"*{_SUFFIX}"))]

    def read(self, batch: str) -> LogBatch:
        """Read one batch back. Raises StoreError where it is missing or damaged."""
        path = self._path(batch)
        try:
            content = zstandard.decompress(path.read_bytes())
            header, *lines = content.split(b"\n")
            return LogBatch(batch, cast("dict[str, Any]", json.loads(header)), lines[:-1])
        except FileNotFoundError:
            raise StoreError(f"{self.folder}: the log holds no batch {batch}") from None
        except (zstandard.ZstdError, ValueError) as error:
            raise StoreError(f"{path}: the batch is damaged ({error})") from error

    def read_all(self) -> Iterator[LogBatch]:
        """Read every batch, oldest first."""
        return map(self.read, self.batches())

    def _path(self, batch: str) -> Path:
        return self.folder / f"{batch.removeprefix(self.id + '/')}{_SUFFIX}"

    def _id(self, path: Path) -> str:
        return f"{self.id}/{path.name.removesuffix(_SUFFIX)}"

    def _last(self) -> int:
        batches = self.batches()
        return int(batches[-1].rpartition("/")[2]) if batches else 0


def _write_new(path: Path, content: bytes) -> bool:
    """Write a file that does not exist yet, whole and flushed; False: the name is taken."""
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(part, path)
        except FileExistsError:
            return False
    finally:
        part.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return True
