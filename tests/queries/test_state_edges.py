"""State graphs at their edges: loops, ties, nobody succeeds, nobody fails. Values are by hand.

Advantages are only centred (`mode=mean`), gamma and omega are 0.5 (RewardFlow: 0.9), so that they
are plain decimals: rollout to one a step.
"""

import pytest

from rollgraph.ingest import ingest
from rollgraph.queries import ask, credit

from ..state_records import state_record

OPTIONS = {
    "rewardflow": {"gamma": 0.9},
    "graphgpo": {"omega": 0.5, "weighting": "rollout"},
    "gigpo": {"gamma": 0.5},
    "hgpo": {"gamma": 0.5},
    "g2po": {"gamma": 0.5},
}


def put(store, **rollouts):
    """Ingest rollouts named by their states and how they ended: `r0="aab won"`."""
    records = []
    for name, text in rollouts.items():
        states, _, end = text.partition(" ")
        records.append(state_record({"id": name, "states": [*states], "success": end == "won"}))
    ingest(store, records)


def assert_advantages(store, method, **expected):
    found = credit(store, method, mode="mean", **OPTIONS[method])
    got = {result.rollout: [step.advantage for step in result.steps] for result in found}
    assert got.keys() == expected.keys()
    for rollout, values in expected.items():
        assert got[rollout] == pytest.approx(values, abs=1e-12), (method, rollout)


def gains(store, rollout):
    found = {result.rollout: result for result in credit(store, "rewardflow")}
    return [step.credit for step in found[rollout].steps]


def test_a_success_state_that_was_passed_before_without_reward_is_still_one(store):
    put(store, r0="agbg won", r1="ab lost")
    assert gains(store, "r0") == pytest.approx([0.1, -0.1, 0.1])
    assert_advantages(store, "rewardflow", r0=[0.55, 0.5, 0.5], r1=[-0.55])
    assert_advantages(store, "graphgpo", r0=[3.75, 5, 5], r1=[-3.75])
    assert_advantages(store, "gigpo", r0=[0.625, 0.5, 0.5], r1=[-0.625])


def test_the_last_step_of_the_longest_rollout_counts(store):
    put(store, r0="abg won", r1="aa lost")
    assert gains(store, "r0") == pytest.approx([0.09, 0.1])
    assert_advantages(store, "rewardflow", r0=[0.545, 0.5], r1=[-0.545])
    assert_advantages(store, "graphgpo", r0=[6.25, 5], r1=[-6.25])
    assert_advantages(store, "gigpo", r0=[0.75, 0.5], r1=[-0.75])


def test_a_step_that_stays_in_its_state_gains_nothing_and_is_compared(store):
    put(store, r0="aag won")
    assert gains(store, "r0") == pytest.approx([0, 0.1])
    assert_advantages(store, "rewardflow", r0=[-0.05, 0.05])
    assert_advantages(store, "graphgpo", r0=[-2.5, 2.5])
    assert_advantages(store, "gigpo", r0=[-0.25, 0.25])


def test_two_actions_between_the_same_states_are_worth_the_same(store):
    first = state_record({"id": "r0", "states": [*"abg"], "actions": "xz", "success": True})
    second = state_record({"id": "r1", "states": [*"ab"], "actions": "y", "success": False})
    ingest(store, [first, second])
    assert sorted(ask(store, "transitions")["action"]) == ["x", "y", "z"]
    assert_advantages(store, "rewardflow", r0=[0.5, 0.5], r1=[-0.5])
    assert_advantages(store, "graphgpo", r0=[5, 5], r1=[-5])
    assert_advantages(store, "gigpo", r0=[0.75, 0.5], r1=[-0.75])


def test_where_nobody_succeeds_no_step_is_preferred(store):
    put(store, r0="abc lost", r1="ac lost")
    assert gains(store, "r0") == [0, 0]
    for method in OPTIONS:
        assert_advantages(store, method, r0=[0, 0], r1=[0])


def test_where_everybody_succeeds_the_shorter_way_is_preferred(store):
    put(store, r0="abg won", r1="ag won")
    assert_advantages(store, "rewardflow", r0=[-0.05, 0], r1=[0.05])
    assert_advantages(store, "graphgpo", r0=[-2.5, 0], r1=[2.5])
    assert_advantages(store, "gigpo", r0=[-0.25, 0], r1=[0.25])
    assert_advantages(store, "hgpo", r0=[-0.25, 0], r1=[0.25])
    assert_advantages(store, "g2po", r0=[-13 / 24, 1 / 12], r1=[11 / 24])


def test_one_rollout_is_compared_with_itself_where_it_came_back(store):
    put(store, r0="abag won")
    assert gains(store, "r0") == pytest.approx([-0.09, 0.09, 0.1])
    assert_advantages(store, "rewardflow", r0=[-0.095, 0, 0.095])
    assert_advantages(store, "graphgpo", r0=[-3.75, 0, 3.75])
    assert_advantages(store, "gigpo", r0=[-0.375, 0, 0.375])
    assert_advantages(store, "hgpo", r0=[-0.375, 0, 0.375])
    assert_advantages(store, "g2po", r0=[-2 / 3, -1 / 6, 5 / 6])


def test_a_rollout_without_steps_counts_among_its_siblings(store):
    put(store, r0="a lost", r1="ag won")
    assert_advantages(store, "rewardflow", r0=[], r1=[0.5])
    assert_advantages(store, "graphgpo", r0=[], r1=[5])
    assert_advantages(store, "gigpo", r0=[], r1=[0.5])
    assert_advantages(store, "hgpo", r0=[], r1=[0])
    assert_advantages(store, "g2po", r0=[], r1=[0.5])


def test_a_rollout_that_succeeded_without_a_step_makes_its_state_one_of_success(store):
    put(store, r0="g won", r1="ag lost")
    assert gains(store, "r1") == pytest.approx([0.1])
    assert_advantages(store, "rewardflow", r0=[], r1=[-0.5])
    assert_advantages(store, "graphgpo", r0=[], r1=[-5])
    assert_advantages(store, "gigpo", r0=[], r1=[-0.5])
