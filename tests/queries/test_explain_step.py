"""A step's explanation names its states, the way to success and the steps it is compared with."""

import pytest

from rollgraph.graph import CreditError
from rollgraph.ingest import ingest
from rollgraph.queries import credit, explain

from ..state_records import state_record

ROLLOUTS = [
    {"id": "a", "states": ["hall", "kitchen", "desk", "done"], "success": True,
     "actions": ["go kitchen", "take mug", "put mug"]},
    {"id": "b", "states": ["hall", "kitchen", "hall", "cellar"], "success": False,
     "actions": ["go kitchen", "go hall", "go cellar"]},
]  # fmt: skip


@pytest.fixture
def filled(store):
    ingest(store, [state_record(rollout) for rollout in ROLLOUTS])
    return store


def rows(store, step, method, columns, **options):
    table = explain(store, step, method, **options)
    found = table[list(columns)].astype(object)
    return [tuple(row) for row in found.where(found.notna(), None).itertuples(index=False)]


COLUMNS = ("why", "step", "text", "path", "distance", "value")


def test_rewardflow_shows_how_far_success_is(filled):
    before, after, own, other = rows(filled, "b/1", "rewardflow", COLUMNS)
    long, short = "a/0 → a/1 → a/2 → success", "a/1 → a/2 → success"
    assert before == ("state before", "b/1", "kitchen", short, 2, pytest.approx(0.81))
    assert after == ("state after", "b/1", "hall", long, 3, pytest.approx(0.729))
    assert own == ("this step", "b/1", "go hall", long, 3, pytest.approx(-0.081))
    assert other == ("same state", "a/1", "take mug", "a/2 → success", 1, pytest.approx(0.09))


def test_a_state_with_no_way_to_success_is_worth_nothing(filled):
    _, after, own, *others = rows(filled, "b/2", "rewardflow", COLUMNS)
    assert after == ("state after", "b/2", "cellar", "", None, 0)
    assert own[-1] == pytest.approx(-0.729)
    assert [row[1] for row in others] == ["a/0", "b/0"]


def test_graphgpos_last_step_leads_to_success_itself(filled):
    before, after, own = rows(filled, "a/2", "graphgpo", COLUMNS)
    assert before == ("state before", "a/2", "desk", "a/2 → success", 1, None)
    assert after == ("state after", "a/2", None, "success", 0, None)
    assert own == ("this step", "a/2", "put mug", "success", 0, 10)


def test_hgpo_says_how_much_of_the_history_is_shared(filled):
    more = state_record({"id": "c", "states": ["loft", "kitchen", "x"], "success": False})
    ingest(filled, [more])
    found = rows(filled, "a/1", "hgpo", ("why", "step"))[3:]
    assert found == [("same last 2 states", "b/1"), ("same state", "c/1")]


def test_g2po_shows_what_the_states_are_worth(filled):
    before, after, own = rows(filled, "a/2", "g2po", ("why", "value"))
    assert before == ("state before", pytest.approx(0.95))
    assert after == ("state after", 1)
    assert own == ("this step", pytest.approx(0.05))


@pytest.mark.parametrize("method", ["rewardflow", "graphgpo", "gigpo", "hgpo", "g2po"])
def test_every_step_shows_the_credit_and_advantage_that_credit_gives(filled, method):
    for rollout in credit(filled, method):
        for step in rollout.steps:
            name = f"{rollout.rollout}/{step.step}"
            (own,) = [r for r in rows(filled, name, method, ("why", "step", "value", "advantage"))
                      if r[0] == "this step"]  # fmt: skip
            assert own == ("this step", name, step.credit, step.advantage)


def test_a_tasks_graph_shows_the_steps_of_its_other_groups(filled):
    other = {"id": "z", "states": ["hall", "done"], "actions": ["jump"], "success": True}
    ingest(filled, [state_record(other, group="h")])
    before, *_, last = rows(filled, "b/0", "rewardflow", COLUMNS, scope="task")
    assert before == ("state before", "b/0", "hall", "z/0 → success", 1, pytest.approx(0.9))
    assert last[:3] == ("same state", "z/0", "jump")


@pytest.mark.parametrize(
    ("name", "method", "message"),
    [
        ("b/9", "gigpo", "no step is called b/9; expected ROLLOUT/STEP, such as rollout-1/2"),
        ("b/1", "grpo", "grpo: every step has its rollout's advantage, there is nothing to explai"),
        ("b/1", "ppo", "no method is called ppo"),
        ("n/0", "rewardflow", "n/0: has no credit to explain: .*no states"),
    ],
)
def test_what_cannot_be_explained_is_named(filled, name, method, message):
    ingest(filled, [{"type": "rollout", "id": "n", "task": "t", "group": "g", "steps": [{}]}])
    with pytest.raises(CreditError, match=message):
        explain(filled, name, method)
