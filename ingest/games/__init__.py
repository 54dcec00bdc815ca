"""Games whose states recur, scripted players, and their plays as rollout records."""

from .rollouts import GAMES, SAMPLES, play

__all__ = ["GAMES", "SAMPLES", "play"]
