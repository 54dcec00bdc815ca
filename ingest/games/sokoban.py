"""Sokoban: small rooms drawn from a seed, the rules, and the room as a text grid.

A room is seven cells wide and high, with a wall around it and two boxes. The cells are those of
RAGEN's text rooms: `#` wall, `_` floor, `O` target, `X` box, `√` box on a target, `P` player, `S`
player on a target. Boxes are pushed and never pulled, so a box in a corner is a dead end.

>>> print(draw_room(seed=0, number=0).text())
#######
#___###
#_X___#
#_X_O_#
#_##_P#
#O__#_#
#######
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random

from .game import Task

Cell = tuple[int, int]
"""Row and column."""

MOVES: dict[str, Cell] = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
SIZE, PILLARS, BOXES = 7, 5, 2
SHORTEST, LONGEST = 6, 14
"""Moves of a shortest solution of a room."""

DESCRIPTION = (
    "Push every box (X) onto a target (O). You are P; # is a wall, _ is floor, √ is a box on a "
    "target, S is you on a target. Actions: up, down, left, right."
)


@dataclass(frozen=True)
class Room:
    """A room as it stands: cells of walls, targets, boxes and the player."""

    walls: frozenset[Cell]
    targets: frozenset[Cell]
    boxes: frozenset[Cell]
    player: Cell

    @property
    def is_solved(self) -> bool:
        """Every box is on a target."""
        return self.boxes == self.targets

    def after(self, action: str) -> "Room":
        """Return the room after a move; the same room where a wall or a second box is in the way.

        Raises KeyError for an action that is none of MOVES.
        """
        step = MOVES[action]
        ahead = _beside(self.player, step)
        if ahead in self.walls:
            return self
        if ahead not in self.boxes:
            return replace(self, player=ahead)
        behind = _beside(ahead, step)
        if behind in self.walls or behind in self.boxes:
            return self
        return replace(self, player=ahead, boxes=self.boxes - {ahead} | {behind})

    def text(self) -> str:
        """Return the grid, a row a line."""
        rows, columns = (range(1 + max(cell[axis] for cell in self.walls)) for axis in (0, 1))
        return "\n".join("".join(self._symbol((row, column)) for column in columns) for row in rows)

    def _symbol(self, cell: Cell) -> str:
        if cell in self.walls:
            return "#"
        is_target = cell in self.targets
        if cell == self.player:
            return "S" if is_target else "P"
        if cell in self.boxes:
            return "√" if is_target else "X"
        return "O" if is_target else "_"


def shortest_solution(room: Room) -> list[str] | None:
    """Return the moves of a shortest solution, the first of them in the order of MOVES."""
    came: dict[Room, tuple[Room, str] | None] = {room: None}
    ahead = deque([room])
    while ahead:
        current = ahead.popleft()
        if current.is_solved:
            return _way(came, current)
        for action in MOVES:
            found = current.after(action)
            if found not in came:
                came[found] = (current, action)
                ahead.append(found)
    return None


def draw_room(seed: int, number: int) -> Room:
    """Draw rooms until one has a shortest solution of SHORTEST to LONGEST moves."""
    chance = Random(f"sokoban {seed} {number}")
    cells: list[Cell] = list(product(range(SIZE), range(SIZE)))
    inside = [cell for cell in cells if not {0, SIZE - 1} & set(cell)]
    while True:
        drawn = chance.sample(inside, PILLARS + 2 * BOXES + 1)
        pillars, rest = drawn[:PILLARS], drawn[PILLARS:]
        room = Room(
            walls=frozenset(cells) - frozenset(inside) | frozenset(pillars),
            targets=frozenset(rest[:BOXES]),
            boxes=frozenset(rest[BOXES : 2 * BOXES]),
            player=rest[-1],
        )
        solution = shortest_solution(room)
        if solution and SHORTEST <= len(solution) <= LONGEST:
            return room


class Sokoban:
    """A room that is being played."""

    def __init__(self, room: Room) -> None:
        self._room = room

    @property
    def observation(self) -> str:
        """The grid."""
        return self._room.text()

    @property
    def is_won(self) -> bool:
        """Every box is on a target."""
        return self._room.is_solved

    def actions(self) -> Sequence[str]:
        """Return the four moves, whether something is in their way or not."""
        return list(MOVES)

    def advice(self) -> str | None:
        """Return the first move of a shortest solution; None: the room is a dead end."""
        solution = shortest_solution(self._room)
        return solution[0] if solution else None

    def play(self, action: str) -> bool:
        """Move; tell whether nothing was in the way."""
        before, self._room = self._room, self._room.after(action)
        return before != self._room


def sokoban_tasks(tasks: int, seed: int) -> Iterator[Task]:
    """Draw rooms, one a task."""
    for number in range(tasks):
        room = draw_room(seed, number)
        yield Task(
            f"sokoban-{seed}-{number}", DESCRIPTION, "sokoban", lambda room=room: Sokoban(room)
        )


def _beside(cell: Cell, step: Cell) -> Cell:
    return cell[0] + step[0], cell[1] + step[1]


def _way(came: dict[Room, tuple[Room, str] | None], room: Room) -> list[str]:
    moves: list[str] = []
    while back := came[room]:
        room, action = back
        moves.append(action)
    return moves[::-1]
