"""On random rollouts the store's answers equal the plain reference, on whichever engine runs."""

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollgraph.ingest import ingest
from rollgraph.queries import credit, library

from .. import strategies
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
