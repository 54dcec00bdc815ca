"""Files that the text of a command tells it touches, for rollouts that were never traced.

The text is parsed with tree-sitter-bash and walked in the order in which a shell would run it, on
the assumption that every command succeeds. What cannot be known from the text is left out: words
with unknown variables, substitutions or globs, names relative to an unknown folder. Branches and
loop bodies are walked once, a `for` over known words once for each. What single commands do with
their operands is in `inferred_commands`.

>>> infer_accesses("cd src && sed -i s/a/b/ main.c && cat notes > /tmp/log", "/app")
Inferred(reads=('/app/src/main.c', '/app/src/notes'), writes=('/app/src/main.c', '/tmp/log'), \
deletes=())
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from .shell import Shell, UnsureError

_TRACE_KEYS = frozenset({"reads", "probes", "writes", "deletes", "ports", "processes"})


@dataclass(frozen=True)
class Inferred:
    """Absolute, normalized names in order of first appearance; each file is as the text left it."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    deletes: tuple[str, ...]


def infer_accesses(text: str, cwd: str | None) -> Inferred | None:
    """Infer what a command touches; None: its text cannot be parsed, so nothing can be said."""
    return _inferred(text, cwd)[0]


def infer_record(record: dict[str, Any]) -> int:
    """Fill the accesses of a rollout record's untraced commands, in place; return how many.

    A command without a `cwd` starts where the former command's text ended, if that is known: it is
    not after a text that cannot be parsed, or that changed the folder and failed.
    """
    filled, end = 0, None
    for command in _commands(record):
        given, text = command.get("cwd"), command.get("text")
        start = given if isinstance(given, str) else end
        inferred, end = _inferred(text, start) if isinstance(text, str) else (None, None)
        if command.get("exit_code") and end != start:
            end = None
        if inferred is not None and _TRACE_KEYS.isdisjoint(command):
            command["reads"] = list(inferred.reads)
            command["writes"] = [{"path": path} for path in inferred.writes]
            command["deletes"] = list(inferred.deletes)
            command["inferred"] = True
            filled += 1
    return filled


def drop_inferred(record: dict[str, Any]) -> int:
    """Take the inferred accesses out of a rollout record, in place; return of how many commands."""
    dropped = 0
    for command in _commands(record):
        if command.pop("inferred", False):
            for key in _TRACE_KEYS:
                command.pop(key, None)
            dropped += 1
    return dropped


def _commands(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for step in _objects(record, "steps"):
        yield from _objects(step, "commands")


def _objects(record: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    items = record.get(key)
    for item in cast("list[Any]", items) if isinstance(items, list) else ():
        if isinstance(item, dict):
            yield cast("dict[str, Any]", item)


def _inferred(text: str, cwd: str | None) -> tuple[Inferred | None, str | None]:
    """Infer the accesses, and the folder in which the text ends."""
    shell = Shell({"PWD": cwd} if cwd and cwd.startswith("/") else {})
    try:
        is_parsed = shell.text(text)
    except UnsureError:
        is_parsed = False
    if not is_parsed:
        return None, None
    found = Inferred(tuple(shell.reads), tuple(shell.writes), tuple(shell.deletes))
    return found, shell.variables.get("PWD")
