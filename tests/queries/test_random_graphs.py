"""On random rollouts the store's answers equal the plain reference, on whichever engine runs."""

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollgraph.ingest import ingest, typed_values
from rollgraph.queries import credit, library

from .. import strategies
from ..bench.credit import made
from ..reference import solve
from ..rollout_records import listed_values, rollout_record, task_record

NUMBERS = count()


@settings(max_examples=60)
@given(tasks=st.lists(strategies.rollouts(), min_size=1, max_size=12), options=strategies.options())
def test_credits_equal_the_plain_reference(store, tasks, options):
    groups = [f"g{next(NUMBERS)}" for _ in tasks]
    records = [task_record(task, group) for task, group in zip(tasks, groups, strict=True)]
    records += [rollout_record(task, f"{g}/r", g) for task, g in zip(tasks, groups, strict=True)]
    ingest(store, records, extract=listed_values)
    found = {result.group: result for result in credit(store, groups=groups, **options)}
    graph = {"groups": groups, "whole_file": options["whole_file"]}
    edges = library.run(store, "dependencies", **graph).to_pylist()
    distances = library.run(store, "read_distances", **graph).to_pylist()
    consumption = library.run(store, "write_reach", **graph).to_pylist()
    for task, group in zip(tasks, groups, strict=True):
        expected = solve({**task, "options": options})
        assert_credits_equal(found[group], task, expected)
        names = [command["id"] for command in task["commands"]]
        assert edges_of(edges, group, names) == expected["edges"]
        assert distances_of(distances, "write", group, names) == {
            name: near for name, near in expected["distances"].items() if near
        }
        assert distances_of(consumption, "consumer", group, names) == expected["consumption"]


def assert_credits_equal(found, task, expected):
    names = [command["id"] for command in task["commands"]]
    assert [names[command.position] for command in found.commands] == names
    for command in found.commands:
        name = names[command.position]
        assert command.credit == pytest.approx(expected["q"][name], abs=1e-9), name
        assert command.records == len(expected["W"][name])
        assert command.direct == len(expected["direct"][name])
        assert command.indirect == len(expected["indirect"][name])
        if command.kind == "write":
            assert command.reaches == (name in expected["reaches_E"])
    assert [step.credit for step in found.steps] == pytest.approx(expected["step_credit"], abs=1e-9)
    assert [step.factor for step in found.steps] == pytest.approx(expected["factors"], abs=1e-9)
    assert [step.weight for step in found.steps] == pytest.approx(expected["weights"], abs=1e-9)


def edges_of(rows, group, names):
    return sorted(
        [names[row["source"]], names[row["target"]], row["kind"]]
        for row in rows
        if row["rollout"] == f"{group}/r" and row["target"] < len(names)
    )


def distances_of(rows, target, group, names):
    found = {}
    for row in rows:
        if row["rollout"] == f"{group}/r":
            found.setdefault(names[row["position"]], {})[names[row[target]]] = row["distance"]
    return found


def as_example(record):
    """Put a made rollout record in the input form of the worked examples."""
    commands = [
        {
            "id": f"c{index}",
            "step": index,
            "reads": command["reads"],
            "probes": command["probes"],
            "writes": [
                {
                    "path": write["path"],
                    "deleted": False,
                    "lines": [n for a, b in write["lines"] for n in range(a, b + 1)]
                    if "lines" in write
                    else None,
                }
                for write in command["writes"]
            ],
            "ports": [],
            "processes": [],
            "text": list(typed_values(command["text"], command["cwd"])),
            "stdout": list(typed_values(command["stdout"], command["cwd"])),
        }
        for index, step in enumerate(record["steps"])
        for command in step["commands"]
    ]
    verifier = {"writes": [], "shadowed": [], "ports": [], "processes": [], **record["verifier"]}
    tokens = [step["tokens"]["count"] for step in record["steps"]]
    return {"commands": commands, "verifier": verifier, "task_values": [], "tokens": tokens}


@pytest.mark.parametrize(("size", "files"), [(600, 120), (300, 8)])
def test_answers_are_right_where_the_engine_works_in_many_vectors(store, size, files):
    """Plans differ with the size of tables and with the groups asked for; answers must not."""
    records = list(made(size, files))
    ingest(store, records)
    tasks = {record["id"]: as_example(record) for record in records}
    expected = {name: solve(task) for name, task in tasks.items()}
    groups = sorted({record["group"] for record in records})
    for wanted in ([], groups[:1], groups[3:20], groups):
        for result in credit(store, groups=wanted):
            assert_credits_equal(result, tasks[result.rollout], expected[result.rollout])
        some = {record["id"] for record in records if not wanted or record["group"] in wanted}
        assert answers(store, wanted) == truth({name: expected[name] for name in some})


def answers(store, groups):
    """Put what the path queries answer into one form: query to rows."""
    found = {
        name: library.run(store, name, groups=groups).to_pylist()
        for name in ("dependencies", "read_distances", "write_reach", "verifier_read_set")
    }
    verifiers = {
        row["r"]: row["p"]
        for row in store.query(
            "MATCH (r:Rollout)-[:VERIFIED_BY]->(v:Command) RETURN r.id AS r, v.position AS p"
        ).to_pylist()
    }
    return {
        "edges": {
            (row["rollout"], row["source"], row["target"], row["kind"])
            for row in found["dependencies"]
            if row["target"] != verifiers[row["rollout"]]
        },
        "distances": {tuple(row.values()) for row in found["read_distances"]},
        "consumption": {tuple(row.values()) for row in found["write_reach"]},
        "files": {(row["rollout"], row["name"]) for row in found["verifier_read_set"]},
    }


def truth(expected):
    """Put what the reference says into the form of `answers`."""

    def number(name):
        return int(name.removeprefix("c"))

    def pairs(key):
        return {
            (rollout, number(source), number(target), distance)
            for rollout, result in expected.items()
            for source, near in result[key].items()
            for target, distance in near.items()
        }

    return {
        "edges": {
            (rollout, number(source), number(target), kind)
            for rollout, result in expected.items()
            for source, target, kind in result["edges"]
        },
        "distances": pairs("distances"),
        "consumption": pairs("consumption"),
        "files": {(rollout, path) for rollout, r in expected.items() for path in r["E_files"]},
    }
