"""Broken files: a clear message, the rest ingested, nothing half-written."""

import gzip
import json
import random

import pytest
import zstandard

from rollgraph.graph import IngestError
from rollgraph.ingest import ingest
from rollgraph.queries import library


def line(name, **fields):
    return json.dumps({"type": "rollout", "id": name, "task": "t", **fields})


def rollouts(store):
    return {row["rollout"] for row in library.run(store, "rollouts").to_pylist()}


def wrote(lines):
    write = {"path": "/a", "lines": [lines]}
    return line("x", steps=[{"commands": [{"text": "", "writes": [write]}]}])


RANGE = "steps[0].commands[0].writes[0].lines[0]: expected [first, last] with 1 <= first <= last"
BROKEN = {
    "not JSON": ("nonsense", "not JSON"),
    "wrong type": (line("x", reward="high"), 'reward: expected a number, found "high"'),
    "NaN": (line("x", reward=float("nan")), "reward: expected a finite number, found NaN"),
    "missing id": ('{"type": "rollout", "task": "t"}', "id: required, but missing"),
    "duplicate id": (line("good-1", reward=7), 'id: "good-1" is taken by line 1'),
    "NUL in a path": (
        line("x", verifier={"reads": ["/a\0"]}),
        "verifier.reads[0]: expected a path, found a NUL character",
    ),
    "lone surrogate": (
        line("x", verifier={"reads": ["/a\udc80"]}),
        "verifier.reads[0]: expected Unicode text, found a lone surrogate (half a pair)",
    ),
    "negative line": (wrote([-2, 1]), f"{RANGE}, found [-2, 1]"),
    "line zero": (wrote([0, 1]), f"{RANGE}, found [0, 1]"),
    "too large a line": (
        wrote([1, 2**63 - 1]),
        "steps[0].commands[0].writes[0].lines[0]: expected [first, last] with last <= 2147483647",
    ),
    "too long an id": (line("x" * 1_001), "id: expected a string of at most 1000 characters"),
    "a reward in a list": (line("x", reward=[1]), "reward: expected a number, found a list"),
    "reversed range": (wrote([5, 1]), f"{RANGE}, found [5, 1]"),
    "too many commands": (
        line("x", steps=[{"commands": [{"text": ""}] * 65536}]),
        "steps: expected at most 65535 commands, found 65536",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("broken", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_line_is_named_and_the_rest_is_ingested(store, tmp_path, broken, message):
    file = tmp_path / "rollouts.jsonl"
    file.write_text("\n".join([line("good-1"), broken, "", line("good-2")]) + "\n")
    report = ingest(store, file)
    assert report.new == 2
    assert rollouts(store) == {"good-1", "good-2"}
    (refusal,) = report.refused
    assert str(refusal).startswith(f"{file}:2: {message}")


def test_a_torn_last_line_is_named_as_such(store, tmp_path):
    file = tmp_path / "rollouts.jsonl"
    file.write_text(line("good") + "\n" + line("torn")[:-9])
    report = ingest(store, file)
    assert [str(refusal) for refusal in report.refused] == [
        f"{file}:2: the file ends in the middle of this record"
    ]
    assert rollouts(store) == {"good"}


def test_a_last_line_without_a_newline_is_fine(store, tmp_path):
    file = tmp_path / "rollouts.jsonl"
    file.write_text(line("a") + "\n" + line("b"))
    assert ingest(store, file).new == 2


def test_an_unknown_task_makes_a_bare_task(store):
    assert ingest(store, [json.loads(line("r"))]).new == 1
    found = store.query("MATCH (r:Rollout)-[:ATTEMPTS]->(t:Task) RETURN t.id AS id, t.digest AS d")
    assert found.to_pylist() == [{"id": "t", "d": None}]


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_a_file_without_records_is_an_error(store, tmp_path, content):
    file = tmp_path / "empty.jsonl"
    file.write_text(content)
    with pytest.raises(IngestError, match=r"empty\.jsonl: holds no record"):
        ingest(store, file)


def test_a_folder_is_an_error(store, tmp_path):
    with pytest.raises(IngestError, match="is a folder; expected a file"):
        ingest(store, tmp_path)


def test_an_absent_file_is_an_error(store, tmp_path):
    with pytest.raises(IngestError, match="No such file"):
        ingest(store, tmp_path / "absent.jsonl")


def test_strict_refuses_the_whole_file_before_anything_is_written(store, tmp_path):
    file = tmp_path / "rollouts.jsonl"
    file.write_text(line("good") + "\nnonsense\n" + line("x", reward="high") + "\n")
    with pytest.raises(IngestError, match=r"rollouts\.jsonl:2: not JSON.*nothing was ingested"):
        ingest(store, file, strict=True)
    assert rollouts(store) == set()


def test_refused_lines_can_be_mended_and_ingested_again(store, tmp_path):
    file, rejects = tmp_path / "rollouts.jsonl", tmp_path / "rejects.jsonl"
    file.write_text("\n".join([line("a"), line("b", reward="1"), "{", line("c")]) + "\n")
    ingest(store, file, rejects=rejects)
    assert rejects.read_text() == line("b", reward="1") + "\n{\n"
    rejects.write_text(line("b", reward=1) + "\n")
    assert ingest(store, rejects).new == 1
    assert rollouts(store) == {"a", "b", "c"}


def test_without_refused_lines_no_file_of_rejects_is_made(store, tmp_path):
    ingest(store, [json.loads(line("a"))], rejects=tmp_path / "rejects.jsonl")
    assert not (tmp_path / "rejects.jsonl").exists()


TEXT = "".join(line(f"r{i}") + "\n" for i in range(300)).encode()
FORMATS = {
    "plain.gz": TEXT,
    "gzip.jsonl": gzip.compress(TEXT),
    "zstd.txt": zstandard.compress(TEXT),
    "two-frames.zst": zstandard.compress(TEXT[:1000]) + zstandard.compress(TEXT[1000:]),
    "dos.jsonl": b"\xef\xbb\xbf" + TEXT.replace(b"\n", b"\r\n"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_the_format_is_told_by_content_and_not_by_name(store, tmp_path, name):
    (tmp_path / name).write_bytes(FORMATS[name])
    report = ingest(store, tmp_path / name)
    assert (report.new, report.refused) == (300, [])


def test_a_corrupt_archive_gives_what_is_readable_and_says_where_it_ends(store, tmp_path):
    packed = bytearray(gzip.compress("".join(f"{line(str(n))}\n" for n in range(300)).encode()))
    packed[100:108] = b"\xff" * 8
    (tmp_path / "a.gz").write_bytes(packed)
    report = ingest(store, tmp_path / "a.gz")
    assert "damaged from here on" in report.refused[-1].message


@pytest.mark.parametrize("name", ["gzip.jsonl", "zstd.txt"])
def test_a_damaged_archive_gives_what_is_readable_and_says_where_it_ends(store, tmp_path, name):
    rng = random.Random(0)
    noise = "".join(line(f"r{i}", metadata={"n": rng.random()}) + "\n" for i in range(9000))
    compress = gzip.compress if name == "gzip.jsonl" else zstandard.compress
    content = compress(noise.encode())
    (tmp_path / name).write_bytes(content[: len(content) // 2])
    report = ingest(store, tmp_path / name)
    assert 0 < report.new < 9000
    assert len(rollouts(store)) == report.new
    damage = report.refused[-1]
    assert "damaged from here on" in damage.message or "in the middle" in damage.message
    assert damage.line > report.new
