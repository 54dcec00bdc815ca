"""On random state graphs every method equals the plain reference, on whichever engine runs."""

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollgraph.ingest import ingest
from rollgraph.queries import credit

from .. import state_reference

NUMBERS = count()
MODES = {
    "mode": st.sampled_from(["mean_std", "mean"]),
    "ddof": st.sampled_from([0, 1]),
    "compat": st.sampled_from(["none", "none", "verl-agent"]),
}
WEIGHTINGS = st.sampled_from(["rollout", "step", "trajectory"])
GAMMAS = st.sampled_from([0.5, 0.75, 1.0])  # powers of them are exact, so that equals are equal
OPTIONS = {
    "rewardflow": {
        "gamma": st.sampled_from([0.5, 0.9, 1.0]),
        "propagation": st.sampled_from(["min", "mean", "pagerank"]),
        "traj_weighting": WEIGHTINGS,
    },
    "graphgpo": {
        "omega": st.sampled_from([0.1, 0.5, 1.0]),
        "convention": st.sampled_from(["code", "paper"]),
        "weighting": WEIGHTINGS,
    },
    "gigpo": {
        "gamma": GAMMAS,
        "omega": st.sampled_from([1.0, 0.5]),
        "episode_weighting": WEIGHTINGS,
    },
    "hgpo": {
        "gamma": GAMMAS,
        "history": st.sampled_from([0, 1, 2, 3]),
        "alpha": st.sampled_from([0.0, 1.0, 2.0]),
    },
    "g2po": {"gamma": GAMMAS, "omega": st.sampled_from([1.0, 0.5]), "weighting": WEIGHTINGS},
}
ASKED = st.fixed_dictionaries(
    {name: st.fixed_dictionaries(own | MODES) for name, own in OPTIONS.items()}
)
KEYS = st.sampled_from([*"aabbccd", None])


@st.composite
def rollouts(draw):
    length = draw(st.integers(0, 6))
    steps = {"min_size": length, "max_size": length}
    rewards = st.sampled_from([0.0, 0.0, 1.0, -0.25])
    return {
        "states": draw(st.lists(KEYS, min_size=length + 1, max_size=length + 1)),
        "success": draw(st.sampled_from([True, True, False, False, None])),
        "outcome": draw(st.sampled_from([0.0, 1.0, 1.0, 0.25, None])),
        "rewards": draw(st.none() | st.lists(rewards, **steps)),
        "valid": draw(st.lists(st.sampled_from([True, True, False]), **steps)),
    }


GROUPS = st.lists(st.lists(rollouts(), min_size=1, max_size=5), min_size=1, max_size=6)


def record(rollout, task, group):
    steps = [{"valid": is_valid} for is_valid in rollout["valid"]]
    for index, step in enumerate(steps):
        if (key := rollout["states"][index]) is not None:
            step["state"] = {"key": key}
        if rollout["rewards"] is not None:
            step["reward"] = rollout["rewards"][index]
    found = {"type": "rollout", "id": rollout["id"], "task": task, "group": group, "steps": steps}
    if rollout["states"][-1] is not None:
        found["final_state"] = {"key": rollout["states"][-1]}
    if rollout["success"] is not None:
        found["success"] = rollout["success"]
    if rollout["outcome"] is not None:
        found["reward"] = rollout["outcome"]
    return found


def put(store, groups):
    """Ingest groups under new names, three to a task, and return them by name."""
    batch = next(NUMBERS)
    # Rewards of which not all are 0 or 1 tell no success.
    records = [{"type": "rollout", "id": f"{batch}", "task": "other", "reward": 0.5, "steps": []}]
    named = {}
    for number, members in enumerate(groups):
        group, task = f"{batch}/{number}", f"{batch}/t{number // 3}"
        named[group] = [{**r, "id": f"{group}/{index}"} for index, r in enumerate(members)]
        records += [record(rollout, task, group) for rollout in named[group]]
    ingest(store, records)
    return named


@settings(max_examples=60)
@given(groups=GROUPS, asked=ASKED)
def test_every_method_equals_the_plain_reference(store, groups, asked):
    named = put(store, groups)
    for method, options in asked.items():
        found = credit(store, method, groups=list(named), **options)
        got = {
            c.rollout: (c.advantage, [s.credit for s in c.steps], [s.advantage for s in c.steps])
            for c in found
        }
        expected = {}
        for group in named.values():
            expected |= getattr(state_reference, method)(group, **options)
        assert got.keys() == expected.keys()
        is_exact = options.get("propagation") != "pagerank"  # an iteration tells no equals
        for name, (base, of_steps, advantages) in expected.items():
            about = f"{method} {options} {name}"
            assert got[name][0] == pytest.approx(base, abs=1e-8), about
            assert got[name][1] == pytest.approx(of_steps, abs=1e-9), about
            if is_exact:
                assert got[name][2] == pytest.approx(advantages, abs=1e-8), about


@settings(max_examples=10)
@given(members=st.lists(rollouts(), min_size=2, max_size=6), data=st.data())
def test_the_order_of_rollouts_changes_nothing(store, members, data):
    order = data.draw(st.permutations(range(len(members))))
    first, second = put(store, [members]), put(store, [[members[index] for index in order]])
    for method in OPTIONS:
        one, other = (list(credit(store, method, groups=list(n))) for n in (first, second))
        for place, index in enumerate(order):
            assert other[place].advantage == one[index].advantage
            assert other[place].steps == one[index].steps
