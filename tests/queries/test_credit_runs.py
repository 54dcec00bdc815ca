"""Kept credits come back as they were, with where they came from."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollgraph.graph import CreditError
from rollgraph.ingest import ingest
from rollgraph.ingest.demo import DEMO_FILE
from rollgraph.queries import ask, credit, load_credits, save_credits

from .. import strategies
from ..rollout_records import listed_values, rollout_record


@pytest.mark.parametrize(
    ("method", "parameters"), [("depgpo", {"beta": 0.25}), ("grpo", {}), ("rloo", {})]
)
def test_what_was_kept_comes_back_equal(store, method, parameters):
    ingest(store, DEMO_FILE)
    found = credit(store, method, ["fix-config", "start-server"], **parameters)
    back = load_credits(store, save_credits(store, found))
    assert back == found
    assert list(back.to_json_lines()) == list(found.to_json_lines())


@settings(max_examples=8)
@given(tasks=st.lists(strategies.rollouts(), min_size=1, max_size=3))
def test_any_rollouts_credits_come_back_equal(store, tasks):
    records = [rollout_record(task, f"r{i}", "g", i % 2) for i, task in enumerate(tasks)]
    ingest(store, records, extract=listed_values)
    found = credit(store, groups=["g"])
    assert load_credits(store, save_credits(store, found)) == found


def test_a_run_tells_its_provenance(store):
    ingest(store, DEMO_FILE)
    run = save_credits(store, credit(store, groups=["fix-config"], beta=0.75))
    (row,) = ask(store, "credit_runs").to_dict(orient="records")
    assert row["run"] == run
    assert (row["method"], row["rollouts"], list(row["groups"])) == ("depgpo", 4, ["fix-config"])
    assert '"beta": 0.75' in row["parameters"]
    assert len(row["query_sha256"]) == 64
    assert row["created_at"].endswith("+00:00")
    assert row["code_version"]


def test_credits_of_a_rollout_that_was_replaced_are_not_kept(store):
    steps = [{"commands": [{"text": "a", "reads": []}]}] * 2
    record = {"type": "rollout", "id": "r", "task": "t", "steps": steps, "verifier": {}}
    ingest(store, [record])
    found = credit(store)
    ingest(store, [{**record, "steps": steps[:1]}])
    with pytest.raises(CreditError, match="rollout r was replaced since it was credited"):
        save_credits(store, found)
    assert ask(store, "credit_runs").empty


def test_replacing_a_rollout_takes_its_kept_credits_along(store):
    ingest(store, DEMO_FILE)
    run = save_credits(store, credit(store))
    name = "fix-config/keeps-notes"
    ingest(store, [{"type": "rollout", "id": name, "task": "fix-config", "reward": 1}])
    assert {result.rollout for result in load_credits(store, run)} == {
        result.rollout for result in credit(store)
    } - {name}


def test_an_unknown_run_names_the_known(store):
    ingest(store, DEMO_FILE)
    run = save_credits(store, credit(store, "grpo"))
    with pytest.raises(CreditError, match=f"no credit run is called x; there are: {run}"):
        load_credits(store, "x")
