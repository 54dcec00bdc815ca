"""DARS: potentials and rewards from marks, through the store, and against a plain reference."""

import json
import math
from itertools import pairwise
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollgraph.graph import CreditError
from rollgraph.ingest import ingest
from rollgraph.queries import credit, explain, library

from .test_worked_examples import by_id

CASES = json.loads((Path(__file__).parent.parent / "data" / "dars.json").read_text())
LAWS = ["exp(-lambda/d)", "exp(-lambda*d)"]
MARKS = {"V": "verified", "B": "invalidated", "P": "repaired"}


def task_record(predicates, parents, task="t", weights=None):
    listed = [{"id": p, "requires": parents.get(p, [])} for p in predicates]
    for item in listed if weights else ():
        item["weight"] = weights[item["id"]]
    return {"type": "task", "id": task, "predicates": listed}


def rollout_record(steps, name="r", task="t", **keys):
    """Make a record of a rollout from the marks of its steps."""
    made = []
    for marks in steps:
        of_step = {}
        for kind, predicate in marks:
            of_step.setdefault(MARKS[kind], []).append(predicate)
        made.append({"predicates": of_step})
    return {"type": "rollout", "id": name, "task": task, "group": task, "steps": made, **keys}


def rewards(store, **options):
    return {c.rollout: [s.credit for s in c.steps] for c in credit(store, "dars", **options)}


@by_id(CASES)
def test_the_worked_example_gives_its_rewards(store, case):
    case_in = case["input"]
    ingest(store, [task_record(case_in["predicates"], case_in["parents"])])
    ingest(store, [rollout_record(case_in["steps"])])
    options = {name: case_in[name] for name in ("lambda", "kappa", "rho", "law")}
    expected = case["expected"]["reward"]
    assert rewards(store, **options)["r"] == pytest.approx(expected, abs=case["tolerance"])


@st.composite
def tasks(draw):
    """Make predicates with prerequisites (which may go round), and marks of some steps."""
    names = [f"p{i}" for i in range(draw(st.integers(1, 7)))]
    some = st.lists(st.sampled_from(names), unique=True, max_size=3)
    parents = {name: draw(some) for name in names}
    weights = {name: draw(st.sampled_from([0.5, 1.0, 3.0])) for name in names}
    mark = st.tuples(st.sampled_from("VBP"), st.sampled_from(names))
    steps = draw(st.lists(st.lists(mark, max_size=4, unique=True), max_size=8))
    return names, parents, weights, steps


def reference(names, parents, weights, steps, strength, law):
    """Potentials by networkx, predicate for predicate."""
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from((p, q) for p in names for q in parents[p])
    state = dict.fromkeys(names, "open")
    found = []
    for marks in steps:
        for kind in "VBP":
            for mark, name in marks:
                if mark == kind == "V":
                    state[name] = "verified"
                elif mark == kind == "B":
                    state[name] = "broken"
                elif mark == kind and state[name] == "broken":
                    state[name] = "open"
        total = 0.0
        for name in names:
            if state[name] == "verified":
                distances = nx.single_source_shortest_path_length(graph, name)
                near = [d for q, d in distances.items() if d and state[q] == "broken"]
                d = min(near) if near else None
                power = 0 if d is None else strength * d if law.endswith("*d)") else strength / d
                total += weights[name] * math.exp(-power)
        found.append(total / sum(weights.values()))
    return found


@settings(max_examples=40)
@given(tasks(), st.sampled_from([0.0, 0.7, 2.0]), st.sampled_from(LAWS), st.integers(0, 10**9))
def test_random_marks_give_the_references_rewards(store, given_task, strength, law, number):
    names, parents, weights, steps = given_task
    task = f"t{number}"
    ingest(store, [task_record(names, parents, task, weights), rollout_record(steps, task, task)])
    (found,) = credit(
        store, "dars", groups=[task], law=law, kappa=0.4, rho=2, **{"lambda": strength}
    )
    potentials = [0, *reference(names, parents, weights, steps, strength, law)]
    expected = [2 * max(-0.4, min(0.4, b - a)) for a, b in pairwise(potentials)]
    assert [step.credit for step in found.steps] == pytest.approx(expected, abs=1e-9)


def test_what_builds_on_an_error_counts_less_and_the_rest_as_before(store):
    ingest(store, [task_record("abc", {"b": ["a"]})])
    steps = [[("V", "a"), ("V", "b"), ("V", "c")], [("B", "a")], [("P", "a")], [("V", "a")]]
    ingest(store, [rollout_record(steps)])
    # b counts 1/e while a is broken; the repair lifts that, and verifying a again gives it back.
    lost = (1 - math.exp(-1)) / 3
    assert rewards(store)["r"] == pytest.approx([1, -1 / 3 - lost, lost, 1 / 3])


def test_an_explanation_shows_what_each_predicate_lost_and_adds_up(store):
    ingest(store, [task_record("abc", {"b": ["a"]})])
    ingest(store, [rollout_record([[("V", "a"), ("V", "b"), ("V", "c")], [("B", "a")]])])
    table = explain(store, "r/1", "dars")
    shown = table[["why", "predicate", "status", "broken", "distance"]].astype(object)
    assert shown.where(shown.notna(), None).to_numpy().tolist() == [
        ["invalidated", "a", "broken", None, None],
        ["", "b", "verified", "a", 1],
    ]
    assert table["change"].sum() == pytest.approx(rewards(store)["r"][1])
    with pytest.raises(CreditError, match="no step is called r/2"):
        explain(store, "r/2", "dars")


def test_a_task_that_is_described_later_or_anew_counts_as_described(store):
    ingest(store, [rollout_record([[("V", "a")], [("B", "b")]])])
    (found,) = credit(store, "dars")
    assert found.fallback == "no predicates: the task's record lists none"
    assert [step.credit for step in found.steps] == [None, None]
    ingest(store, [task_record("ab", {"a": ["b"]})])
    assert rewards(store)["r"] == pytest.approx([0.5, (math.exp(-1) - 1) / 2])
    ingest(store, [task_record("abc", {})])
    assert rewards(store)["r"] == pytest.approx([1 / 3, 0])
    assert library.run(store, "prerequisites").num_rows == 0
    ingest(store, [task_record("a", {})])
    (found,) = credit(store, "dars")
    assert [step.credit for step in found.steps] == [1, 0]
    assert "does not list" in found.fallback


def test_a_replaced_rollout_takes_its_marks_away(store):
    ingest(store, [task_record("ab", {}), rollout_record([[("V", "a")], [("V", "b")]])])
    ingest(store, [rollout_record([[("V", "b")]])])
    assert library.run(store, "marks").to_pylist() == [
        {"rollout": "r", "step": 0, "predicate": "b", "mark": "verified"}
    ]


def test_steps_without_marks_are_told_from_steps_that_marked_nothing(store):
    ingest(store, [task_record("a", {})])
    known, unknown = rollout_record([[], []], "known"), rollout_record([[], []], "unknown")
    some = rollout_record([[("V", "a")], []], "some")
    for step in unknown["steps"]:
        del step["predicates"]
    del some["steps"][1]["predicates"]
    ingest(store, [known, unknown, some])
    found = {c.rollout: (c.fallback, [s.credit for s in c.steps]) for c in credit(store, "dars")}
    assert found["known"] == (None, [0, 0])
    none = "no marks: no step says which predicates it verified"
    assert found["unknown"] == (none, [None, None])
    assert found["some"] == (
        "some steps have no marks: they count as having changed nothing",
        [1, 0],
    )


def test_the_advantage_is_the_rollouts(store):
    ingest(store, [task_record("a", {})])
    ingest(store, [rollout_record([[("V", "a")]], name, reward=i) for i, name in enumerate("xy")])
    (worse, better) = credit(store, "dars")
    assert [worse.advantage, better.advantage] == pytest.approx([-1, 1], abs=1e-5)
    assert better.steps[0].advantage == better.advantage


@pytest.mark.parametrize(
    ("predicates", "message"),
    [
        ([{"id": "a", "requires": ["b"]}], "what a requires is listed too, found b"),
        ([{"id": "a"}, {"id": "a"}], "expected ids that differ, found one twice"),
    ],
)
def test_a_faulty_list_of_predicates_is_refused(store, predicates, message):
    report = ingest(store, [{"type": "task", "id": "t", "predicates": predicates}])
    assert message in str(report.refused[0])


def test_a_parameter_is_checked_by_its_own_name(store):
    with pytest.raises(
        CreditError, match="lambda: expected a finite number of at least 0, found -1"
    ):
        credit(store, "dars", **{"lambda": -1})
    assert credit(store, "dars", **{"lambda": 2}).parameters["lambda"] == 2
