"""The lines of strace as events: calls whole again, deaths, signals; and lines that are none.

A strict, streaming, linear reader of `strace -f -ttt`. The two halves of an interrupted call are
joined, and every text is decoded to bytes. A line that does not parse becomes `Unparsed`, never a
guess; nothing that the log can hold raises an error.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

MAX_LINE = 1 << 18
"""Bytes; longer lines are none of strace's, whose paths end at 4,096 and other texts at 512."""


@dataclass(slots=True)
class Call:
    """A system call that has returned, or ended with its thread."""

    pid: int
    name: str
    arguments: list[bytes]
    """As strace wrote them, such as b'AT_FDCWD</app>' or b'"ports.txt"'."""
    result: int | None
    """None: unknown, since the thread ended within the call."""
    returned: bytes | None = None
    """The path, or kind:[name] of a socket, of the file descriptor that was returned."""
    error: str = ""
    """Such as ENOENT; empty where there is none."""

    @property
    def succeeded(self) -> bool:
        """Whether the call did what it was asked for."""
        return self.result is not None and self.result >= 0


@dataclass(slots=True)
class Ended:
    """A thread is gone, or its id is (an exec by another thread took the id over)."""

    pid: int


@dataclass(slots=True)
class Signalled:
    """A signal reached a thread."""

    pid: int
    name: str
    sender: int | None


@dataclass(slots=True)
class Unparsed:
    """A line that is not strace's."""

    line: bytes


Event = Call | Ended | Signalled | Unparsed

CREATES_PROCESS = frozenset({"fork", "vfork", "clone", "clone3"})

_HEAD = re.compile(rb"(\d+) +(?:\d+\.\d+ )?")
_NAME = re.compile(rb"(\w+)\(")
_RESUMED = re.compile(rb"<\.\.\. (\w+) resumed>")
_UNFINISHED = re.compile(rb" *<(?:unfinished|pid changed to (\d+)) \.\.\.>")
_SOCKET = rb"\w[\w-]*:\[(?:[^\]\"]|\"(?:[^\"\\]|\\.)*+\"|\](?!>))*+\]"
_ANNOTATION = re.compile(rb"<(?!<)(" + _SOCKET + rb"|[^>]*+)>(\(deleted\))?", re.DOTALL)
_PLAIN = re.compile(rb"[^\"()\[\]{},</]+")
_STRING = re.compile(rb"\"(?:[^\"\\]|\\.)*+\"(?:\.\.\.)?", re.DOTALL)
_COMMENT = re.compile(rb"/\*.*?\*/")
_RESULT = re.compile(rb" += +(\?|-?\d+|0x[0-9a-f]+)(?: ([A-Z]\w*))?")
_SIGNAL = re.compile(rb"--- (SIG\w+) (?:\{(?:.*?si_pid=(\d+))?.*\} )?---$")
_STOPPED = re.compile(rb"--- stopped by SIG\w+ ---$")
_GONE = re.compile(
    rb"\+\+\+ (?:exited with \d+|killed by \w+(?: \(core dumped\))?"
    rb"|superseded by execve in pid \d+) \+\+\+$"
)
_USUAL = re.compile(
    rb"(\w+)\((?:(AT_FDCWD<[^>]*+>|\d+<[^>:]*+>), )?(\"(?:[^\"\\]|\\.)*+\")"
    rb"(?:, ([^\"<>(){}\[\]/]*+|\{[^{}\"<>()]*+\}, [^\"<>(){}\[\]/]*+))?\)"
    rb" += (-?\d+)(?:<([^>:]*+)>| ([A-Z]+) \([^()]*+\))?$",
    re.DOTALL,
)
"""A whole call with one name, as most are: read at once, and with the same outcome."""
_LOOKS = re.compile(
    rb"\d+ +\d+\.\d+ (?:open|access|faccessat|stat|lstat|newfstatat|statx|readlink)\w*\("
    rb"(?:(?:AT_FDCWD|\d+)<[^>]*+>, )?\"(/[^\"\\]*+)\""
)
_FSTAT = re.compile(rb"\d+ +\d+\.\d+ newfstatat\(\d+<[^>]*+>, \"\", ")
_WRITES = (b"O_WRONLY", b"O_RDWR", b"O_CREAT", b"O_TRUNC")
_NOT_A_FAILURE = 2**31
"""Above it an errno is none: what strace 6.1 prints where an exec succeeded under seccomp."""


@dataclass
class LineReader:
    """Bytes of a log in, events out, in the order of the log."""

    keeps: Callable[[bytes], bool] | None = None
    """Which absolute names matter to the reader of the events: calls that only look at others, as
    most calls of most programs do, are passed over."""
    _rest: bytes = b""
    _begun: dict[int, bytes] = field(default_factory=dict[int, bytes])
    """Per thread the first part of the call that it is within."""

    def feed(self, data: bytes) -> Iterator[Event]:
        """Read on; an incomplete last line waits for its rest."""
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > MAX_LINE:
            yield Unparsed(self._rest[:MAX_LINE])
            self._rest = b""
        for line in lines:
            if line:
                yield from self._line(line)

    def finish(self) -> Iterator[Event]:
        """End the log: calls without an end have an unknown result."""
        for pid, begun in sorted(self._begun.items()):
            call = _call(pid, begun + b") = ?")
            yield call or Unparsed(begun)
        self._begun.clear()
        if self._rest:
            yield Unparsed(self._rest)
            self._rest = b""

    def _is_idle(self, line: bytes) -> bool:
        """Whether a line is a whole call that does no more than look at what does not matter."""
        if line.endswith(b" ...>"):
            return False
        looks = self.keeps and _LOOKS.match(line)
        if not looks or not self.keeps:
            return bool(_FSTAT.match(line))
        name = looks[1]
        if self.keeps(name) or b"/." in name or b"//" in name:
            return False
        return not any(flag in line for flag in _WRITES)

    def _line(self, line: bytes) -> Iterator[Event]:
        if self._is_idle(line):
            return
        head = _HEAD.match(line)
        if not head or len(line) > MAX_LINE or len(head[1]) > 10:
            yield Unparsed(line)
            return
        pid, text = int(head[1]), line[head.end() :]
        if text.startswith((b"+++ ", b"--- ")):
            yield from self._notice(pid, text, line)
            return
        if resumed := _RESUMED.match(text):
            begun = self._begun.pop(pid, None)
            name = begun and _NAME.match(begun)
            if begun is None or not name or name[1] != resumed[1]:
                yield Unparsed(line)
                return
            text = begun + text[resumed.end() :]
        # The mark may stand at the end, or before the unknown result of a thread that ended.
        tail = text.rfind(b"<")
        mark = _UNFINISHED.search(text, max(tail - 1, 0)) if tail >= 0 else None
        if mark and mark.end() == len(text):
            if not _NAME.match(text):
                yield Unparsed(line)
            self._begun[int(mark[1] or pid)] = text[: mark.start()]
            return
        if mark and text[mark.end() :].strip() == b") = ?":
            text = text[: mark.start()] + b") = ?"
        yield _call(pid, text) or Unparsed(line)

    def _notice(self, pid: int, text: bytes, line: bytes) -> Iterator[Event]:
        if _GONE.match(text):
            # An exec by another thread continues under this id: its call is still to return.
            if not text.startswith(b"+++ superseded"):
                if begun := self._begun.pop(pid, None):
                    yield _call(pid, begun + b") = ?") or Unparsed(begun)
                yield Ended(pid)
        elif signal := _SIGNAL.match(text):
            yield Signalled(pid, signal[1].decode(), int(signal[2]) if signal[2] else None)
        elif not _STOPPED.match(text):
            yield Unparsed(line)


def _call(pid: int, text: bytes) -> Call | None:
    """Parse `name(arguments) = result`; None: it is not one."""
    if usual := _USUAL.match(text):
        name, folder, path, rest, result, returned, error = usual.groups()
        arguments = [folder, path] if folder else [path]
        if rest and rest.startswith(b"{"):
            end = rest.index(b"}") + 1
            arguments.append(rest[:end])
            rest = rest[end + 2 :]
        arguments += rest.split(b", ") if rest else []
        back = None if returned is None else unescaped(returned)
        return Call(
            pid, name.decode(), arguments, int(result), back, error.decode() if error else ""
        )
    name = _NAME.match(text)
    if not name:
        return None
    split = _arguments(text, name.end())
    if split is None:
        return None
    arguments, end = split
    found = _RESULT.match(text, end)
    if not found:
        return None
    returned = None
    if annotation := _ANNOTATION.match(text, found.end(1)):
        returned = unescaped(annotation[1])
    value = None if found[1] == b"?" else int(found[1], 0)
    error = (found[2] or b"").decode() if value is not None and value < 0 else ""
    if value == -1 and b"(errno " in text[end:] and name[1].startswith(b"execve"):
        number = re.search(rb"\(errno (\d{1,20})\)", text[end:])
        if number and int(number[1]) > _NOT_A_FAILURE:
            value = 0
    return Call(pid, name[1].decode(), arguments, value, returned, error)


def _arguments(text: bytes, at: int) -> tuple[list[bytes], int] | None:
    """Split arguments at their commas up to the closing bracket; the position after it."""
    arguments: list[bytes] = []
    start, depth, size = at, 0, len(text)
    while at < size:
        if plain := _PLAIN.match(text, at):
            at = plain.end()
            continue
        character = text[at : at + 1]
        if character in b"([{":
            depth += 1
        elif character in b")]}":
            if depth == 0:
                last = text[start:at].strip()
                if character != b")":
                    return None
                return ([*arguments, last] if last or arguments else arguments), at + 1
            depth -= 1
        elif character == b",":
            if depth == 0:
                arguments.append(text[start:at].strip())
                start = at + 1
        else:
            token = _quoted(text, at, character)
            if token is None:
                return None
            at = token
            continue
        at += 1
    return None


def _quoted(text: bytes, at: int, character: bytes) -> int | None:
    """Find the end of a string, an annotation or a comment; None: it has none."""
    if character == b"/":
        comment = _COMMENT.match(text, at)
        return comment.end() if comment else at + 1
    if character == b"<":
        if text[at - 1 : at].isalnum() and (annotation := _ANNOTATION.match(text, at)):
            return annotation.end()
        return at + 2 if text[at : at + 2] == b"<<" else None
    string = _STRING.match(text, at)
    return string.end() if string else None


_ESCAPE = re.compile(rb"\\([0-7]{1,3}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"v": b"\v", b"f": b"\f"}


def unescaped(text: bytes) -> bytes:
    """Decode strace's escapes: octal of one to three digits, and letters."""
    if b"\\" not in text:
        return text
    return _ESCAPE.sub(_escape, text)


def _escape(match: re.Match[bytes]) -> bytes:
    found = match[1]
    if found[:1].isdigit() and found[:1] not in b"89":
        return bytes([int(found, 8) & 0xFF])
    return _LETTERS.get(found, found)


def string(argument: bytes) -> bytes | None:
    """Return the text of a quoted argument; None: it is no string, or one cut short."""
    if len(argument) < 2 or not argument.startswith(b'"') or not argument.endswith(b'"'):
        return None
    return unescaped(argument[1:-1])


def annotated(argument: bytes) -> bytes | None:
    """Return the path, or kind:[name], that strace gave a file descriptor argument."""
    at = argument.find(b"<")
    found = _ANNOTATION.match(argument, at) if at > 0 else None
    return unescaped(found[1]) if found else None


def is_deleted(argument: bytes) -> bool:
    """Whether a file descriptor argument names a file that has no name any more."""
    return argument.endswith(b">(deleted)")
