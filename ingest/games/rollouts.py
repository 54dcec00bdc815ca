"""Plays become rollout records: tasks drawn from a seed, and a mixture of players for each.

>>> [record["id"] for record in play("sokoban", tasks=1, rollouts=2)]
['sokoban-0-0', 'sokoban-0-0/0-good', 'sokoban-0-0/1-noisy']
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from ...graph.errors import GameError
from .game import Task
from .players import PLAYERS, Player
from .sokoban import sokoban_tasks


@dataclass(frozen=True)
class Kind:
    """A kind of game."""

    tasks: Callable[[int, int], Iterator[Task]]
    """From how many, and a seed, to tasks."""
    horizon: int
    """Steps after which a rollout is cut off."""


GAMES = {"sokoban": Kind(sokoban_tasks, horizon=25)}
"""By its name."""

TASKS, ROLLOUTS, SEED = 4, 6, 0
"""What is played where nothing else is asked for."""

SAMPLES = {name: Path(__file__).with_name(f"{name}_rollouts.jsonl") for name in GAMES}
"""Rollout files that are bundled: what `play` gives for the game's name alone."""


def play(
    game: str, tasks: int = TASKS, rollouts: int = ROLLOUTS, seed: int = SEED
) -> Iterator[dict[str, Any]]:
    """Yield the records of tasks and of their rollouts, each `rollouts` times played.

    The rollouts of a task take turns with PLAYERS; the reward is 1 for success and else 0. Equal
    arguments give equal records. Raises GameError for a game that is not known.
    """
    if game not in GAMES:
        raise GameError(f"play: expected one of {', '.join(GAMES)}, found {game}")
    kind = GAMES[game]
    for task in kind.tasks(tasks, seed):
        yield {
            "type": "task",
            "id": task.id,
            "description": task.description,
            "benchmark": task.benchmark,
        }
        for slot in range(rollouts):
            player = PLAYERS[slot % len(PLAYERS)]
            yield _rollout(task, slot, player, Random(f"{seed} {task.id} {slot}"), kind.horizon)


def _rollout(task: Task, slot: int, player: Player, chance: Random, horizon: int) -> dict[str, Any]:
    game = task.start()
    steps: list[dict[str, Any]] = []
    while not game.is_won and len(steps) < horizon:
        seen, action = game.observation, player.choose(game, chance)
        steps.append({"observation": seen, "action": action, "valid": game.play(action)})
    return {
        "type": "rollout",
        "id": f"{task.id}/{slot}-{player.name}",
        "task": task.id,
        "group": task.id,
        "slot": slot,
        "policy": {"name": player.name},
        "reward": int(game.is_won),
        "success": game.is_won,
        "truncated": not game.is_won,
        "steps": steps,
        "final_state": {"observation": game.observation},
    }
