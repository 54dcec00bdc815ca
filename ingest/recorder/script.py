"""The complete commands of a shell script: what bash itself would read before it runs something.

A here-document, a loop or a continued line is one command; so is a list on one line. bash's own
parser (`bash -n`) says whether a text is complete.
"""

import os
import re
import subprocess
from collections.abc import Iterable, Iterator

from ...graph.errors import RecorderError

_INCOMPLETE = re.compile(
    r"^bash: (?:line \d+: )?(?:syntax error: )?unexpected (?:EOF|end of file|token `EOF')"
    r"|^bash: (?:line \d+: )?warning: here-document .* delimited by end-of-file",
    re.MULTILINE,
)
_CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*\\$")


def complete_commands(lines: Iterable[str]) -> Iterator[str]:
    """Yield the complete commands of lines, as soon as each is complete; comments are left out.

    What is incomplete at the end is a command too: the shell will say what is wrong with it. Raises
    RecorderError for a NUL character, which no shell reads.
    """
    waiting = ""
    for line in lines:
        waiting += line if line.endswith("\n") else f"{line}\n"
        if "\0" in line:
            raise RecorderError(f"{line!r}: a NUL character cannot be given to a shell")
        if _is_complete(waiting):
            if not _is_blank(waiting):
                yield waiting.rstrip("\n")
            waiting = ""
    if not _is_blank(waiting):
        yield waiting.rstrip("\n")


def _is_blank(text: str) -> bool:
    return all(not line.strip() or line.lstrip().startswith("#") for line in text.splitlines())


def _is_complete(text: str) -> bool:
    if _is_blank(text):
        return True
    # A single plain line needs no parser.
    if (
        text.count("\n") == 1
        and re.fullmatch(r"[\w./:=@%+,\s-]*\n", text)
        and not _KEYWORD.search(text)
    ):
        return True
    if _INCOMPLETE.search(complaints(text)):
        return False
    line = text.rstrip("\n")
    # A backslash at the end continues the line, but for one in a comment, which a quote in its
    # place does not open.
    return not (_CONTINUED.search(line) and _INCOMPLETE.search(complaints(f"{line[:-1]}'\n")))


_KEYWORD = re.compile(r"\b(?:if|for|while|until|case|select|function|time|coproc|do|then|else)\b")


def complaints(text: str) -> str:
    """Return what bash says of a text's syntax; empty: it is right."""
    checked = subprocess.run(
        ["bash", "-n"],
        input=text.encode("utf-8", "surrogateescape"),
        capture_output=True,
        env={"LC_ALL": "C", "PATH": os.environ.get("PATH", "")},
        check=False,
    )
    return checked.stderr.decode("utf-8", "replace")
