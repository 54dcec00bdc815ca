"""What the two engines are known to answer differently, and no query may depend on.

Each law is checked on the engine under test; the same file runs on both.
"""

import json
from hashlib import sha256

import pytest

from rollgraph.graph import QueryError, Rows
from rollgraph.ingest import ingest
from rollgraph.ingest.paths import normalize
from rollgraph.queries import library

from ..rollout_records import listed_values

GROUP = {"groups": ["g"]}


def chain(length: int, reach: int) -> dict:
    """Commands of which each prints a number and names the numbers of up to `reach` before it.

    The last one writes a file; all others are reads.
    """
    commands = [
        {
            "text": json.dumps([["number", str(n)] for n in range(max(0, i - reach), i)]),
            "stdout": json.dumps([["number", str(i)]]),
            "writes": [{"path": "/w/a", "lines": [[1, 1]]}] if i == length - 1 else [],
        }
        for i in range(length)
    ]
    steps = [{"commands": [command]} for command in commands]
    return {"type": "rollout", "id": "r", "task": "t", "group": "g", "steps": steps,
            "verifier": {"reads": ["/w/a"]}}  # fmt: skip


def distances(store):
    rows = library.run(store, "read_distances", **GROUP).to_pylist()
    return {row["position"]: row["distance"] for row in rows}


def test_a_path_is_longer_than_the_embedded_engines_default_limit(store):
    ingest(store, [chain(70, reach=1)], extract=listed_values)
    assert distances(store) == {i: 69 - i for i in range(69)}


def test_a_graph_with_exponentially_many_paths_is_answered_at_once(store):
    ingest(store, [chain(60, reach=60)], extract=listed_values)
    assert distances(store) == dict.fromkeys(range(59), 1)
    query = library.load("read_distances").text(store.engine)
    parameters = {**GROUP, "whole_file": "removal"}
    assert store.query(query, parameters, timeout_s=20).num_rows == 59


def test_sums_of_integers_are_integers_and_sums_of_nothing_are_seen(store):
    rows = Rows()
    rows.add("Batch", id="a", records=2)
    rows.add("Batch", id="b", records=3)
    store.write(rows)
    found = store.query("MATCH (b:Batch) RETURN sum(b.records) AS n").to_pylist()
    assert found == [{"n": 5}]
    assert isinstance(found[0]["n"], int)


def test_a_parameter_without_a_value_is_refused_and_not_read_as_null(store):
    with pytest.raises(QueryError, match=r"the query takes \$nope"):
        store.query("MATCH (b:Batch) WHERE b.id = $nope RETURN b.id AS id")


def test_a_dollar_in_a_text_or_a_comment_is_no_parameter(store):
    found = store.query("// costs $five\nRETURN '$six' AS a, \"$seven\" AS b")
    assert found.to_pylist() == [{"a": "$six", "b": "$seven"}]


@pytest.mark.parametrize("text", ["MATCH (n RETURN n", "RETURN 1 AS a; RETURN 2 AS b"])
def test_a_text_that_is_no_single_query_is_refused(store, text):
    with pytest.raises(QueryError):
        store.query(text)


def test_empty_lists_and_empty_answers_keep_their_columns(store):
    found = library.run(store, "rollouts", groups=["nobody"])
    assert found.num_rows == 0
    assert found.schema.names == list(library.load("rollouts").columns)


def test_integers_and_numbers_keep_their_types(store):
    ingest(store, [{"type": "rollout", "id": "r", "task": "t", "reward": 1, "slot": 3}])
    (row,) = library.run(store, "rollouts").to_pylist()
    assert (row["reward"], type(row["reward"])) == (1.0, float)
    assert (row["slot"], type(row["slot"])) == (3, int)


NASTY = [
    "it's", 'say "hi"', "back\\slash", "$parameter", "`tick`", "line\nbreak", "tab\t", "nul\0",
    "MATCH (n) DETACH DELETE n", "'}) DETACH DELETE n //", "{a: 1}", "[1, 2]", "null", "", " ",
    "\u2028", "ü", "e\u0301", "🙂", "x" * 900, "a/b/../c", "%s", "--", ";", "0", "1e5", "true",
]  # fmt: skip


def test_names_and_texts_come_out_as_they_went_in(store):
    records = [
        {"type": "rollout", "id": f"r{i}|{text}", "task": f"t|{text}", "group": f"g|{text}",
         "policy": {"name": text}, "metadata": {text: text},
         "steps": [{"action": text, "commands": [
             {"text": text, "stdout": text, "reads": [f"/{text.replace(chr(0), '')}x"]}]}]}
        for i, text in enumerate(NASTY)
    ]  # fmt: skip
    assert ingest(store, records).new == len(NASTY)
    rollouts = {row["rollout"]: row for row in library.run(store, "rollouts").to_pylist()}
    commands = {row["rollout"]: row for row in library.run(store, "commands").to_pylist()}
    files = {
        row["r"]: row["name"]
        for row in store.query(
            "MATCH (r:Rollout)-[:HAS_STEP]->(:Step)-[:RAN]->(:Command)-[:READ]->(p:Resource) "
            "RETURN r.id AS r, p.name AS name"
        ).to_pylist()
    }
    metadata = {
        row["r"]: json.loads(row["m"])
        for row in store.query("MATCH (r:Rollout) RETURN r.id AS r, r.metadata AS m").to_pylist()
    }
    for record, text in zip(records, NASTY, strict=True):
        found = rollouts[record["id"]]
        assert (found["task"], found["group"]) == (record["task"], record["group"])
        assert found["policy"] == text
        assert commands[record["id"]]["text"] == text[:4096]
        assert commands[record["id"]]["stdout"] == text[:4096]
        assert metadata[record["id"]] == {text: text}
        read = record["steps"][0]["commands"][0]["reads"][0]
        assert files[record["id"]] == normalize(read, None)
        assert [row["rollout"] for row in library.run(
            store, "rollouts", groups=[record["group"]]).to_pylist()] == [record["id"]]  # fmt: skip


def test_a_long_text_is_capped_with_its_length_and_hash(store):
    text = "ü" * 5000
    ingest(store, [{"type": "rollout", "id": "r", "task": "t", "steps": [{"response": text}]}])
    (row,) = store.query(
        "MATCH (s:Step) RETURN s.response AS text, s.response_length AS length, "
        "s.response_sha256 AS hash, s.action_length AS action"
    ).to_pylist()
    assert (row["text"], row["length"], row["action"]) == (text[:4096], 5000, None)
    assert row["hash"] == sha256(text.encode()).hexdigest()
