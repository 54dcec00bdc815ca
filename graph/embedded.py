"""The embedded store: a folder with a LadybugDB graph, its published snapshot and the rollout log.

    NAME.rollgraph/
      lock            held while a process has the store open for writing
      log/            the rollout log: the truth
      graph.lbug      the graph that the writer works on
      snapshot.lbug   the graph as it was last published: what other processes read

One process writes. A transaction is durable by the log, which is written first, and in the graph
from the next checkpoint on. After a writer was killed, the graph is restored from its snapshot and
the batches that it lacks follow from the log (`rollgraph.ingest.catch_up`); the engine's own
recovery is not used, since replaying its write-ahead log can crash the process. Nor is its rollback
trusted: rows of a COPY that was rolled back turn up again, so a store whose write failed is of no
more use until it is opened again.
"""

import atexit
import os
import shutil
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self, cast

import filelock
import ladybug
import pyarrow as pa

from .errors import QueryError, StoreError, StoreLockedError
from .log import RolloutLog
from .rows import Rows
from .schema import SCHEMA_VERSION, embedded_ddl
from .store import (
    SHARED,
    check_parameters,
    check_version,
    removals,
    task_update,
)

BUFFER_POOL_BYTES = 1 << 30
MAX_DB_BYTES = 1 << 36
CHECKPOINT_ROWS = 2_000_000
"""Rows after which a writer checkpoints: what is not checkpointed stays in memory."""
_REOPEN = "close the store and open it again"
MAX_PATH_LENGTH = 65535
"""The engine's own limit: it keeps a path's length in 16 bits, and a larger limit wraps around."""


class _Database:
    """A LadybugDB file with a read connection for each thread.

    Connections are kept, since each keeps the plans of the queries that it has run.
    """

    engine = "embedded"

    def __init__(self, file: Path, *, read_only: bool) -> None:
        self._pid = os.getpid()
        self._failure: str | None = None
        """Why the database is of no more use, or None."""
        self._local = threading.local()
        try:
            self._database = ladybug.Database(
                file,
                buffer_pool_size=BUFFER_POOL_BYTES,
                max_db_size=MAX_DB_BYTES,
                read_only=read_only,
                auto_checkpoint=False,
            )
        except RuntimeError as error:
            raise StoreError(
                f"{file}: cannot be opened ({error}); `rollgraph rebuild` makes it anew"
            ) from error

    def connect(self) -> ladybug.Connection:
        """Open a connection of its own. Raises StoreError where the database is out of use."""
        self._check_usable()
        connection = ladybug.Connection(self._database)
        connection.execute(f"CALL var_length_extend_max_depth={MAX_PATH_LENGTH}")
        return connection

    def _check_usable(self) -> None:
        if os.getpid() != self._pid:
            raise StoreError(
                f"the store was opened by process {self._pid} and cannot be used after a fork in "
                f"process {os.getpid()}: open it there"
            )
        if self._failure:
            raise StoreError(f"{self._failure}; {_REOPEN}")

    def query(
        self,
        text: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> pa.Table:
        """Run one query and return its rows. Raises QueryError."""
        parameters = dict(parameters or {})
        check_parameters(text, parameters)
        self._check_usable()
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self.connect()
        connection.set_query_timeout(int((timeout_s or 0) * 1000))
        try:
            result = connection.execute(text, parameters)
        except RuntimeError as error:
            raise QueryError(f"the embedded engine refused the query: {error}") from error
        if isinstance(result, list):
            raise QueryError("expected one statement, found several")
        return _integers_for_decimals(result.get_as_arrow())

    def _close(self) -> None:
        self._local = threading.local()
        self._database.close()


class EmbeddedSnapshot(_Database):
    """The published snapshot of an embedded store, for reading only."""

    def __init__(self, folder: Path) -> None:
        file = folder / "snapshot.lbug"
        if folder.is_file():
            raise StoreError(f"{folder}: expected a store's folder, found a file")
        if not file.exists():
            raise StoreError(
                f"{folder}: holds no rollouts yet; `rollgraph ingest FILE --store {folder}` "
                "brings some in"
            )
        super().__init__(file, read_only=True)
        self.log: RolloutLog | None = RolloutLog(folder / "log")
        self.notice: str | None = None
        check_version(self, folder)

    def writing(self) -> NoReturn:
        """Refuse: the store was opened for reading only."""
        raise StoreError("the store was opened for reading only")

    def write(self, _rows: Rows, /) -> None:
        """Refuse: the store was opened for reading only."""
        self.writing()

    def publish(self) -> None:
        """Do nothing: a snapshot is published as it is."""

    def close(self) -> None:
        """Let go of the snapshot."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class EmbeddedStore(_Database):
    """An embedded store open for writing; a process opens a folder once, however often it asks."""

    _opened: ClassVar[dict[Path, "EmbeddedStore"]] = {}

    @classmethod
    def open(cls, folder: Path, *, anew: bool = False) -> "EmbeddedStore":
        """Open a folder, made where it does not exist; `anew`: with an empty graph.

        Raises StoreLockedError while another process has it open, StoreError where `anew` would
        leave nothing to make the graph from.
        """
        folder = folder.resolve()
        store = cls._opened.get(folder)
        if store is None or store._pid != os.getpid():
            store = cls._opened[folder] = cls(folder, anew=anew)
        elif anew:
            raise StoreError(f"{folder}: close the store before it is made anew")
        store._users += 1
        return store

    def __init__(self, folder: Path, *, anew: bool) -> None:
        self.folder = folder
        self._graph = folder / "graph.lbug"
        self._snapshot = folder / "snapshot.lbug"
        self._writing = threading.RLock()
        self._users = 0
        self._rows = 0
        self._published = True
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"{folder}: expected a folder, or a place for one ({error.strerror})"
            ) from error
        self._lock = _locked(folder)
        try:
            self.log: RolloutLog | None = RolloutLog(folder / "log")
            if anew:
                self._discard(self._graph, self._snapshot)
            self.notice: str | None = self._restore()
            is_new = not self._graph.exists()
            super().__init__(self._graph, read_only=False)
            if is_new:
                self._create()
            check_version(self, folder)
        except BaseException:
            self._lock.release()
            raise

    def _discard(self, *files: Path) -> None:
        if not RolloutLog(self.folder / "log").batches() and self._graph.exists():
            raise StoreError(f"{self.folder}/log: holds no batch to make the graph from")
        for file in files:
            for leftover in file.parent.glob(f"{file.name}*"):
                leftover.unlink()

    def _restore(self) -> str | None:
        """Put the snapshot in the place of a graph whose writer did not close it."""
        if self._graph.exists() and not list(self.folder.glob("graph.lbug.*")):
            return None
        was_killed = bool(list(self.folder.glob("graph.lbug*")))
        for leftover in self.folder.glob("graph.lbug*"):
            leftover.unlink()
        if self._snapshot.exists():
            shutil.copyfile(self._snapshot, self._graph)
        return "the last writer was stopped before it closed the store" if was_killed else None

    def _create(self) -> None:
        connection = self.connect()
        for statement in embedded_ddl():
            connection.execute(statement)
        connection.execute(
            "CREATE (:Schema {id: 'rollgraph', version: $version})", {"version": SCHEMA_VERSION}
        )
        self._published = False
        self.publish()

    @contextmanager
    def writing(self) -> Generator[None]:
        """Keep other threads from writing, across several calls."""
        with self._writing:
            yield

    def write(self, rows: Rows) -> None:
        """Write rows in one transaction: all of them or none.

        Raises StoreError where the engine fails; the store has then to be opened again.
        """
        nodes = {label: columns.to_arrow() for label, columns in rows.nodes.items() if columns}
        edges = {key: columns.to_arrow() for key, columns in rows.edges.items() if columns}
        with self._writing:
            # A connection of its own: the engine keeps memory of each table that one has scanned.
            connection = self.connect()
            connection.execute("BEGIN TRANSACTION")
            try:
                left = _shared(connection, rows.replaced)
                for statement, parameters in removals(rows):
                    connection.execute(statement, parameters)
                for label, table in nodes.items():
                    connection.execute(f"COPY `{label}` FROM $rows", {"rows": table})
                for (kind, source, target), table in edges.items():
                    ends = f"(from='{source}', to='{target}')"
                    connection.execute(f"COPY `{kind}` FROM $rows {ends}", {"rows": table})
                for delete, ids in left.items():
                    connection.execute(delete, {"ids": ids})
                for task in rows.tasks:
                    connection.execute(*task_update(task))
                connection.execute("COMMIT")
            except BaseException as error:
                self._failure = f"{self.folder}: nothing was written ({error})"
                if isinstance(error, RuntimeError):
                    raise StoreError(f"{self._failure}; {_REOPEN}") from error
                raise
            self._published = False
            self._rows += len(rows)
            if self._rows > CHECKPOINT_ROWS:
                self._checkpoint()

    def publish(self) -> None:
        """Make what was written durable in the graph, and visible to other processes."""
        with self._writing:
            if self._published:
                return
            self._checkpoint()
            part = self._snapshot.with_suffix(".part")
            shutil.copyfile(self._graph, part)
            with part.open("rb") as file:
                os.fsync(file.fileno())
            part.replace(self._snapshot)
            self._published = True

    def _checkpoint(self) -> None:
        self.connect().execute("CHECKPOINT")
        self._rows = 0

    def close(self) -> None:
        """Publish and let go of the store, once everybody who opened it has closed it."""
        self._users -= 1
        if self._users > 0 or os.getpid() != self._pid:
            return
        with self._writing:
            if self._opened.pop(self.folder, None) is not self:
                return
            if not self._failure:
                self.publish()
            self._close()
            if self._failure:
                self._graph.unlink()  # the next one to open it starts from the snapshot
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @classmethod
    def close_all(cls) -> None:
        """Close what a program left open, so that nothing of it stays unpublished."""
        for store in list(cls._opened.values()):
            store._users = 1
            store.close()


atexit.register(EmbeddedStore.close_all)


def _locked(folder: Path) -> filelock.BaseFileLock:
    lock = filelock.FileLock(folder / "lock", timeout=0)
    holder = folder / "lock.pid"
    try:
        lock.acquire()
    except filelock.Timeout:
        pid = holder.read_text() if holder.exists() else "unknown"
        raise StoreLockedError(
            f"{folder}: process {pid} has the store open for writing; wait for it to close, or "
            "read the published snapshot (open_store(…, read_only=True))"
        ) from None
    holder.write_text(str(os.getpid()))
    return lock


def _shared(connection: ladybug.Connection, rollouts: list[str]) -> dict[str, list[str]]:
    """Return the shared nodes of rollouts that go, by what removes the unused of them."""
    used = SHARED if rollouts else {}
    found = {
        delete: _ids(connection.execute(ask, {"rollouts": rollouts}))
        for ask, delete in used.items()
    }
    return {delete: ids for delete, ids in found.items() if ids}


def _ids(result: object) -> list[str]:
    table = cast("ladybug.QueryResult", result).get_as_arrow()
    return [row["id"] for row in table.to_pylist()]


def _integers_for_decimals(table: pa.Table) -> pa.Table:
    """Give sums of integers back as integers: the engine widens them to decimals."""
    for index, name in enumerate(table.schema.names):
        column = table.column(index)
        if pa.types.is_decimal(column.type):
            table = table.set_column(index, name, column.cast(pa.int64()))
    return table
