"""Faulty lines are refused with the field, what was expected and what was found."""

import json

import pytest
from pydantic import TypeAdapter

from rollgraph.graph import RecordError, parse_record
from rollgraph.graph.records import RECORD


def line(**fields):
    return json.dumps({"type": "rollout", "id": "r", "task": "t", **fields})


def command(**fields):
    return line(steps=[{"commands": [{"text": "true", **fields}]}])


COMMAND = "steps[0].commands[0]"
FAULTS = {
    "not JSON": ("nonsense", "", "not JSON"),
    "empty object": ("{}", "type", 'expected "task" or "rollout", found none'),
    "a list": ("[]", "", "expected an object, found a list"),
    "unknown type": ('{"type": "run"}', "type", 'expected "task" or "rollout", found "run"'),
    "missing id": ('{"type": "rollout", "task": "t"}', "id", "required, but missing"),
    "missing task": ('{"type": "rollout", "id": "r"}', "task", "required, but missing"),
    "empty id": ('{"type": "task", "id": ""}', "id", "expected a string that is not empty"),
    "wrong type": (line(reward="1"), "reward", 'expected a number, found "1"'),
    "boolean for number": (line(reward=True), "reward", "expected a number, found true"),
    "NaN": (line(reward=float("nan")), "reward", "expected a finite number, found NaN"),
    "infinity": (line(reward=1).replace("1}", "1e999}"), "reward", "expected a finite number"),
    "NaN in metadata": (line(metadata={"a": [float("nan")]}), "metadata", "found nan at a[0]"),
    "NaN in an unknown key": (line(colour={"a": float("inf")}), "", "found inf at colour.a"),
    "negative line": (command(writes=[{"path": "/a", "lines": [[-1, 2]]}]),
                      f"{COMMAND}.writes[0].lines[0]", "1 <= first <= last, found [-1, 2]"),
    "reversed range": (command(writes=[{"path": "/a", "lines": [[3, 2]]}]),
                       f"{COMMAND}.writes[0].lines[0]", "found [3, 2]"),
    "half a range": (command(writes=[{"path": "/a", "lines": [[3]]}]),
                     f"{COMMAND}.writes[0].lines[0][1]", "required, but missing"),
    "NUL in a path": (command(reads=["/a\0b"]), f"{COMMAND}.reads[0]", "found a NUL character"),
    "lone surrogate": (command(reads=["/a\ud800"]), f"{COMMAND}.reads[0]", "a lone surrogate"),
    "empty path": (command(reads=[""]), f"{COMMAND}.reads[0]", "found an empty string"),
    "a path for a list": (command(reads="/a"), f"{COMMAND}.reads", 'expected a list, found "/a"'),
    "port out of range": (command(ports={"opened": [70000]}),
                          f"{COMMAND}.ports.opened[0]", "at most"),
    "missing text": (line(steps=[{"commands": [{}]}]), f"{COMMAND}.text", "required, but missing"),
    "huge integer": (line(slot=2**70), "slot", "expected a number below"),
    "fraction for integer": (line(slot=1.5), "slot", "expected an integer, found 1.5"),
    "token lists": (line(steps=[{"tokens": {"count": 3, "ids": [1]}}]),
                    "steps[0].tokens", "expected equal lengths"),
    "not UTF-8": (b"\xff\xfe", "", "not JSON"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "field", "message"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_line_names_its_field_and_what_was_expected(text, field, message):
    with pytest.raises(RecordError) as error:
        parse_record(text)
    assert error.value.field == field
    assert message in error.value.message


def test_a_missing_list_is_not_an_empty_one():
    absent, empty = (parse_record(line(**fields)) for fields in ({}, {"steps": []}))
    assert absent.steps is None
    assert empty.steps == []


def test_unknown_keys_are_kept_on_every_level():
    record = parse_record(
        line(colour="red", steps=[{"mood": 1, "commands": [{"text": "", "x": 2}]}])
    )
    assert record.extras == {"colour": "red"}
    assert record.steps[0].extras == {"mood": 1}
    assert record.steps[0].commands[0].extras == {"x": 2}


@pytest.mark.parametrize("fields", [{}, {"reads": []}, {"ports": {}}, {"deletes": ["/a"]}])
def test_a_command_is_traced_if_any_list_is_there_even_empty(fields):
    record = parse_record(command(**fields))
    assert record.steps[0].commands[0].is_traced == bool(fields)


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [({}, None), ({"count": 4}, 4), ({"ids": [7, 7]}, 2), ({"count": 3, "mask": [1, 0, 1]}, 2)],
)
def test_the_mask_decides_how_many_tokens_enter_the_loss(tokens, expected):
    assert parse_record(line(steps=[{"tokens": tokens}])).steps[0].tokens.in_loss == expected


def test_the_verifiers_writes_may_be_paths_or_objects():
    record = parse_record(line(verifier={"writes": ["/a", {"path": "/b"}]}))
    assert [write.path for write in record.verifier.writes] == ["/a", "/b"]


def test_the_json_schema_is_that_of_the_models():
    schema = RECORD.json_schema()
    assert isinstance(RECORD, TypeAdapter)
    assert set(schema["discriminator"]["mapping"]) == {"task", "rollout"}
    rollout = schema["$defs"]["Rollout"]
    assert rollout["required"] == ["type", "id", "task"]
    assert "unscored" in rollout["properties"]["reward"]["description"]
