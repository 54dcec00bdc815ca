"""Credits obey their laws, and every fallback says why."""

import json
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollgraph.graph import CreditError
from rollgraph.ingest import ingest
from rollgraph.queries import CREDIT_METHODS, credit
from rollgraph.queries.advantages import group_advantages, leave_one_out_advantages
from rollgraph.queries.step_weights import step_weights

REWARDS = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=12)
WRITE = {"text": "w", "reads": [], "writes": [{"path": "/w/a", "lines": [[1, 2]]}]}
READ = {"text": "r", "reads": ["/w/a"]}
UNTRACED = {"text": "u"}


def rollout(name="r", commands=(WRITE, READ), tokens=1, **fields):
    counts = tokens if isinstance(tokens, list) else [tokens] * len(commands)
    steps = [
        {"commands": [command] if command else []} | ({} if n is None else {"tokens": {"count": n}})
        for command, n in zip(commands, counts, strict=True)
    ]
    record = {"type": "rollout", "id": name, "task": "t", "reward": 1, "steps": steps}
    return {**record, "verifier": {"reads": ["/w/a"]}, **fields}


def only(store, method="depgpo", **parameters):
    (found,) = credit(store, method, **parameters)
    return found


@given(rewards=REWARDS, shift=st.floats(-10, 10))
def test_advantages_of_a_group_are_centred_and_keep_their_order(rewards, shift):
    found = group_advantages(rewards)
    assert sum(found) == pytest.approx(0, abs=1e-6)
    for (one, a), (other, b) in product(zip(rewards, found, strict=True), repeat=2):
        assert a >= b or one < other
    assert group_advantages([1 + shift, 2 + shift, 4 + shift]) == pytest.approx(
        group_advantages([1, 2, 4]), abs=1e-6
    )


@given(rewards=REWARDS, order=st.randoms())
def test_the_order_of_a_group_changes_nothing(rewards, order):
    shuffled = list(rewards)
    order.shuffle(shuffled)
    by_reward = dict(zip(rewards, group_advantages(rewards), strict=True))
    assert group_advantages(shuffled) == [by_reward[reward] for reward in shuffled]


@given(reward=st.floats(-1e6, 1e6), size=st.integers(1, 40))
def test_equal_rewards_give_exactly_zero(reward, size):
    assert group_advantages([reward] * size) == [0.0] * size


@given(rewards=REWARDS.filter(lambda rewards: len(rewards) > 1))
def test_rloo_compares_with_the_mean_of_the_others(rewards):
    found = leave_one_out_advantages(rewards)
    for index, advantage in enumerate(found):
        others = rewards[:index] + rewards[index + 1 :]
        assert advantage == pytest.approx(rewards[index] - sum(others) / len(others), abs=1e-6)


@pytest.mark.parametrize("scale", [1.0, 1e99, 1e101, 1e200, 8e307])
def test_advantages_of_any_finite_rewards_are_finite_and_right(scale):
    standardized = group_advantages([scale, 0.0, -scale, scale])
    expected = group_advantages([1.0, 0.0, -1.0, 1.0], eps=1e-6 / scale)
    assert standardized == pytest.approx(expected, abs=1e-9)
    centred = group_advantages([scale, scale, 0.0], mode="mean")
    assert [value / scale for value in centred] == pytest.approx([1 / 3, 1 / 3, -2 / 3])
    others = leave_one_out_advantages([scale, scale, 0.0])
    assert [value / scale for value in others] == pytest.approx([0.5, 0.5, -1])


def test_credits_that_differ_by_no_more_than_the_threshold_fall_back():
    assert step_weights([0.0, 0.5], [1, 1], delta_min=0.5).fallback == "delta <= 0.5"
    assert step_weights([0.0, 0.5], [1, 1], delta_min=0.49).fallback is None


def test_a_group_of_one_has_no_rloo_advantage():
    with pytest.raises(CreditError, match="found none"):
        leave_one_out_advantages([1.0])


CREDITS = st.lists(st.one_of(st.none(), st.floats(0, 5)), min_size=1, max_size=9)


@given(credits=CREDITS, data=st.data())
def test_weights_keep_the_token_weighted_mean_and_never_change_a_sign(credits, data):  # noqa: A002
    size = len(credits)
    tokens = data.draw(st.lists(st.integers(0, 50), min_size=size, max_size=size))
    unmapped = data.draw(st.integers(0, 20))
    found = step_weights(credits, tokens, unmapped_tokens=unmapped)
    assert all(weight >= 0 for weight in (*found.weights, found.unmapped_weight))
    if found.z:
        total = sum(w * n for w, n in zip(found.weights, tokens, strict=True))
        mean = (total + found.unmapped_weight * unmapped) / (sum(tokens) + unmapped)
        assert mean == pytest.approx(1, abs=1e-9)
    if found.fallback is None:
        compared = [found.factors[step] for step in found.compared]
        assert sum(compared) / len(compared) == pytest.approx(1, abs=1e-9)
        assert min(compared) == 0


@pytest.mark.parametrize(
    ("record", "fallback"),
    [
        (rollout(), None),
        (rollout(commands=()), "no steps"),
        ({"type": "rollout", "id": "r", "task": "t", "reward": 1}, "no steps"),
        (rollout(verifier=None), "no verifier record"),
        (rollout(commands=(UNTRACED, None)), "no traced command"),
        (rollout(verifier={}), "delta <= 1e-09"),
        (rollout(commands=(READ, READ)), "delta <= 1e-09"),
        (rollout(tokens=[0, 5]), "Z is zero"),
        (rollout(tokens=0), "no loss tokens"),
        (rollout(tokens=None), "no token counts: steps weigh alike"),
        (rollout(tokens=[None, 5]), "no token counts in steps 0"),
    ],
)
def test_every_fallback_says_why_and_keeps_the_rollout(store, record, fallback):
    ingest(store, [record, rollout("sibling", reward=0)])
    found = next(r for r in credit(store, eps=1e-12) if r.rollout == "r")
    assert found.fallback == fallback
    assert found.advantage == pytest.approx(1)
    is_uniform = fallback not in (None, "no token counts: steps weigh alike")
    assert all((step.weight == 1) == is_uniform for step in found.steps)
    if found.steps and fallback in (None, "no token counts: steps weigh alike"):
        assert [step.weight for step in found.steps] == [2, 0]


def test_without_a_verifier_record_no_command_has_a_credit(store):
    ingest(store, [rollout(verifier=None)])
    found = only(store)
    assert found.commands == []
    assert [step.credit for step in found.steps] == [None, None]


def test_an_unscored_rollout_has_no_advantage_and_takes_no_part_in_its_group(store):
    ingest(store, [rollout("a"), rollout("b", reward=0), rollout("c", reward=None)])
    for method in CREDIT_METHODS:
        found = {result.rollout: result for result in credit(store, method)}
        assert found["c"].advantage is None
        assert [step.advantage for step in found["c"].steps] == [None, None]
        if method != "hgpo":  # which has no part of the rollout
            assert found["a"].advantage == -found["b"].advantage > 0


def test_rollouts_of_different_tasks_are_never_compared(store):
    ingest(store, [rollout("a", group="g"), rollout("b", group="g", task="u", reward=0)])
    assert [result.advantage for result in credit(store)] == [0, 0]


def test_untraced_commands_print_values_but_have_no_credit(store):
    prints = {"text": "u", "stdout": "port 8080"}
    serves = {"text": "serve :8080", "writes": [{"path": "/w/a", "lines": [[1, 1]]}]}
    ingest(store, [rollout(commands=(prints, serves, None))])
    found = only(store)
    assert [command.step for command in found.commands] == [1]
    assert [step.credit for step in found.steps] == [None, 1, None]


def test_credits_of_a_step_are_added(store):
    record = rollout(commands=(WRITE, READ))
    record["steps"][0]["commands"] = [WRITE, {**WRITE, "writes": [{"path": "/w/b"}]}, WRITE]
    ingest(store, [record])
    found = only(store)
    assert [command.credit for command in found.commands] == [0, 0, 1, 0]
    assert [(c.step, c.command) for c in found.commands] == [(0, 0), (0, 1), (0, 2), (1, 0)]
    assert [step.credit for step in found.steps] == [1, 0]


def test_groups_choose_what_is_credited(store):
    ingest(store, [rollout("a", group="g"), rollout("b", group="h"), rollout("c", group="h")])
    assert {result.rollout for result in credit(store, groups=["h"])} == {"b", "c"}
    assert len(credit(store)) == 3


def test_the_baselines_give_every_step_the_rollouts_advantage(store):
    ingest(store, [rollout("a"), rollout("b", reward=0), rollout("c", reward=0)])
    expected = {
        ("grpo", ()): [2**0.5, -(0.5**0.5), -(0.5**0.5)],
        ("grpo", (("ddof", 1),)): [(4 / 3) ** 0.5, -((1 / 3) ** 0.5), -((1 / 3) ** 0.5)],
        ("grpo", (("mode", "mean"),)): [2 / 3, -1 / 3, -1 / 3],
        ("rloo", ()): [1, -0.5, -0.5],
    }
    for (method, parameters), advantages in expected.items():
        found = list(credit(store, method, **dict(parameters)))
        assert [result.advantage for result in found] == pytest.approx(advantages, abs=1e-5)
        for result in found:
            assert {step.advantage for step in result.steps} == {result.advantage}
            assert {(step.factor, step.weight, step.credit) for step in result.steps} == {
                (1, 1, None)
            }
            assert (result.commands, result.fallback) == ([], None)


def test_rloo_names_the_group_that_it_cannot_answer_for(store):
    ingest(store, [rollout("a", group="lonely")])
    with pytest.raises(CreditError, match="group lonely: RLOO"):
        credit(store, "rloo")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "ppo"}, "no method is called ppo; there are: depgpo, rewardflow, graphgpo, "),
        ({"gamma": 1}, "depgpo: unknown parameter gamma; it takes: mode, ddof, eps, beta"),
        ({"method": "rloo", "beta": 1}, "rloo: unknown parameter beta; it takes: none"),
        ({"beta": 0}, r"beta: expected a number in \(0, 1\], found 0"),
        ({"beta": "half"}, "beta: expected a number in"),
        ({"beta": True}, "beta: expected a number in"),
        ({"ddof": 2}, "ddof: expected one of 0, 1, found 2"),
        ({"eps": float("inf")}, "eps: expected a finite number of at least 0"),
        ({"delta_min": float("inf")}, "delta_min: expected a finite number of at least 0"),
        ({"variant": "best"}, "variant: expected one of full, binary, no_filter, no_read"),
        ({"groups": ["nobody"]}, "no rollout is in group nobody"),
    ],
)  # fmt: skip
def test_what_a_method_cannot_take_is_named_with_what_it_can(store, arguments, message):
    with pytest.raises(CreditError, match=message):
        credit(store, **arguments)


def test_an_empty_store_has_no_credits(store):
    assert len(credit(store)) == 0
    assert credit(store).steps.empty


def test_the_json_object_is_the_one_that_other_tools_read(store):
    ingest(store, [rollout("a"), rollout("b", reward=0)])
    objects = [json.loads(line) for line in credit(store, eps=1e-12).to_json_lines()]
    command = {"records": 2, "direct": 2, "indirect": 0}
    assert objects[0] == {
        "rollout": "a",
        "group": "t",
        "method": "depgpo",
        "advantage": pytest.approx(1),
        "fallback": None,
        "commands": [
            {"step": 0, "command": 0, "kind": "write", "credit": 1.0, **command},
            {"step": 1, "command": 0, "kind": "read", "credit": 0.0}
            | {"records": 0, "direct": 0, "indirect": 0},
        ],
        "steps": [
            {"step": 0, "credit": 1.0, "factor": 2.0, "weight": 2.0, "advantage": pytest.approx(2)},
            {"step": 1, "credit": 0.0, "factor": 0.0, "weight": 0.0, "advantage": 0.0},
        ],
    }
    assert "-0.0" not in "".join(credit(store).to_json_lines())


@settings(max_examples=10)
@given(beta=st.sampled_from([0.25, 0.5, 1.0]), chain=st.integers(1, 4))
def test_a_read_is_worth_beta_to_the_distance(store, beta, chain):
    commands = [
        {"text": f"x {1000 + i - 1 if i else ''}", "stdout": str(1000 + i), "reads": []}
        for i in range(chain)
    ]
    last = {"text": f"echo {1000 + chain - 1}", "writes": [{"path": "/w/a", "lines": [[1, 1]]}]}
    name = f"{beta}-{chain}"
    ingest(store, [rollout(name, commands=(*commands, last), group=name)])
    found = only(store, groups=[name], beta=beta)
    assert [command.credit for command in found.commands] == pytest.approx(
        [beta ** (chain - i) for i in range(chain)] + [1], abs=1e-9
    )
