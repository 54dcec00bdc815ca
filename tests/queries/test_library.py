"""Every named query says what it answers, and answers it on the engine under test."""

import json
import re

import pytest

from rollgraph.graph import EDGES, NODES, QueryError
from rollgraph.ingest import ingest
from rollgraph.ingest.demo import DEMO_FILE
from rollgraph.queries import ask, credit, load, names, save_credits
from rollgraph.queries.ask import WITH_ARITHMETIC
from rollgraph.queries.credit import CREDIT_METHODS

from ..state_records import state_record

by_name = pytest.mark.parametrize("name", names())


@by_name
def test_a_header_is_complete(name):
    query = load(name)
    assert query.summary.endswith(".")
    assert query.columns
    code = re.sub(r"//.*", "", query.texts["any"])
    assert set(re.findall(r"\$(\w+)", code)) == set(query.parameters)
    for text in query.texts.values():
        code = re.sub(r"//.*", "", text)
        assert set(re.findall(r"\$(\w+)", code)) <= set(query.parameters)


@by_name
def test_labels_and_types_come_from_the_schema(name):
    known = {node.label for node in NODES} | {edge.type for edge in EDGES}
    for text in load(name).texts.values():
        code = re.sub(r"//.*|'[^']*'", "", text)
        for found in re.findall(r"[\[(][a-z]*:([^\s){*\]]+)", code):
            assert {part.strip("`") for part in found.split("|")} <= known


@by_name
def test_a_query_gives_the_columns_of_its_header_in_order(store, name):
    ingest(store, DEMO_FILE)
    good = {"id": "a", "states": ["x", "y", "x", "z"], "actions": ["go"], "success": True}
    bad = {"id": "c", "states": ["x", "d", "d"], "actions": ["dig"], "success": False}
    ingest(store, [state_record(good), state_record(bad)])
    predicates = [{"id": "p"}, {"id": "q", "requires": ["p"]}]
    marked = {"id": "b", "steps": [{"predicates": {"verified": ["q"], "invalidated": ["p"]}}]}
    ingest(store, [{"type": "task", "id": "u", "predicates": predicates}])
    ingest(store, [{"type": "rollout", "task": "u", "group": "u", **marked}])
    channels = {"channels": ["a", "b"], "requires_ever": [["a", "b"]]}
    ingest(store, [{"type": "task", "id": "v", "rubric": channels}])
    state = {"exact": {"at": 1}, "coarse": {"at": 1}}
    for slot, action in enumerate(["x", "x", "y", "y", "x", "y", "y", None]):
        step = {"state": state} | ({"action": action} if action else {})
        sibling = {"type": "rollout", "task": "v", "group": "v" if action else "u", "steps": [step]}
        ingest(store, [sibling | {"id": f"v{slot}", "slot": slot, "reward": float(slot == 1)}])
    step = {"state": state, "action": "y"}
    last = {"type": "rollout", "id": "v8", "task": "v", "group": "v", "slot": 7, "reward": 0.0}
    ingest(store, [last | {"steps": [step]}])
    run = save_credits(store, credit(store))
    mcgpo = save_credits(store, credit(store, "mcgpo", groups=["v"]))
    given = {
        "run": run,
        "command": "build-report/mends-the-script/0/0",
        "step": "a/0",
        "groups": ["g", "u", "v"],
    }
    if name == "preferred_steps":
        given["run"] = mcgpo
    needed = {p: given[p] for p, value in load(name).parameters.items() if value.is_required}
    table = ask(store, name, **needed)
    assert list(table.columns) == list(load(name).columns)
    assert not table.empty


@by_name
def test_an_edges_property_is_tested_only_after_the_rows_are_made(name):
    """Tested between two hops of a MATCH, it gives wrong rows on the embedded engine."""
    text = load(name).text("embedded")
    pattern = re.sub(r"//.*", "", text).partition("\nWITH")[0].partition("\nRETURN")[0]
    for variable in re.findall(r"\[(\w+):", pattern):
        assert f"{variable}." not in pattern


@pytest.mark.parametrize("name", CREDIT_METHODS)
def test_a_method_names_queries_that_exist(name):
    assert set(CREDIT_METHODS[name].queries) <= set(names())


def test_answers_with_arithmetic_have_a_query_that_documents_them():
    assert set(WITH_ARITHMETIC) <= set(names())


def test_no_named_query_multiplies_tables_out(store):
    if store.engine != "embedded":
        pytest.skip("plans of the embedded engine")
    for name in names():
        query = load(name)
        given = {
            p: ["x"] if value.type == "list of strings" else "x"
            for p, value in query.parameters.items()
            if value.is_required
        }
        plan = store.query(f"EXPLAIN {query.text('embedded', [])}", query.bind(given))
        assert "CROSS_PRODUCT" not in json.dumps(plan.to_pylist()), name


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("nothing", {}, "no query is called nothing; there are: command_kinds"),
        ("rollouts", {"group": "g"}, "rollouts: unknown parameter group; it takes: groups"),
        ("written_fragments", {}, "written_fragments: parameter command is required"),
        ("credit_runs", {"x": 1}, "unknown parameter x; it takes: none"),
    ],
)
def test_a_wrong_question_is_named_with_the_right_ones(store, name, given, message):
    with pytest.raises(QueryError, match=message):
        ask(store, name, **given)
