"""Every case of the worked examples, from rollout records through the store to the result."""

import json
from pathlib import Path

import pytest

from rollgraph.ingest import ingest
from rollgraph.queries import credit, library
from rollgraph.queries.advantages import group_advantages
from rollgraph.queries.step_weights import step_weights

from ..rollout_records import listed_values, rollout_record, task_record

CASES = json.loads((Path(__file__).parent.parent / "data" / "depgpo.json").read_text())
CREDIT_CASES = [case for case in CASES if "commands" in case["input"]]
FACTOR_CASES = [case for case in CASES if case["input"].get("op") == "factors"]
ADVANTAGE_CASES = [case for case in CASES if case["input"].get("op") == "advantage"]

# Rewards of the siblings, the rollout's own, and eps, that give the case's advantage.
GROUPS = {
    1.0: ([0.0], 1.0, 1e-12),
    -1.0: ([1.0], 0.0, 1e-12),
    2.0: ([0.0] * 4, 1.0, 1e-12),
    -0.5773489359275199: ([0.0, 0.0, 1.0], 0.0, 1e-6),
}


def by_id(cases):
    return pytest.mark.parametrize("case", cases, ids=[case["id"] for case in cases])


def test_every_case_is_run_somewhere_or_belongs_to_the_trainer():
    run = {case["id"] for case in CREDIT_CASES + FACTOR_CASES + ADVANTAGE_CASES}
    assert {case["id"] for case in CASES} - run == {"dual-clip"}  # a loss


@by_id(CREDIT_CASES)
def test_rollout_records_give_the_expected_credit(store, case):
    task, group = case["input"], "g"
    siblings, own, eps = GROUPS[task["advantage"]]
    records = [task_record(task, group), rollout_record(task, "r", group, own)]
    records += [
        {"type": "rollout", "id": f"s{i}", "task": "g-task", "group": group, "reward": reward}
        for i, reward in enumerate(siblings)
    ]
    ingest(store, records, extract=listed_values)
    options = {"eps": eps, **task["options"]}
    found = measured(store, task, options)
    for key, expected in case["expected"].items():
        assert_part(found[key], expected, case["tolerance"], f"{case['id']}.{key}")


@by_id(FACTOR_CASES)
def test_step_credits_give_the_expected_weights(case):
    given = case["input"]
    found = step_weights(
        given["step_credit"], given["tokens"], unmapped_tokens=given["unmapped_tokens"]
    )
    values = {
        "m": found.minimum,
        "delta": found.delta,
        "S": found.compared,
        "factors": found.factors,
        "Z": found.z,
        "weights": found.weights,
        "unmapped_weight": found.unmapped_weight,
        "fallback": found.fallback,
        "advantages": [weight * given["advantage"] for weight in found.weights],
    }
    for key, expected in case["expected"].items():
        assert_part(values[key], expected, case["tolerance"], key)


@by_id(ADVANTAGE_CASES)
def test_rewards_give_the_expected_advantages(case):
    given = case["input"]
    found = group_advantages(given["rewards"], ddof=given["ddof"], eps=given["eps"])
    assert_part(found, case["expected"]["advantages"], case["tolerance"], "advantages")


def measured(store, task, options):
    """Put the store's answers in the worked examples' terms."""
    names = [command["id"] for command in task["commands"]]
    (result,) = (r for r in credit(store, "depgpo", **options) if r.rollout == "r")
    commands = {names[c.position]: c for c in result.commands}

    def ask(query):
        given = {"whole_file": options["whole_file"]}
        known = library.load(query).parameters
        rows = library.run(store, query, **{k: v for k, v in given.items() if k in known})
        return [row for row in rows.to_pylist() if row["rollout"] == "r"]

    distances = {}
    for row in ask("read_distances"):
        reads = distances.setdefault(names[row["position"]], {})
        reads[names[row["write"]]] = row["distance"]
    weights = step_weights([s.credit for s in result.steps], task["tokens"])
    return {
        "q": {name: c.credit for name, c in commands.items()},
        "contrib": {name: c.credit for name, c in commands.items() if c.kind == "write"},
        "distances": distances,
        "edges": sorted(
            [names[row["source"]], names[row["target"]], row["kind"]]
            for row in ask("dependencies")
            if row["target"] < len(names)
        ),
        "E_files": [row["name"] for row in ask("verifier_read_set") if row["kind"] == "file"],
        "reaches_E": sorted(n for n, c in commands.items() if c.kind == "write" and c.reaches),
        **positions(store, names, task, result, options),
        "step_credit": [s.credit for s in result.steps],
        "S": weights.compared,
        "delta": weights.delta,
        "Z": weights.z,
        "factors": [s.factor for s in result.steps],
        "weights": [s.weight for s in result.steps],
        "advantages": [s.advantage for s in result.steps],
        "fallback": result.fallback,
    }


def positions(store, names, task, result, options):
    """W, D and I as [path, line] lists, from the fragments and the queries' answers."""
    found = {"W": {}, "direct": {}, "indirect": {}}
    given = {"whole_file": options["whole_file"]}
    direct = library.run(store, "direct_records", **given).to_pylist()
    consumed = library.run(store, "consumed_records", **given).to_pylist()
    reaching = {c.position for c in result.commands if c.reaches}
    keys = {
        "W": None,
        "direct": {(row["position"], row["fragment"]) for row in direct},
        "indirect": {
            (row["position"], row["fragment"]) for row in consumed if row["consumer"] in reaching
        },
    }
    places = {}
    for position, command in enumerate(task["commands"]):
        index = sum(c["step"] == command["step"] for c in task["commands"][:position])
        places[position] = f"r/{command['step']}/{index}"
    for position, name in enumerate(names):
        rows = library.run(store, "written_fragments", command=places[position]).to_pylist()
        for key, wanted in keys.items():
            found[key][name] = sorted(
                [row["path"], line]
                for row in rows
                if wanted is None or (position, row["fragment"]) in wanted
                for line in lines_of(row)
            )
    return found


def lines_of(row):
    return [-1] if row["first"] is None else range(row["first"], row["last"] + 1)


def assert_part(found, expected, tolerance, where):
    """Compare what `expected` names: keys of objects, lists whole, numbers within the tolerance."""
    if isinstance(expected, dict):
        for key, value in expected.items():
            assert_part(found[key], value, tolerance, f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), f"{where}: {found} != {expected}"
        for index, value in enumerate(expected):
            assert_part(found[index], value, tolerance, f"{where}[{index}]")
    elif isinstance(expected, int | float) and not isinstance(expected, bool):
        assert found == pytest.approx(expected, abs=tolerance, rel=0), where
    else:
        assert found == expected, where
