"""Answers as tables for a terminal or a notebook."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pandas as pd
from rich.markup import escape
from rich.table import Table

from ..graph.store import Store
from . import library
from .results import Credits, RolloutCredit

TEXT_WIDTH = 60


def frame_table(frame: pd.DataFrame, title: str | None = None) -> Table:
    """Show a table of rows."""
    table = Table(title=title, title_justify="left", header_style="bold")
    for name in frame.columns:
        is_number = pd.api.types.is_numeric_dtype(frame[name])
        table.add_column(
            escape(str(name)), justify="right" if is_number else "left", overflow="fold"
        )
    for row in frame.itertuples(index=False):
        table.add_row(*(escape(_cell(value)) for value in row))
    return table


def credit_tables(store: Store, credits: Credits) -> Iterator[Table]:  # noqa: A002 (what they are)
    """Show credits as one table a rollout: what each command did, and what its step is worth."""
    groups = sorted({rollout.group for rollout in credits})
    texts: defaultdict[str, dict[tuple[int, int], str]] = defaultdict(dict)
    for row in library.run(store, "commands", groups=groups).to_pylist():
        texts[row["rollout"]][row["step"], row["command"]] = row["text"]
    actions: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for row in library.run(store, "transitions", groups=groups).to_pylist():
        actions[row["rollout"]][row["step"]] = row["action"] or "-"
    rewards = {
        row["rollout"]: row["reward"]
        for row in library.run(store, "rollouts", groups=groups).to_pylist()
    }
    for rollout in credits:
        name = rollout.rollout
        yield _rollout_table(rollout, rewards[name], texts[name], actions[name])


def _rollout_table(
    rollout: RolloutCredit,
    reward: float | None,
    texts: dict[tuple[int, int], str],
    actions: dict[int, str],
) -> Table:
    title = f"[bold]{escape(rollout.rollout)}[/]  reward {_cell(reward)}"
    title += f"  advantage {_cell(rollout.advantage)}"
    if rollout.fallback:
        title += f"  [yellow]fallback: {escape(rollout.fallback)}[/]"
    table = Table(title=title, title_justify="left", title_style="none", header_style="bold")
    table.add_column("step", justify="right")
    what = "command" if texts else "action"
    table.add_column(what, overflow="ellipsis", max_width=TEXT_WIDTH, no_wrap=True)
    for name in ("kind", "credit", "weight", "advantage"):
        table.add_column(name, justify="left" if name == "kind" else "right")
    kinds = {(part.step, part.command): part for part in rollout.commands}
    of_step: dict[int, list[int]] = {}
    for step, command in texts:
        of_step.setdefault(step, []).append(command)
    for step in rollout.steps:
        worth = [_cell(step.weight), _cell(step.advantage)]
        for command in of_step.get(step.step, []):
            part = kinds.get((step.step, command))
            text = texts[step.step, command].replace("\n", "⏎")
            table.add_row(
                str(step.step),
                escape(text),
                part.kind if part else "",
                _credit(part.credit) if part else "",
                *worth,
            )
            worth = ["", ""]
        if not of_step.get(step.step):
            text = actions[step.step].replace("\n", "⏎")
            credit = "" if step.credit is None else _credit(step.credit)
            table.add_row(str(step.step), f"[dim]{escape(text)}[/]", "", credit, *worth)
    return table


def _credit(value: float) -> str:
    return f"[green]{_cell(value)}[/]" if value > 0 else f"[dim]{_cell(value)}[/]"


def plain(value: Any) -> Any:
    """Turn a table's cell into what JSON knows; None: missing."""
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    return None if value is pd.NA or value is pd.NaT or value != value else value  # NaN


def _cell(value: object) -> str:
    value = plain(value)
    if value is None:
        return "-"
    if isinstance(value, list):
        return "; ".join(_cell(item) for item in cast("list[object]", value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)
