"""Sokoban's rules, its rooms, and what the graph says of rooms whose truth is known."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from rollgraph.graph.records import RECORD
from rollgraph.ingest import States, ingest
from rollgraph.ingest.games import SAMPLES, play
from rollgraph.ingest.games.sokoban import Room, Sokoban, draw_room, shortest_solution
from rollgraph.queries import ask, credit
from rollgraph.queries.show import frame_table


def room(text):
    """Read a grid."""
    cells = {
        (row, column): symbol
        for row, line in enumerate(text.splitlines())
        for column, symbol in enumerate(line)
    }

    def where(symbols):
        return frozenset(cell for cell, symbol in cells.items() if symbol in symbols)

    (player,) = where("PS")
    return Room(where("#"), where("O√S"), where("X√"), player)


@pytest.mark.parametrize(
    ("before", "action", "after"),
    [
        ("#P_XO#", "right", "#_PXO#"),
        ("#PXO_#", "right", "#_P√_#"),
        ("#_P√_#", "right", "#__SX#"),
        ("#_P√_#", "left", "#P_√_#"),
        ("#PO_X#", "right", "#_S_X#"),
        ("#PX#O#", "right", "#PX#O#"),
        ("#PXXO#", "right", "#PXXO#"),
        ("#P_XO#", "up", "#P_XO#"),
    ],
)
def test_a_move_walks_or_pushes_one_box_or_does_nothing(before, action, after):
    walls = "######"
    assert room(f"{walls}\n{before}\n{walls}").after(action).text() == f"{walls}\n{after}\n{walls}"


def test_a_shortest_solution_is_found_and_a_corner_is_a_dead_end():
    assert shortest_solution(room("######\n#PX_O#\n######")) == ["right", "right"]
    assert shortest_solution(room("#####\n#P__#\n#_OX#\n#####")) is None
    assert shortest_solution(room("####\n#P√#\n####")) == []


def test_rooms_are_drawn_from_their_seed_alone_and_can_be_solved():
    drawn = [draw_room(seed=7, number=number) for number in range(3)]
    assert drawn == [draw_room(seed=7, number=number) for number in range(3)]
    assert len(set(drawn)) == 3
    for start in drawn:
        game = Sokoban(start)
        for action in shortest_solution(start):
            assert not game.is_won
            assert game.advice() == action
            assert game.play(action)
        assert game.is_won


def test_what_the_graph_knows_of_success_is_never_better_than_the_truth(store):
    ingest(store, SAMPLES["sokoban"], states="sokoban")
    states = store.query("MATCH (s:State) RETURN s.id AS id, s.key AS key").to_pylist()
    truth = {state["id"]: shortest_solution(room(state["key"])) for state in states}
    flow = ask(store, "reward_flow", groups=[f"sokoban-0-{number}" for number in range(4)])
    assert len(flow) > 50
    for state, distance in zip(flow["state"], flow["distance"], strict=True):
        assert distance >= len(truth[state])
    dead = set(ask(store, "dead_ends")["state"])
    left = set(ask(store, "visited_states")["state"])
    lost = {state for state in left if truth[state] is None}
    assert lost
    assert lost < dead, "the graph knows only the ways that were gone"


@pytest.mark.parametrize(("rollouts", "blamed"), [(6, 13), (12, 15)])
def test_blame_goes_to_the_move_that_cannot_be_undone_once_rollouts_show_it(
    store, rollouts, blamed
):
    ingest(store, play("sokoban", 1, rollouts), states="sokoban")
    found = {one.rollout: one for one in credit(store, method="rewardflow")}
    worth = [step.credit for step in found["sokoban-0-0/5-noisy"].steps]
    assert worth.index(min(worth)) == blamed
    (lost,) = (
        record for record in play("sokoban", 1, rollouts) if record["id"] == "sokoban-0-0/5-noisy"
    )
    is_lost = [shortest_solution(room(step["observation"])) is None for step in lost["steps"]]
    assert is_lost.index(True) == 16, "step 15 is what cannot be undone"


def test_the_page_has_the_samples_graph_sizes(store):
    ingest(store, SAMPLES["sokoban"], states="sokoban")
    shown = Console(width=200, file=StringIO())
    shown.print(frame_table(ask(store, "graph_size")))
    page = (Path(__file__).parents[3] / "docs/games.md").read_text()
    assert shown.file.getvalue().strip() in page


def test_sokobans_reader_tells_states_apart_as_the_grid_does():
    records = [RECORD.validate_json(line) for line in SAMPLES["sokoban"].read_text().splitlines()]
    for rollout in (record for record in records if record.type == "rollout"):
        seen = [*(step.observation for step in rollout.steps), rollout.final_state.observation]
        assert list(States("sokoban").keys(rollout)) == seen
