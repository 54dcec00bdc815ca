"""One thread that reads whatever a session's processes and tracers write, as it comes."""

import os
import selectors
import threading
from collections.abc import Callable

CHUNK = 1 << 16


class Pump:
    """Reads file descriptors in a thread; all callbacks run under `changed`, one at a time.

    A background process never blocks on a full pipe, whether a command runs or not. Whoever waits
    for the outcome of a callback waits on `changed`.
    """

    def __init__(self) -> None:
        """Start the thread."""
        self.changed = threading.Condition()
        self._selector = selectors.DefaultSelector()
        self._wake, self._wakes = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._is_closed = False
        self.failure: Exception | None = None
        """What a callback failed with: nothing that it was to tell will come."""
        self._thread = threading.Thread(target=self._run, name="rollgraph-pump", daemon=True)
        self._thread.start()

    def add(self, fd: int, callback: Callable[[bytes], None]) -> None:
        """Read a descriptor, which the pump then owns, until its end; that calls back with b""."""
        os.set_blocking(fd, False)
        self._selector.register(fd, selectors.EVENT_READ, callback)
        os.write(self._wakes, b".")

    def drain(self, fd: int, callback: Callable[[bytes], None]) -> None:
        """Within a callback: read what another descriptor holds, up to what a pipe can hold."""
        read = 0
        while read < CHUNK and (data := self._read(fd)):
            callback(data)
            read += len(data)

    def close(self) -> None:
        """Stop reading and close every descriptor."""
        self._is_closed = True
        os.write(self._wakes, b".")
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            os.close(key.fd)
        os.close(self._wakes)
        self._selector.close()

    def _run(self) -> None:
        while not self._is_closed:
            for key, _ in self._selector.select():
                if key.data is None:
                    self._read(key.fd)
                    continue
                with self.changed:
                    self._take(key.fd, key.data)
                    self.changed.notify_all()

    def _take(self, fd: int, callback: Callable[[bytes], None]) -> None:
        data = self._read(fd)
        if data is None:
            return
        if not data:
            self._selector.unregister(fd)
            os.close(fd)
        try:
            callback(data)
        except Exception as error:
            self.failure = error

    def _read(self, fd: int) -> bytes | None:
        try:
            return os.read(fd, CHUNK)
        except BlockingIOError:
            return None
        except OSError:
            return b""


class Output:
    """What a command printed: its head and its tail, where there is more than fits."""

    def __init__(self, limit: int) -> None:
        """Keep `limit` bytes."""
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self.size = 0

    def feed(self, data: bytes) -> None:
        """Take in what was printed."""
        self.size += len(data)
        room = self._half - len(self._head)
        self._head += data[:room] if room > 0 else b""
        self._tail += data[max(room, 0) :]
        if len(self._tail) > 4 * self._half:
            del self._tail[: -self._half]

    @property
    def left_out(self) -> int:
        """Bytes that are not kept."""
        return max(self.size - 2 * self._half, 0)

    def text(self) -> str:
        """Return it as text; the place of what is left out says how much."""
        tail = bytes(self._tail[-self._half :])
        if not self.left_out:
            return _decoded(bytes(self._head) + tail)
        gap = f"\n[... {self.left_out} bytes left out ...]\n"
        return _decoded(bytes(self._head)) + gap + _decoded(tail)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace").replace("\0", "\\x00")
