"""Who plays how, and that plays are the same wherever they are drawn."""

import json
import subprocess
import sys
from random import Random

import pytest

from rollgraph.graph.errors import GameError
from rollgraph.ingest.games import GAMES, SAMPLES, play
from rollgraph.ingest.games.players import PLAYERS, Player
from rollgraph.ingest.games.sokoban import Sokoban, draw_room


def lines(records):
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)


def test_the_sokoban_sample_is_what_the_same_seed_gives():
    assert lines(play("sokoban")) == SAMPLES["sokoban"].read_text()


def test_plays_do_not_depend_on_the_order_of_hashes(tmp_path):
    written = []
    for seed in ("1", "2"):
        out = tmp_path / f"{seed}.jsonl"
        code = (
            "import sys; from rollgraph.cli import main; "
            f"sys.argv = ['', 'play', 'sokoban', '--tasks', '1', '--out', {str(out)!r}]; main()"
        )
        subprocess.run([sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, check=True)
        written.append(out.read_text())
    assert written[0] == written[1] == lines(play("sokoban", tasks=1))


def test_another_seed_gives_other_tasks():
    ids = [{record["id"] for record in play("sokoban", 1, 1, seed)} for seed in (0, 1)]
    assert not ids[0] & ids[1]


def test_the_players_take_turns_and_rewards_say_who_won():
    task, *rollouts = play("sokoban", tasks=1, rollouts=5)
    assert [r["policy"]["name"] for r in rollouts] == ["good", "noisy", "noisier", "random", "good"]
    assert {player.name for player in PLAYERS} == {"good", "noisy", "noisier", "random"}
    assert rollouts[0]["success"]
    for rollout in rollouts:
        assert rollout["task"] == rollout["group"] == task["id"]
        assert rollout["reward"] == rollout["success"] == (not rollout["truncated"])
        assert len(rollout["steps"]) <= GAMES["sokoban"].horizon


def test_a_good_player_takes_all_advice_and_a_random_one_none():
    game, chance = Sokoban(draw_room(0, 0)), Random(0)
    assert {Player("good", 0).choose(game, chance) for _ in range(50)} == {game.advice()}
    assert {Player("random", 1).choose(game, chance) for _ in range(50)} == set(game.actions())


def test_a_game_that_is_not_known_is_named():
    with pytest.raises(GameError, match=r"play: expected one of sokoban.*, found chess"):
        list(play("chess"))
