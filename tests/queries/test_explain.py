"""An explanation's rows add up to the credit, and name the paths and the evidence."""

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollgraph.graph import CreditError, QueryError
from rollgraph.ingest import ingest
from rollgraph.ingest.demo import DEMO_FILE
from rollgraph.queries import credit, dependency_graph, explain

from .. import strategies
from ..rollout_records import listed_values, rollout_record, task_record

NUMBERS = count()


@settings(max_examples=25)
@given(task=strategies.rollouts(), options=strategies.options())
def test_the_rows_add_up_to_the_commands_credit(store, task, options):
    group = f"g{next(NUMBERS)}"
    records = [task_record(task, group), rollout_record(task, "r", group)]
    ingest(store, records, extract=listed_values)
    (found,) = credit(store, groups=[group], **options)
    for command in found.commands:
        rows = explain(store, f"r/{command.step}/{command.command}", **options)
        assert rows["credit"].sum() == pytest.approx(command.credit, abs=1e-9)
        if command.kind == "write":
            assert rows["records"].fillna(0).sum() == command.records
            direct = rows[rows["why"].str.contains(r"\bdirect")]
            indirect = rows[rows["why"].str.contains("indirect")]
            assert direct["records"].sum() == command.direct
            assert indirect["records"].sum() == command.indirect


def rows_of(store, command, **options):
    return explain(store, command, **options).to_dict(orient="records")


def test_a_consumed_line_names_the_chain_to_the_verifier(store):
    ingest(store, DEMO_FILE)
    script = "/tmp/rollgraph-demo/build-report/summarise.py"
    found = [
        (row["why"], row["evidence"], row["path"], row["records"])
        for row in rows_of(store, "build-report/mends-the-script/0/0")
    ]
    assert found == [
        ("indirect", f"{script} lines 1-2", "0/0 → 4/0 → E", 2),
        ("unused", f"{script} line 3", "", 1),
        ("indirect", f"{script} lines 4-7", "0/0 → 4/0 → E", 4),
    ]


def test_a_supporting_read_names_the_value_that_was_reused(store):
    ingest(store, DEMO_FILE)
    (row,) = rows_of(store, "fix-config/reads-then-edits/1/0", beta=0.25)
    assert row["why"] == "supports"
    assert row["evidence"] == "number 8443, port 8443"
    assert (row["path"], row["distance"], row["credit"]) == ("1/0 → 3/0", 1, 0.25)


def test_a_matched_port_is_named(store):
    ingest(store, DEMO_FILE)
    (row,) = rows_of(store, "start-server/serves-and-probes/2/0")
    assert (row["why"], row["evidence"], row["credit"]) == ("port", "port 18437", 1)


def test_two_matches_of_one_command_share_its_credit(store):
    opened = {"ports": {"opened": [80]}, "processes": {"started": ["nginx"]}}
    steps = [{"commands": [{"text": "nginx", **opened}]}]
    verifier = {"ports": [80], "processes": ["nginx"]}
    ingest(
        store, [{"type": "rollout", "id": "r", "task": "t", "steps": steps, "verifier": verifier}]
    )
    found = [(row["evidence"], row["credit"]) for row in rows_of(store, "r/0/0")]
    assert found == [("port 80", 0.5), ("process nginx", 0.5)]


def test_a_command_without_use_says_so(store):
    ingest(store, DEMO_FILE)
    (row,) = rows_of(store, "fix-config/reads-then-edits/0/0")
    assert (row["why"], row["credit"]) == ("unused", 0)


@pytest.mark.parametrize("command", ["nobody/0/0", "fix-config/reads-then-edits", "", "'"])
def test_an_unknown_command_says_how_they_are_named(store, command):
    with pytest.raises(CreditError, match="expected ROLLOUT/STEP/COMMAND"):
        explain(store, command)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [({"verifier": {}}, "it was not traced"), ({}, "the verifier was not traced")],
)
def test_a_command_without_a_credit_says_why(store, fields, reason):
    steps = [{"commands": [{"text": "true"}]}]
    ingest(store, [{"type": "rollout", "id": "r", "task": "t", "steps": steps, **fields}])
    with pytest.raises(CreditError, match=f"r/0/0: has no credit to explain: {reason}"):
        explain(store, "r/0/0")


def test_the_dependency_graph_has_credits_on_its_nodes_and_evidence_on_its_edges(store):
    ingest(store, DEMO_FILE)
    rollout = "build-report/mends-the-script"
    graph = dependency_graph(store, rollout)
    assert {key: data["credit"] for key, data in graph.nodes(data=True)} == {
        f"{rollout}/0/0": pytest.approx(6 / 7),
        f"{rollout}/1/0": 0,
        f"{rollout}/2/0": 0,
        f"{rollout}/3/0": 1,
        f"{rollout}/4/0": 1,
        f"{rollout}/verifier": None,
    }
    edge = graph.edges[f"{rollout}/3/0", f"{rollout}/4/0"]
    assert edge["kind"] == "file"
    assert edge["evidence"] == ["file /tmp/rollgraph-demo/build-report/summarise.py line 3"]
    assert edge["qualifies"]
    assert list(graph.predecessors(f"{rollout}/verifier")) == [f"{rollout}/4/0"]
    with pytest.raises(QueryError, match="no rollout is called nobody"):
        dependency_graph(store, "nobody")


@settings(max_examples=6)
@given(tasks=st.lists(strategies.rollouts(), min_size=2, max_size=4))
def test_the_dependency_graph_is_acyclic_and_follows_execution_order(store, tasks):
    names = [f"n{next(NUMBERS)}" for _ in tasks]
    records = [rollout_record(t, name, "shared") for t, name in zip(tasks, names, strict=True)]
    ingest(store, records, extract=listed_values)
    for name in names:
        graph = dependency_graph(store, name)
        for source, target in graph.edges:
            assert graph.nodes[source]["position"] < graph.nodes[target]["position"]
            assert source.startswith(f"{name}/")
            assert target.startswith(f"{name}/")
