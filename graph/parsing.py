"""Parse one line of a rollout file, and say what is wrong with a faulty one.

>>> parse_record('{"type": "rollout", "id": "r1", "task": "t1", "colour": "red"}').extras
{'colour': 'red'}
>>> parse_record('{"type": "rollout", "id": "r1", "task": "t1", "reward": "1"}')
Traceback (most recent call last):
rollgraph.graph.errors.RecordError: reward: expected a number, found "1"
"""

import json
from collections.abc import Iterator, Sequence
from typing import cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from .errors import RecordError
from .records import RECORD, Rollout, Task


def parse_record(line: str | bytes) -> Task | Rollout:
    """Parse one line of a rollout file.

    Raises RecordError with the path of the first faulty field, what was expected and what was
    found.
    """
    try:
        return RECORD.validate_json(line)
    except ValidationError as error:
        raise _record_error(line, error.errors(include_url=False)[0]) from None


_EXPECTED = {
    "float_type": "a number",
    "finite_number": "a finite number",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "string_type": "a string",
    "string_too_short": "a string that is not empty",
    "string_too_long": "a string of at most {max_length} characters",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "greater_than_equal": "a number of at least {ge}",
    "less_than_equal": "a number of at most {le}",
    "less_than": "a number below {lt}",
    "literal_error": "{expected}",
}


def _record_error(line: str | bytes, error: ErrorDetails) -> RecordError:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "json_invalid":
        return _json_error(line, str(context.get("error", error["msg"])))
    field = _field_path(error["loc"][1:])  # the first part is the record's type
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        found = json.dumps(context["tag"]) if "tag" in context else "none"
        return RecordError("type", f'expected "task" or "rollout", found {found}')
    if kind == "missing":
        return RecordError(field, "required, but missing")
    if kind in _EXPECTED:
        expected = _EXPECTED[kind].format(**context)
        return RecordError(field, f"expected {expected}, found {_shown(error['input'])}")
    return RecordError(field, error["msg"])


def _field_path(parts: Sequence[int | str]) -> str:
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _json_error(line: str | bytes, reason: str) -> RecordError:
    """Name the field that holds half a surrogate pair; else say that the line is not JSON."""
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        return RecordError("", f"not JSON: {reason}")
    for parts, text in _texts(value, []):
        try:
            text.encode()
        except UnicodeEncodeError:
            return RecordError(
                _field_path(parts), "expected Unicode text, found a lone surrogate (half a pair)"
            )
    return RecordError("", f"not JSON: {reason}")


def _texts(value: object, parts: list[int | str]) -> Iterator[tuple[list[int | str], str]]:
    if isinstance(value, str):
        yield parts, value
    elif isinstance(value, dict):
        for key, item in cast("dict[str, object]", value).items():
            yield parts, key
            yield from _texts(item, [*parts, key])
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            yield from _texts(item, [*parts, index])
