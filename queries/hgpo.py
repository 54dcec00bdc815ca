"""HGPO: each step against those with the same recent history, at several depths.

Hierarchy-of-Groups Policy Optimization (2602.22817). At depth k, steps are compared that start from
the same state and came there through the same k states before it; the advantage is the mean over
the depths at which there is anybody to compare with, weighted by (k + 1)^alpha. There is no part of
the rollout.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import Literal

from .advantages import Mode
from .batch import Batch, Compat, Normalization, discounted
from .results import RolloutCredit
from .state_graph import Node, StateGraphs


@dataclass(frozen=True)
class HgpoOptions:
    """Parameters of `hgpo`."""

    gamma: float = 0.95
    """Discount of later rewards, in (0, 1]."""
    history: int = 2
    """K: how many states before the step's own are looked at, at most."""
    alpha: float = 1.0
    """Exponent of the depths' weights."""
    mode: Mode = "mean_std"
    """`mean_std`, or `mean`: only centred."""
    ddof: Literal[0, 1] = 0
    """0: population deviation, as in the released code; 1: sample deviation."""
    eps: float = 1e-6
    """Added to the deviation."""
    compat: Compat = "none"
    """`verl-agent`: a depth at which the advantage is exactly 0 counts as one without anybody to
    compare with, and eps is added to the sum of the weights."""


def hgpo(batch: Batch, options: HgpoOptions) -> list[RolloutCredit]:
    """Compare each step's return within groups of steps with the same history."""
    graphs = StateGraphs(batch, "group")
    normalize = Normalization(options.mode, options.ddof, options.eps)
    rewards, notes = batch.rewards()
    returns = {rollout: discounted(given, options.gamma) for rollout, given in rewards.items()}
    sources = graphs.sources()
    at_depth: list[tuple[float, dict[str, list[float | None]]]] = []
    for depth in range(options.history + 1):
        histories = {rollout: _histories(nodes, depth) for rollout, nodes in sources.items()}
        advantages = normalize.by_group(histories, returns)
        shared = _shared(histories, returns)
        at_depth.append(
            (
                float((depth + 1) ** options.alpha),
                {
                    rollout: [
                        value if history in shared else None
                        for value, history in zip(of_steps, histories[rollout], strict=True)
                    ]
                    for rollout, of_steps in advantages.items()
                },
            )
        )
    parts = {
        rollout: [
            _combined([(weight, found[rollout][step]) for weight, found in at_depth], options)
            for step in range(len(of_steps))
        ]
        for rollout, of_steps in returns.items()
    }
    base = {rollout: None if None in of_steps else 0.0 for rollout, of_steps in returns.items()}
    return graphs.credited("hgpo", base, returns, parts, notes=notes)


def _histories(nodes: Sequence[Node | None], depth: int) -> list[tuple[Node | None, ...] | None]:
    """Return each step's last depth + 1 states; None: it has not as many, or they are not known."""
    found: list[tuple[Node | None, ...] | None] = []
    for step in range(len(nodes)):
        history = tuple(nodes[max(0, step - depth) : step + 1])
        found.append(history if len(history) > depth and None not in history else None)
    return found


def _shared(
    histories: dict[str, list[tuple[Node | None, ...] | None]],
    returns: dict[str, list[float | None]],
) -> set[tuple[Node | None, ...]]:
    """Return the histories that more than one step has."""
    seen: set[tuple[Node | None, ...]] = set()
    shared: set[tuple[Node | None, ...]] = set()
    for rollout, of_steps in histories.items():
        for history, value in zip(of_steps, returns[rollout], strict=True):
            if history is not None and value is not None:
                (shared if history in seen else seen).add(history)
    return shared


def _combined(items: list[tuple[float, float | None]], options: HgpoOptions) -> float:
    is_compat = options.compat == "verl-agent"
    known = [
        (weight, value)
        for weight, value in items
        if value is not None and not (is_compat and value == 0)
    ]
    if not known:
        return 0.0
    total = fsum(weight for weight, _ in known) + (options.eps if is_compat else 0.0)
    return fsum(weight * value for weight, value in known) / total
