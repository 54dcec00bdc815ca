"""The worked examples of RewardFlow, GraphGPO and GiGPO, from records through the store."""

import json
from pathlib import Path

import pytest

from rollgraph.ingest import ingest
from rollgraph.queries import credit, library
from rollgraph.queries.advantages import group_advantages
from rollgraph.queries.batch import Batch
from rollgraph.queries.graphgpo import sink_distances
from rollgraph.queries.state_graph import StateGraphs

from ..state_records import state_record
from .test_worked_examples import assert_part, by_id

DATA = Path(__file__).parent.parent / "data"
REWARDFLOW = json.loads((DATA / "rewardflow.json").read_text())
OTHERS = json.loads((DATA / "graphgpo_gigpo.json").read_text())
GRAPHGPO = [case for case in OTHERS if case["input"].get("op") == "graphgpo"]
GIGPO = [case for case in OTHERS if "groups" in case["input"]]
GRPO = [case for case in OTHERS if case["input"].get("op") == "advantage"]


def test_every_case_is_run():
    assert len(GRAPHGPO) + len(GIGPO) + len(GRPO) == len(OTHERS)


def keys(store):
    """State id to the key that the case gave it."""
    rows = store.query("MATCH (s:State) RETURN s.id AS id, s.key AS key").to_pylist()
    return {row["id"]: row["key"] for row in rows}


def parts(credited):
    return {c.rollout: [s.credit for s in c.steps] for c in credited}


def advantages(credited):
    return {c.rollout: [s.advantage for s in c.steps] for c in credited}


@by_id(REWARDFLOW)
def test_rewardflow_gives_the_expected_values_and_advantages(store, case):
    rollouts, options = case["input"]["rollouts"], case["input"]["options"]
    ingest(store, [state_record(rollout) for rollout in rollouts])
    credited = credit(store, "rewardflow", **options)
    only_steps = credit(store, "rewardflow", **options, alpha_traj=0.0)
    name = keys(store)
    distance = dict.fromkeys(name.values())
    for row in library.run(store, "reward_flow", groups=["g"]).to_pylist():
        distance[name[row["state"]]] = row["distance"]
    for row in library.run(store, "final_states").to_pylist():
        if row["success"]:
            distance[name[row["state"]]] = 0
    found = {
        "distance": distance,
        "R": {k: 0 if d is None else options["gamma"] ** d for k, d in distance.items()},
        "step_reward": parts(credited),
        "adv_action": advantages(only_steps),
        "adv_traj": {c.rollout: c.advantage for c in credited},
        "adv": advantages(credited),
    }
    for key, expected in case["expected"].items():
        assert_part(found[key], expected, case["tolerance"], f"{case['id']}.{key}")


@by_id(GRAPHGPO)
def test_graphgpo_gives_the_expected_returns_and_advantages(store, case):
    rollouts, options = case["input"]["rollouts"], case["input"]["options"]
    ingest(store, [state_record(rollout) for rollout in rollouts])
    credited = credit(store, "graphgpo", **options)
    name = keys(store)
    batch = Batch(store, ["g"])
    known, furthest = sink_distances(batch, StateGraphs(batch, "group"))
    distance = dict.fromkeys(name.values(), furthest["t", "g"] + 1)
    distance |= {name[state]: d for (_, _, state), d in known.items()}
    found = {
        "distance": {**distance, "__success__": 0},
        "returns": parts(credited),
        "adv_graph": advantages(credit(store, "graphgpo", **options, beta_episode=0.0)),
        "adv_episode": {c.rollout: c.advantage for c in credited},
        "adv": advantages(credited),
    }
    for key, expected in case["expected"].items():
        assert_part(found[key], expected, case["tolerance"], f"{case['id']}.{key}")


@by_id(GIGPO)
def test_gigpo_gives_the_expected_returns_and_advantages(store, case):
    options = case["input"]["options"]
    for group in case["input"]["groups"]:
        records = [state_record(r, group["uid"], group["uid"]) for r in group["rollouts"]]
        ingest(store, records)
    credited = credit(store, "gigpo", **options)
    base = {c.rollout: c.advantage for c in credited}
    found = {
        "returns": parts(credited),
        "adv_step": {c.rollout: [s.advantage - base[c.rollout] for s in c.steps] for c in credited},
    }
    for key, expected in case["expected"].items():
        assert_part(found[key], expected, case["tolerance"], f"{case['id']}.{key}")


@by_id(GRPO)
def test_rewards_give_the_expected_advantages(case):
    given = case["input"]
    found = group_advantages(given["rewards"], ddof=given["ddof"], eps=given["eps"])
    assert found == pytest.approx(case["expected"]["advantages"], abs=case["tolerance"])
