"""What a credit method answers: the credits and advantages of a batch, as tables or objects."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import pandas as pd


@dataclass
class CommandCredit:
    """The credit of one traced command."""

    step: int
    command: int
    position: int
    kind: str
    credit: float
    records: int
    direct: int
    """Line records that reach E directly: |D_c|."""
    indirect: int
    """Line records that reach E through a consumer: |I_c|; some may be direct as well."""
    reaches: bool
    """Of a write: it is in S_E; of a read: it supports a write that is."""


@dataclass
class StepCredit:
    """What a method says of one step; credit is None where it has none."""

    step: int
    credit: float | None
    factor: float
    weight: float
    advantage: float | None


@dataclass
class Decision:
    """A step of a rollout."""

    rollout: str
    step: int


@dataclass
class Pair:
    """A preference between the actions of two decisions in one context (MCGPO)."""

    group: str
    level: str
    """Of the state summary that they share: exact or coarse."""
    preferred: Decision
    other: Decision
    contrast: float
    """By how much the evidence's rate of success is higher for the preferred action."""
    support: int
    """Rollouts of evidence for the action that has fewer."""
    weight: float
    fold: int
    """Of the two rollouts: 0: even slots, 1: odd ones."""


@dataclass
class RolloutCredit:
    """What a method says of one rollout."""

    rollout: str
    group: str
    method: str
    advantage: float | None
    """Group-relative; None: the rollout is unscored, which is not zero."""
    fallback: str | None
    """Why factors or weights are not the method's own; None: they are."""
    commands: list[CommandCredit]
    steps: list[StepCredit]
    pairs: list[Pair] | None = None
    """Of a group's first rollout: the group's pairs; None: the method makes none."""

    def to_object(self) -> dict[str, Any]:
        """Return the object that `rollgraph credit --json` prints a line for each rollout."""
        columns = ("step", "command", "kind", "credit", "records", "direct", "indirect")
        pairs = [] if self.pairs is None else [asdict(pair) for pair in self.pairs]
        return {
            "rollout": self.rollout,
            "group": self.group,
            "method": self.method,
            "advantage": self.advantage,
            "fallback": self.fallback,
            "commands": [
                {name: getattr(command, name) for name in columns} for command in self.commands
            ],
            "steps": [asdict(step) for step in self.steps],
            **({} if self.pairs is None else {"pairs": pairs}),
        }


@dataclass
class Credits:
    """The answer of `credit`: three tables, or one object a rollout."""

    method: str
    parameters: dict[str, Any]
    groups: list[str]
    """The groups asked for; empty: every group."""
    rollouts_credited: list[RolloutCredit] = field(default_factory=list[RolloutCredit])

    def __iter__(self) -> Iterator[RolloutCredit]:
        return iter(self.rollouts_credited)

    def __len__(self) -> int:
        return len(self.rollouts_credited)

    @property
    def rollouts(self) -> pd.DataFrame:
        """One row a rollout: rollout, group, method, advantage, fallback."""
        columns = ["rollout", "group", "method", "advantage", "fallback"]
        rows = [[getattr(rollout, name) for name in columns] for rollout in self]
        return pd.DataFrame(rows, columns=columns)

    @property
    def steps(self) -> pd.DataFrame:
        """One row a step: rollout, step, credit, factor, weight, advantage."""
        rows = [{"rollout": r.rollout, **asdict(step)} for r in self for step in r.steps]
        columns = ["rollout", *(item.name for item in fields(StepCredit))]
        return pd.DataFrame(rows, columns=columns)

    @property
    def commands(self) -> pd.DataFrame:
        """One row a traced command: rollout, and the fields of CommandCredit."""
        rows = [{"rollout": r.rollout, **asdict(command)} for r in self for command in r.commands]
        columns = ["rollout", *(item.name for item in fields(CommandCredit))]
        return pd.DataFrame(rows, columns=columns)

    @property
    def pairs(self) -> pd.DataFrame:
        """One row a pair: group, level, fold, the two decisions, contrast, support, weight."""
        rows = [
            {"group": pair.group, "level": pair.level, "fold": pair.fold}
            | {f"preferred_{name}": value for name, value in asdict(pair.preferred).items()}
            | {f"other_{name}": value for name, value in asdict(pair.other).items()}
            | {"contrast": pair.contrast, "support": pair.support, "weight": pair.weight}
            for rollout in self
            for pair in rollout.pairs or ()
        ]
        columns = ["group", "level", "fold", "preferred_rollout", "preferred_step"]
        columns += ["other_rollout", "other_step", "contrast", "support", "weight"]
        return pd.DataFrame(rows, columns=columns)

    def to_json_lines(self) -> Iterator[str]:
        """One JSON object a rollout."""
        for rollout in self:
            yield json.dumps(rollout.to_object(), ensure_ascii=False)
