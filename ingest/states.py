r"""State keys: which states of a rollout are the same, to each other and to its siblings'.

A rollout of T steps has T + 1 states: one before each step, and the last. A state's key is the
record's own (`state.key`, `final_state.key`) where it gives one, else what a reader makes of the
observations: normalized text, or an environment's own idea of a state. A reader may also tell that
a step was noise, such as looking around: the state after it is then the state before it, so that
the next action starts where the policy really was (RewardFlow, Table 11; decision F8).

>>> text("You are  in the Kitchen. Step 3/30")
'you are in the kitchen.'
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

from rapidfuzz import fuzz

from ..graph.errors import IngestError
from ..graph.records import Rollout
from .environments import alfworld, search, sokoban, webshop
from .observations import observations, text

StateReader: TypeAlias = Callable[[Rollout, bool], Sequence[str | None]]
"""From a rollout of T steps, and whether noise is pruned, to its T + 1 keys; None: not known."""


def raw(rollout: Rollout, prune: bool) -> Sequence[str | None]:  # noqa: ARG001
    """Take the observations as they are."""
    return observations(rollout)


def normalized(rollout: Rollout, prune: bool) -> Sequence[str | None]:  # noqa: ARG001
    """Take the observations without case, white space and counters of steps."""
    return [None if seen is None else text(seen) for seen in observations(rollout)]


STATE_READERS: dict[str, StateReader] = {
    "text": normalized,
    "raw": raw,
    "alfworld": alfworld,
    "webshop": webshop,
    "sokoban": sokoban,
    "search": search,
}


@dataclass(frozen=True)
class States:
    """How states are told apart."""

    reader: str | StateReader = "text"
    """A name of STATE_READERS, or a function that can be imported."""
    prune: bool = True
    """Noise, such as looking around, leaves the state as it is."""
    similarity: float | None = None
    """A state of a group whose key is at least as similar (0 to 1, rapidfuzz's ratio) to that of an
    earlier one is that state. Earlier: by slot, rollout and step, among the rollouts of the group
    that come in together. None: keys are equal or not."""

    def __post_init__(self) -> None:
        if self.similarity is not None and not 0 < self.similarity <= 1:
            raise IngestError(f"similarity: expected a number in (0, 1], found {self.similarity}")
        if self.name not in STATE_READERS and _imported(self.name) is not self.reader:
            known = ", ".join(STATE_READERS)
            raise IngestError(
                f"states: expected one of {known}, or a function that can be imported by its name "
                f"(module.function), found {self.name}"
            )

    @property
    def name(self) -> str:
        """The reader's name, or its import path."""
        if isinstance(self.reader, str):
            return self.reader
        return f"{self.reader.__module__}.{self.reader.__qualname__}"

    def header(self) -> dict[str, Any]:
        """As the log keeps it."""
        return {"reader": self.name, "prune": self.prune, "similarity": self.similarity}

    @classmethod
    def of(cls, header: dict[str, Any]) -> "States":
        """From a header that was read back."""
        return cls.named(header["reader"], header["prune"], header["similarity"])

    @classmethod
    def named(cls, name: str, prune: bool = True, similarity: float | None = None) -> "States":
        """With a reader by its name, or by its import path. Raises IngestError."""
        reader = name if name in STATE_READERS else _imported(name)
        return cls(reader or name, prune, similarity)

    def keys(self, rollout: Rollout) -> tuple[str | None, ...]:
        """Return the T + 1 state keys of a rollout. Raises IngestError for a faulty reader."""
        reader = STATE_READERS[self.reader] if isinstance(self.reader, str) else self.reader
        steps = rollout.steps or []
        found = reader(rollout, self.prune)
        if len(found) != len(steps) + 1:
            raise IngestError(
                f"rollout {rollout.id}: the state reader {self.name} gave {len(found)} keys, "
                f"expected one for each of {len(steps)} steps and one for the end"
            )
        given = [*(step.state for step in steps), rollout.final_state]
        return tuple(
            state.key if state and state.key is not None else key
            for state, key in zip(given, found, strict=True)
        )

    def merged(
        self, keys: Iterable[tuple[tuple[Any, ...], tuple[str | None, ...]]]
    ) -> list[tuple[str | None, ...]]:
        """Replace keys of one group by those of earlier states that are similar.

        `keys` are (what a rollout is ordered by, its keys); the answer is in the order given.
        """
        rollouts = list(keys)
        if self.similarity is None:
            return [of_rollout for _, of_rollout in rollouts]
        first: list[str] = []
        same: dict[str | None, str | None] = {None: None}
        for _, of_rollout in sorted(rollouts, key=lambda pair: pair[0]):
            for key in of_rollout:
                if key is not None and key not in same:
                    same[key] = self._first(key, first)
        return [tuple(same[key] for key in of_rollout) for _, of_rollout in rollouts]

    def _first(self, key: str, first: list[str]) -> str:
        limit = 100 * (self.similarity or 1)
        for candidate in first:
            if fuzz.ratio(key, candidate, score_cutoff=limit):
                return candidate
        first.append(key)
        return key


def _imported(name: str) -> Any:
    module, _, function = name.rpartition(".")
    try:
        return getattr(import_module(module), function, None)
    except (ImportError, ValueError):
        return None
