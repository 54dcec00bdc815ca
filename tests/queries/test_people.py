"""Questions about state graphs that people ask: sizes, repetitions, loops, dead ends, partings."""

import pandas as pd
import pytest

from rollgraph.graph import CreditError
from rollgraph.ingest import ingest
from rollgraph.queries import ask

from ..state_records import state_record

# Two succeed by way of y, one wavers between x and d, one never leaves x, one's end is not known.
ROLLOUTS = [
    {"id": "a", "states": ["x", "y", "goal"], "actions": ["go", "take"], "success": True},
    {"id": "b", "states": ["x", "y", "y", "goal"], "actions": ["go", "wait", "take"],
     "success": True},
    {"id": "c", "states": ["x", "d", "x", "d"], "actions": ["dig", "back", "dig"],
     "success": False},
    {"id": "e", "states": ["x", "x"], "actions": ["wait"], "success": False},
    {"id": "f", "states": ["x", "y", "d", "d"], "actions": ["go", "fall", "wait"]},
]  # fmt: skip
# In another group of the task only failures.
OTHERS = [{"id": "h", "states": ["x", "y"], "actions": ["go"], "success": False}]


@pytest.fixture
def filled(store):
    ingest(store, [state_record(rollout) | {"slot": i} for i, rollout in enumerate(ROLLOUTS)])
    ingest(store, [state_record(rollout, group="h") for rollout in OTHERS])
    return store


def answer(store, name, *columns, **parameters):
    """Return the rows of an answer, of the columns asked for."""
    table = ask(store, name, **parameters)
    rows = table[list(columns)].itertuples(index=False, name=None)
    return [tuple(None if pd.isna(value) else value for value in row) for row in rows]


def test_graph_size_counts_states_and_transitions_once(filled):
    columns = ("group", "rollouts", "steps", "states", "transitions", "success_states")
    # x y d goal; x→y y→goal y→y x→d d→x x→x y→d d→d
    expected = [("g", 5, 12, 4, 8, 1), ("h", 1, 1, 2, 1, 0)]
    assert answer(filled, "graph_size", *columns) == expected


def test_graph_size_leaves_out_steps_between_unknown_states(store):
    record = state_record({"id": "a", "states": ["x", "y", "z"], "success": True})
    del record["steps"][1]["state"]
    ingest(store, [record])
    assert ask(store, "graph_size").empty


def test_graph_size_counts_an_unknown_last_state_as_success_or_failure(store):
    columns = ("rollouts", "steps", "states", "transitions", "success_states")
    for name in ("a", "b", "c"):
        record = state_record({"id": name, "states": ["x", "y", "z"], "success": name == "b"})
        del record["final_state"]
        ingest(store, [record])
    # x y success failure; x→y y→success y→failure
    assert answer(store, "graph_size", *columns) == [(3, 6, 4, 3, 1)]


def test_repetition_counts_visits_and_actions_against_the_different_ones(filled):
    columns = ("group", "rollouts", "steps", "visits", "states", "actions", "different_actions")
    # visited: x y · x y y · x d x · x · x y d; done: go take wait dig back fall
    expected = [("g", 5, 12, 12, 3, 12, 6), ("h", 1, 1, 1, 1, 1, 1)]
    assert answer(filled, "repetition", *columns) == expected


def test_long_actions_that_begin_alike_are_different(store):
    long = "a" * 100_000
    actions = [long + "b", long + "c", long + "b"]
    rollout = {"id": "a", "states": ["x", "y", "z", "w"], "actions": actions, "success": True}
    ingest(store, [state_record(rollout)])
    assert answer(store, "repetition", "actions", "different_actions") == [(3, 2)]


def test_loops_are_the_returns_of_a_rollout_to_where_it_was(filled):
    columns = ("rollout", "key", "visits", "first_step", "last_step", "is_end", "success")
    assert answer(filled, "loops", *columns) == [
        ("b", "y", 2, 1, 2, False, True),
        ("c", "x", 2, 0, 2, False, False),
        ("c", "d", 2, 1, 1, True, False),
        ("e", "x", 2, 0, 0, True, False),
        ("f", "d", 2, 2, 2, True, None),
    ]
    assert answer(filled, "loops", "rollout", groups=["h"]) == []


def test_contrasting_actions_are_those_of_one_state_that_end_differently(filled):
    columns = ("key", "action", "rollouts", "successes", "share", "contrast")
    # in y, `wait` and `take` ended well both; `fall` has no known end, nor has f's `go`
    assert answer(filled, "contrasting_actions", *columns) == [
        ("x", "go", 2, 2, 1.0, 1.0),
        ("x", "dig", 1, 0, 0.0, 1.0),
        ("x", "wait", 1, 0, 0.0, 1.0),
    ]


def test_dead_ends_are_visited_and_lead_to_no_success_of_their_group(filled):
    columns = ("group", "key", "visits", "rollouts")
    # d leads back to x by `back`: it has a way; in h nothing does
    assert answer(filled, "dead_ends", *columns) == [("h", "x", 1, 1)]
    straight = {"id": "k", "states": ["u", "v", "v", "v", "w"], "success": False}
    ingest(filled, [state_record(straight)])
    assert answer(filled, "dead_ends", *columns, groups=["g"]) == [
        ("g", "v", 3, 1),
        ("g", "u", 1, 1),
    ]


def test_where_all_succeed_there_are_neither_dead_ends_nor_partings_nor_contrasts(store):
    ingest(store, [state_record(rollout) for rollout in ROLLOUTS[:2]])
    for name in ("dead_ends", "first_divergence", "contrasting_actions"):
        assert ask(store, name).empty


def test_first_divergence_is_the_last_state_shared_with_the_closest_success(filled):
    columns = ("rollout", "sibling", "step", "key", "action", "sibling_action")
    assert answer(filled, "first_divergence", *columns) == [
        ("c", "a", 0, "x", "dig", "go"),
        ("e", "a", 0, "x", "wait", "go"),
    ]
    close = {"id": "k", "states": ["x", "y", "y", "d"], "actions": ["go", "wait", "fall"]}
    ingest(filled, [state_record(close | {"success": False}) | {"slot": 9}])
    assert answer(filled, "first_divergence", *columns)[2:] == [("k", "b", 2, "y", "fall", "take")]


def test_rollouts_that_start_elsewhere_have_no_divergence(store):
    far = {"id": "z", "states": ["q", "y", "d"], "success": False}
    ingest(store, [state_record(rollout) for rollout in (ROLLOUTS[0], far)])
    assert ask(store, "first_divergence").empty


def test_an_unknown_state_ends_what_two_rollouts_share(store):
    known = state_record({"id": "a", "states": ["x", "y", "z", "goal"], "success": True})
    failed = state_record({"id": "b", "states": ["x", "y", "z", "d"], "success": False})
    del failed["steps"][1]["state"]
    ingest(store, [known, failed])
    assert answer(store, "first_divergence", "rollout", "step", "key") == [("b", 0, "x")]


@pytest.mark.parametrize(
    "name", ["graph_size", "repetition", "loops", "contrasting_actions", "first_divergence"]
)
def test_a_group_that_is_not_there_has_no_rows(filled, name):
    assert ask(filled, name, groups=["nowhere"]).empty


def test_dead_ends_of_a_group_that_is_not_there_are_an_error(filled):
    with pytest.raises(CreditError, match="nowhere"):
        ask(filled, "dead_ends", groups=["nowhere"])


def test_dead_ends_of_an_empty_store_are_none(store):
    assert ask(store, "dead_ends").empty
