"""What a game offers to its players, and a task: a game that can be started again and again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


class Game(Protocol):
    """A game that is being played."""

    @property
    def observation(self) -> str:
        """What a player sees."""
        ...

    @property
    def is_won(self) -> bool:
        """Whether the task is done."""
        ...

    def actions(self) -> Sequence[str]:
        """Return what can be played, in one order."""
        ...

    def advice(self) -> str | None:
        """Return the first action of a shortest way to success; None: there is no way."""
        ...

    def play(self, action: str) -> bool:
        """Play an action; tell whether it changed anything."""
        ...


@dataclass(frozen=True)
class Task:
    """A task whose game can be started again and again."""

    id: str
    description: str
    benchmark: str
    start: Callable[[], Game]
