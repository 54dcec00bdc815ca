"""The command that plays games."""

import json
from pathlib import Path
from typing import Annotated

import typer

from ..ingest.games import GAMES, play
from ..ingest.games.rollouts import ROLLOUTS, SEED, TASKS
from .printing import err, write


def play_games(
    game: Annotated[str, typer.Argument(help=f"One of {', '.join(GAMES)}.")],
    to: Annotated[Path, typer.Option("--out", help="Rollout file to write.")],
    tasks: Annotated[int, typer.Option(min=1, help="How many games are drawn.")] = TASKS,
    rollouts: Annotated[int, typer.Option(min=1, help="How often each is played.")] = ROLLOUTS,
    seed: Annotated[int, typer.Option(help="What games and plays are drawn from.")] = SEED,
) -> None:
    """Play games with good, noisy and random players, and write the rollouts to a file."""
    records = list(play(game, tasks, rollouts, seed))
    write("".join(f"{json.dumps(r, ensure_ascii=False)}\n" for r in records).encode(), to)
    played = [record for record in records if record["type"] == "rollout"]
    err.print(
        f"{to}: {len(played)} rollouts of {len(records) - len(played)} tasks, "
        f"{sum(len(rollout['steps']) for rollout in played)} steps, "
        f"{sum(rollout['success'] for rollout in played)} with success",
        markup=False, highlight=False, soft_wrap=True,
    )  # fmt: skip
