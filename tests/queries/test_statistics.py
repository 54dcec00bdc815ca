"""The statistics of Table 11 and Figure 1, counted by hand."""

import pandas as pd
import pytest

from rollgraph.ingest import ingest
from rollgraph.queries import ask, group_health, trace_statistics


def command(text, **touched):
    return {"text": text, "reads": [], **touched}


PRINT = command("cat port", stdout="port 8080")
PASS_ON = command("echo port 8080", stdout="number 5000")
WRITE = command("w 5000", writes=[{"path": "/w/a", "lines": [[1, 2]]}])
SCRIPT = command("s", writes=[{"path": "/w/s", "lines": [[1, 4]]}])
RUN = command("run", reads=["/w/s"], writes=[{"path": "/w/a", "lines": [[5, 5]]}])
USELESS = command("u", writes=[{"path": "/w/u"}])


def rollout(name, *commands, reward=None, **fields):
    steps = [{"tokens": {"count": 1}, "commands": [part]} for part in commands]
    record = {"type": "rollout", "id": name, "task": "t", "steps": steps, **fields}
    return record if reward is None else {**record, "reward": reward}


CHECKED = {"verifier": {"reads": ["/w/a"]}}
RECORDS = [
    # PRINT → PASS_ON → WRITE → E: credits 0.25, 0.5, 1, and 0 for the useless write
    rollout("a", PRINT, PASS_ON, WRITE, USELESS, reward=1, group="g", **CHECKED),
    # SCRIPT → RUN → E: credits 1, 1, and 0 for a read that nothing uses
    rollout("b", SCRIPT, RUN, PRINT, reward=0, group="g", **CHECKED),
    rollout("c", USELESS, reward=0.5, group="h", **CHECKED),
    rollout("d", USELESS, reward=0.5, group="h"),
    rollout("e", group="h"),
    rollout("f", group="i"),
]


def test_trace_statistics_are_those_of_table_11(store):
    ingest(store, RECORDS)
    (row,) = trace_statistics(store).to_dict(orient="records")
    assert row == {
        "rollouts": 6,
        "commands_per_rollout": pytest.approx(9 / 6),
        "usable_credit": pytest.approx(2 / 6),
        "unit_factors": pytest.approx(4 / 6),
        "positive_writes": pytest.approx(3 / 5),  # of a, b, c; d has no verifier record
        "positive_reads": pytest.approx(2 / 3),
        "indirect_writes": pytest.approx(1 / 3),
        "mean_read_distance": pytest.approx(1.5),
    }


def test_distances_are_those_of_reads_with_credit_alone(store):
    # The second printer's value is used by a write that reaches nothing.
    idle = command("cat x", stdout="number 7000")
    useless = command("u 7000", writes=[{"path": "/w/u", "lines": [[1, 1]]}])
    ingest(store, [rollout("r", PRINT, PASS_ON, WRITE, idle, useless, **CHECKED)])
    (row,) = trace_statistics(store).to_dict(orient="records")
    assert row["mean_read_distance"] == pytest.approx(1.5)
    (health,) = group_health(store).to_dict(orient="records")
    assert health["reach_share"] == pytest.approx(3 / 5)


def test_group_health_is_that_of_figure_1(store):
    ingest(store, RECORDS)
    table = group_health(store)
    rows = {row["group"]: row for row in table.to_dict(orient="records")}
    columns = ("rollouts", "scored", "unscored", "zero_advantage", "commands")
    assert {group: tuple(row[name] for name in columns) for group, row in rows.items()} == {
        "g": (2, 2, 0, False, 7),
        "h": (3, 2, 1, True, 1),
        "i": (1, 0, 1, False, 0),
    }
    assert rows["g"]["mean_reward"] == 0.5
    assert rows["g"]["reach_share"] == pytest.approx((3 / 4 + 2 / 3) / 2)
    assert rows["h"]["reach_share"] == 0
    assert pd.isna(rows["i"]["reach_share"])
    assert pd.isna(rows["i"]["mean_reward"])


def test_an_empty_store_has_statistics_of_nothing(store):
    (row,) = ask(store, "trace_statistics").to_dict(orient="records")
    assert row.pop("rollouts") == 0
    assert all(value is None for value in row.values())
    assert ask(store, "group_health").empty


def test_statistics_can_be_asked_of_some_groups(store):
    ingest(store, RECORDS)
    assert list(ask(store, "group_health", groups=["g"])["group"]) == ["g"]
    assert list(ask(store, "trace_statistics", groups=["g"])["rollouts"]) == [2]
