"""The complete commands of a shell script: what bash itself would read before it runs something.

A here-document, a loop or a continued line is one command; so is a list on one line. bash's own
parser (`bash -n`) says whether a text is complete. It is asked only where a line can have completed
what was open, so that the time grows with the length of a here-document or a quoted text.
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
_HERE_DOCUMENT = re.compile(r"here-document .* delimited by end-of-file \(wanted `(.*)'\)$", re.M)
_QUOTE = re.compile(r"unexpected EOF while looking for matching `(.)'")
_CLOSING = re.compile(r"[)}]|\]\]|\b(?:fi|done|esac)\b")
_ANYTHING = re.compile("")
_GOES_ON = re.compile(r"#|[|&\\]\s*$")
_CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*\\$")
_PLAIN = re.compile(
    r"""(?:[\w./:=@%+,*?~\t -]|\$\w+|'[^'\n]*'|"(?:[^"$`\\\n]|\$\w+)*"
    |(?:\||&&|\|\||;|>>?|<)[ ]?(?=[\w./'"$])|>&(?=\d))*\n""",
    re.VERBOSE,
)
"""A line that is complete whatever it does, but for the keywords of compound commands."""
_KEYWORD = re.compile(r"\b(?:if|for|while|until|case|select|function|time|coproc|do|then|else)\b")


def complete_commands(lines: Iterable[str]) -> Iterator[str]:
    """Yield the complete commands of lines, as soon as each is complete; comments are left out.

    What is incomplete at the end is a command too: the shell will say what is wrong with it. Raises
    RecorderError for a NUL character, which no shell reads.
    """
    waiting: list[str] = []
    closing: re.Pattern[str] | None = None
    for line in lines:
        waiting.append(line if line.endswith("\n") else f"{line}\n")
        if "\0" in line:
            raise RecorderError(f"{line!r}: a NUL character cannot be given to a shell")
        if closing and not closing.search(line):
            continue
        text = "".join(waiting)
        closing = _closing(text)
        if closing is None:
            if not _is_blank(text):
                yield text.rstrip("\n")
            waiting = []
    rest = "".join(waiting)
    if not _is_blank(rest):
        yield rest.rstrip("\n")


def _is_blank(text: str) -> bool:
    return all(not line.strip() or line.lstrip().startswith("#") for line in text.splitlines())


def _closing(text: str) -> re.Pattern[str] | None:
    """Return what a line has in it that can complete a text; None: the text is complete."""
    if _is_blank(text) or (_PLAIN.fullmatch(text) and not _KEYWORD.search(text)):
        return None
    said = complaints(text, "-O", "extglob")
    if _INCOMPLETE.search(said):
        if found := _QUOTE.search(said) or _HERE_DOCUMENT.search(said):
            return re.compile(re.escape(found[1]))
        lines = [line for line in text.splitlines() if not _is_blank(line)]
        return _ANYTHING if _GOES_ON.search(lines[-1]) else _CLOSING
    line = text.rstrip("\n")
    # A backslash at the end continues the line, but for one in a comment, which a quote in its
    # place does not open.
    if _CONTINUED.search(line):
        said = complaints(f"{line[:-1]}'\n", "-O", "extglob")
        return _ANYTHING if _INCOMPLETE.search(said) else None
    return None


def complaints(text: str, *options: str) -> str:
    """Return what bash says of a text's syntax; empty: it is right."""
    checked = subprocess.run(
        ["bash", *options, "-n"],
        input=text.encode("utf-8", "surrogateescape"),
        capture_output=True,
        env={"LC_ALL": "C", "PATH": os.environ.get("PATH", "")},
        check=False,
    )
    return checked.stderr.decode("utf-8", "surrogateescape")
