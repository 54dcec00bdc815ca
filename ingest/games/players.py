"""Who plays games: a good player, two noisy ones, and one that plays at random.

A player takes the advice of the game, which knows a way to success, but for a share of mistakes:
actions drawn at random. Where there is no way to success it plays at random.
"""

from dataclasses import dataclass
from random import Random

from .game import Game


@dataclass(frozen=True)
class Player:
    """A player by its share of mistakes."""

    name: str
    mistakes: float
    """Probability of an action at random, 0 to 1."""

    def choose(self, game: Game, chance: Random) -> str:
        """Return the next action."""
        advice = None if chance.random() < self.mistakes else game.advice()
        return advice or chance.choice(game.actions())


PLAYERS = (Player("good", 0), Player("noisy", 0.3), Player("noisier", 0.5), Player("random", 1))
"""The mixture that plays a task: its rollouts take turns."""
