r"""Typed values in texts: what a command printed and a later command's text reuses.

DepGPO, 3.2 and A.2, with the types of decision D10. A value is (type, normalized text):

- path: a word with a `/` in it, normalized like a resource; a relative one needs a known cwd;
- port: 1 to 65535 in port context: `:8080`, `port 8080`, `--port=8080`, `listen 8080`,
  `EXPOSE 8080`, but not the minutes of a time or the value of a JSON key;
- number: an integer of four or more digits that is no part of a longer word, path or decimal.

Bare file names are no values, nor are words with shell variables or globs, URLs and markup tags.
Another extraction can be handed to `ingest`.

>>> sorted(typed_values("python3 -m http.server --port=8080 -d /srv/./www", None))
[('number', '8080'), ('path', '/srv/www'), ('port', '8080')]
>>> sorted(typed_values("12:30 total: 63841 tokens in data/train.txt.", "/app"))
[('number', '63841'), ('path', '/app/data/train.txt')]
"""

import re
from collections.abc import Callable, Iterable, Set
from typing import TypeAlias

from .paths import normalize

TypedValue: TypeAlias = tuple[str, str]
"""Type and normalized text."""
Extractor: TypeAlias = Callable[[str, str | None], set[TypedValue]]
"""From a text and the working directory that its relative paths belong to, to its values."""

_NAMED_PORT = re.compile(
    r"(?<![A-Za-z])(?:port|listen|expose)[ \t=:\"']{1,16}(\d{1,5})(?!\w|\.\d)", re.IGNORECASE
)
_COLON_PORT = re.compile(r"(?<!\w[\"']):(\d{1,5})(?!\w|\.\d|:\S)")
_HOUR = re.compile(r"(?<![\d.])\d{1,2}$")
_NUMBER = re.compile(r"(?<![\w./])(\d{4,})(?!\w|\.\d|-\d)")
_NO_PATH = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,15}://\S*|</?[a-zA-Z][\w:-]*\s*/?>")
_WORD = re.compile(r"[^\s'\"`;|&<>()\[\],:=!\\]+")
_UNRESOLVED = re.compile(r"[$*?{}]|^~")


def typed_values(text: str, cwd: str | None) -> set[TypedValue]:
    """Extract the typed values of a text."""
    ports = [match[1] for match in _NAMED_PORT.finditer(text)]
    for match in _COLON_PORT.finditer(text):
        port, before = match[1], text[max(0, match.start() - 3) : match.start()]
        if not (len(port) == 2 and int(port) < 60 and _HOUR.search(before)):
            ports.append(port)
    values = {("port", str(int(port))) for port in ports if 1 <= int(port) <= 65535}
    values |= {("number", number.lstrip("0") or "0") for number in _NUMBER.findall(text)}
    return values | {("path", path) for path in _paths(text, cwd)}


RELATIVE = "relative"
"""The type of a relative path in a task's description: it is one path in each working directory."""


def described_values(description: str, extract: Extractor) -> set[TypedValue]:
    """Extract the values of a task's description, whose relative paths belong to no folder yet."""
    values = extract(description, None)
    below_root = extract(description, "/") - values
    return values | {(RELATIVE, text[1:]) for kind, text in below_root if kind == "path"}


def resolved(values: Set[TypedValue], folders: Iterable[str | None]) -> set[TypedValue]:
    """Return a description's values for commands that run in some folders."""
    relative = {text for kind, text in values if kind == RELATIVE}
    paths = {normalize(text, folder) for text in relative for folder in folders}
    return {value for value in values if value[0] != RELATIVE} | {
        ("path", path) for path in paths if path is not None
    }


def _paths(text: str, cwd: str | None) -> set[str]:
    words = _WORD.findall(_NO_PATH.sub(" ", text)) if "/" in text else []
    paths: set[str] = set()
    for word in words:
        if "/" in word and not _UNRESOLVED.search(word):
            path = normalize(re.sub(r"(?<=\w)\.+$", "", word), cwd)
            if path is not None and path != "/":
                paths.add(path)
    return paths
