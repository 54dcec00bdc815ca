"""Lines of rollout files, and what is refused of them.

A file is read as a stream and told plain, gzip and zstd apart by its first bytes. A line that is
not a valid record is refused with its place and reason; the others go on.
"""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any, cast

import zstandard
from pydantic import BaseModel

from ..graph.errors import IngestError, RecordError

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True)
class Refusal:
    """A line that was not ingested."""

    source: str
    line: int
    """Counted from 1."""
    field: str
    """Path of the faulty field within the record; empty: the line as a whole."""
    message: str

    def __str__(self) -> str:
        field = f"{self.field}: " if self.field else ""
        return f"{self.source}:{self.line}: {field}{self.message}"


@dataclass(frozen=True)
class Line:
    """A line that is not blank, with its number, counted from 1."""

    number: int
    text: bytes
    is_torn: bool = False
    """The file ends within it: there is no newline after it."""


class DamagedError(RecordError):
    """The file cannot be read beyond a line."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__("", message)
        self.line = line


class FileSource:
    """A rollout file: plain, gzip or zstd. Raises IngestError where it cannot be opened."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        if path.is_dir():
            raise IngestError(f"{path}: is a folder; expected a file of rollout records (.jsonl)")
        try:
            self.size = path.stat().st_size
            with path.open("rb") as file:
                self._magic = file.read(4)
        except OSError as error:
            raise IngestError(f"{path}: cannot be read ({error.strerror})") from error
        self.position = 0
        """Bytes of the file read so far."""

    def lines(self) -> Iterator[Line]:
        """Read the file from its start. Raises DamagedError where it cannot be decompressed."""
        number = 0
        with self._path.open("rb") as raw:
            stream = self._decompressed(raw)
            try:
                for number, text in enumerate(stream, 1):
                    self.position = raw.tell()
                    text = text.removeprefix(b"\xef\xbb\xbf") if number == 1 else text
                    if not text.isspace():
                        yield Line(number, text.rstrip(b"\r\n"), not text.endswith(b"\n"))
            except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
                raise DamagedError(
                    number + 1, f"the file is damaged from here on ({error})"
                ) from error

    def _decompressed(self, raw: IO[bytes]) -> Iterable[bytes]:
        if self._magic.startswith(_GZIP):
            return gzip.open(raw)
        return _zstd_lines(raw) if self._magic == _ZSTD else raw


def _zstd_lines(raw: IO[bytes]) -> Iterator[bytes]:
    """Decompress zstd frames into lines. Raises EOFError where the last frame is cut short."""
    frame = zstandard.ZstdDecompressor().decompressobj()
    rest: list[bytes] = []
    while chunk := raw.read(1 << 20):
        while chunk:
            if frame.eof:
                frame = zstandard.ZstdDecompressor().decompressobj()
            first, *others = frame.decompress(chunk).split(b"\n")
            chunk = frame.unused_data
            rest.append(first)
            if others:
                yield b"".join(rest) + b"\n"
                yield from (line + b"\n" for line in others[:-1])
                rest = [others[-1]]
    if last := b"".join(rest):
        yield last
    if not frame.eof:
        raise EOFError("Compressed file ended before the end-of-stream marker was reached")


class RecordSource:
    """Records that a program hands over: models, objects, or lines of JSON."""

    name = "records"

    def __init__(self, records: Iterable[object]) -> None:
        self._lines = [Line(number, _encoded(record)) for number, record in enumerate(records, 1)]
        self.size = len(self._lines)
        self.position = 0

    def lines(self) -> Iterator[Line]:
        """Go through the records from the first one on."""
        for position, line in enumerate(self._lines, 1):
            self.position = position
            yield line


def refusals_file(source: FileSource | RecordSource, to: str | PathLike[str] | None) -> Path | None:
    """Return where refused lines go. Raises IngestError where they cannot."""
    if to is None:
        return None
    path = Path(fspath(to))
    if path.exists() and Path(source.name).exists() and path.samefile(source.name):
        raise IngestError(f"{path}: refused lines cannot go into the file that is being read")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise IngestError(f"{path}: expected a file in a folder that exists, for refused lines")
    return path


def _encoded(record: object) -> bytes:
    if isinstance(record, BaseModel):
        return record.model_dump_json(exclude_unset=True).encode()
    if isinstance(record, bytes):
        return record
    text = record if isinstance(record, str) else json.dumps(cast("Any", record))
    return text.encode(errors="surrogatepass")
