"""Credit by a method's name: the credits, weights and advantages of every step of a batch.

`CREDIT_METHODS` is the whole choice. A method's parameters are the fields of its options; the names
are those of the papers' worked examples, and an unknown one is an error that lists the known.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from math import fsum, inf
from typing import Any, Literal, get_args, get_type_hints

import pandas as pd

from ..graph.errors import CreditError
from ..graph.store import Store
from . import depgpo, library
from .advantages import Mode, group_advantages, leave_one_out_advantages
from .depgpo import CommandCredit, Variant, WholeFile
from .step_weights import DELTA_MIN, step_weights

NO_VERIFIER = "no verifier record"


@dataclass(frozen=True)
class GrpoOptions:
    """Parameters of `grpo`."""

    mode: Mode = "mean_std"
    """`mean_std`, or `mean`: only centred (Dr. GRPO)."""
    ddof: Literal[0, 1] = 0
    """0: population deviation; 1: sample deviation."""
    eps: float = 1e-6
    """Added to the deviation."""


@dataclass(frozen=True)
class DepgpoOptions(GrpoOptions):
    """Parameters of `depgpo`: those of the advantage that it redistributes, and its own."""

    beta: float = 0.5
    """Decay of read credit for each edge of distance, in (0, 1]."""
    whole_file: WholeFile = "removal"
    """Reading of WHOLE_FILE (D1): `removal`, `literal` or `supersede`."""
    variant: Variant = "full"
    """`full`, or an ablation of Table 2: `binary`, `no_filter`, `no_read`, `direct_only`."""
    delta_min: float = DELTA_MIN
    """Step credits that differ by no more in total fall back to unit factors."""


@dataclass(frozen=True)
class RlooOptions:
    """`rloo` takes no parameters."""


@dataclass
class StepCredit:
    """What a method says of one step; credit is None where it has none."""

    step: int
    credit: float | None
    factor: float
    weight: float
    advantage: float | None


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

    def to_object(self) -> dict[str, Any]:
        """Return the object that `rollgraph credit --json` prints a line for each rollout."""
        columns = ("step", "command", "kind", "credit", "records", "direct", "indirect")
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

    def to_json_lines(self) -> Iterator[str]:
        """One JSON object a rollout."""
        for rollout in self:
            yield json.dumps(rollout.to_object(), ensure_ascii=False)


def credit(
    store: Store, method: str = "depgpo", groups: Sequence[str] | None = None, **parameters: Any
) -> Credits:
    """Compute the credit of every step of some groups, or of all of them.

    `parameters` are the method's options by name. Raises CreditError for an unknown method, group
    or parameter, or a value that it cannot take.
    """
    if method not in CREDIT_METHODS:
        raise CreditError(f"no method is called {method}; there are: {', '.join(CREDIT_METHODS)}")
    chosen = CREDIT_METHODS[method]
    options = bind_options(method, parameters)
    if isinstance(groups, str):
        raise CreditError(f'groups: expected a list of groups, such as ["{groups}"], found a text')
    wanted = list(groups or ())
    batch = _Batch(store, wanted)
    credited = chosen.run(batch, options)
    return Credits(method, asdict(options), wanted, credited)


def bind_options(method: str, given: dict[str, Any]) -> Any:
    """Make a method's options from parameters by name. Raises CreditError."""
    options = CREDIT_METHODS[method].options
    hints = get_type_hints(options)
    if unknown := sorted(set(given) - set(hints)):
        known = ", ".join(hints) or "none"
        raise CreditError(f"{method}: unknown parameter {unknown[0]}; it takes: {known}")
    return options(
        **{name: _checked(method, name, hints[name], value) for name, value in given.items()}
    )


_RANGES: dict[str, tuple[Callable[[float], bool], str]] = {
    "beta": (lambda value: 0 < value <= 1, "a number in (0, 1]"),
    "eps": (lambda value: 0 < value < inf, "a finite number above 0"),
    "delta_min": (lambda value: 0 <= value < inf, "a finite number of at least 0"),
}


def _checked(method: str, name: str, hint: Any, value: Any) -> Any:
    if choices := get_args(hint):
        if value not in choices or isinstance(value, bool):
            expected = ", ".join(map(str, choices))
            raise CreditError(f"{method}: {name}: expected one of {expected}, found {value}")
        return value
    holds, expected = _RANGES[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not holds(value):
        raise CreditError(f"{method}: {name}: expected {expected}, found {value}")
    return float(value)


class _Batch:
    """The rollouts of some groups with their steps, as every method needs them."""

    def __init__(self, store: Store, groups: list[str]) -> None:
        self.store = store
        self.groups = groups
        self.rollouts = library.run(store, "rollouts", groups=groups).to_pylist()
        if missing := sorted(set(groups) - {row["group"] for row in self.rollouts}):
            raise CreditError(
                f"no rollout is in group {missing[0]}; `rollgraph query rollouts` lists the groups"
            )
        self.loss_tokens: defaultdict[str, list[int | None]] = defaultdict(list)
        """Rollout to the loss tokens of its steps, in order."""
        for row in library.run(store, "steps", groups=groups).to_pylist():
            self.loss_tokens[row["rollout"]].append(row["loss_tokens"])

    def advantages(self, estimate: Callable[[list[float]], list[float]]) -> dict[str, float | None]:
        """Estimate each rollout's advantage among the scored members of its task and group."""
        members: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        for row in self.rollouts:
            if row["reward"] is not None:
                members[row["task"], row["group"]].append(row)
        found: dict[str, float | None] = {row["rollout"]: None for row in self.rollouts}
        for (_, group), rows in members.items():
            try:
                values = estimate([row["reward"] for row in rows])
            except CreditError as error:
                raise CreditError(f"group {group}: {error}") from error
            found.update(zip((row["rollout"] for row in rows), values, strict=True))
        return found


def _grpo_estimate(options: GrpoOptions) -> Callable[[list[float]], list[float]]:
    return partial(group_advantages, mode=options.mode, ddof=options.ddof, eps=options.eps)


def _grpo(batch: _Batch, options: GrpoOptions) -> list[RolloutCredit]:
    return _uniform(batch, "grpo", batch.advantages(_grpo_estimate(options)))


def _rloo(batch: _Batch, _: RlooOptions) -> list[RolloutCredit]:
    return _uniform(batch, "rloo", batch.advantages(leave_one_out_advantages))


def _uniform(
    batch: _Batch, method: str, advantages: dict[str, float | None]
) -> list[RolloutCredit]:
    """Give every step the rollout's advantage: the trajectory-level baselines."""
    credited: list[RolloutCredit] = []
    for row in batch.rollouts:
        rollout, advantage = row["rollout"], advantages[row["rollout"]]
        steps = [
            StepCredit(step, None, 1.0, 1.0, advantage)
            for step in range(len(batch.loss_tokens[rollout]))
        ]
        credited.append(RolloutCredit(rollout, row["group"], method, advantage, None, [], steps))
    return credited


def _depgpo(batch: _Batch, options: DepgpoOptions) -> list[RolloutCredit]:
    advantages = batch.advantages(_grpo_estimate(options))
    facts = depgpo.command_facts(batch.store, batch.groups, options.whole_file)
    credited: list[RolloutCredit] = []
    for row in batch.rollouts:
        rollout, tokens = row["rollout"], batch.loss_tokens[row["rollout"]]
        commands: list[CommandCredit] = []
        if row["verified"]:
            commands = depgpo.command_credits(
                facts.get(rollout, {}), beta=options.beta, variant=options.variant
            )
        of_step: defaultdict[int, list[float]] = defaultdict(list)
        for command in commands:
            of_step[command.step].append(command.credit)
        of_steps = [fsum(of_step[step]) if step in of_step else None for step in range(len(tokens))]
        weights = step_weights(of_steps, tokens, delta_min=options.delta_min)
        fallback = weights.fallback if row["verified"] or not tokens else NO_VERIFIER
        advantage = advantages[rollout]
        steps = [
            StepCredit(step, credit, factor, weight, _product(weight, advantage))
            for step, (credit, factor, weight) in enumerate(
                zip(of_steps, weights.factors, weights.weights, strict=True)
            )
        ]
        credited.append(
            RolloutCredit(rollout, row["group"], "depgpo", advantage, fallback, commands, steps)
        )
    return credited


def _product(weight: float, advantage: float | None) -> float | None:
    return None if advantage is None else weight * advantage + 0.0  # no negative zero


@dataclass(frozen=True)
class Method:
    """A credit method: its options, what it runs, and the queries that it asks."""

    about: str
    options: Callable[..., Any]
    run: Callable[[_Batch, Any], list[RolloutCredit]]
    queries: tuple[str, ...] = ("rollouts", "steps")


CREDIT_METHODS: dict[str, Method] = {
    "depgpo": Method(
        "dependency credit redistributes the group-relative advantage (DepGPO)",
        DepgpoOptions,
        _depgpo,
        ("rollouts", "steps", *depgpo.QUERIES),
    ),
    "grpo": Method(
        "the group-relative advantage on every step (GRPO, Dr. GRPO)", GrpoOptions, _grpo
    ),
    "rloo": Method(
        "reward against the mean of the others on every step (RLOO)", RlooOptions, _rloo
    ),
}
