"""A stored computation of credits: what the log keeps of it, and its rows in the graph.

The record has the CreditRun node's properties and, under `values`, one object a rollout: rollout,
advantage, fallback, and the lists `steps` (step, credit, factor, weight, advantage) and `commands`
(step, command, credit, direct, indirect, reaches); a group's first may have `pairs` (level, fold,
contrast, support, weight, and the decisions `preferred` and `other`: rollout, step).
"""

from typing import Any

from .rows import Rows

KIND = "credit_run"
"""The `kind` in the header of a log's batch that holds one."""


def credit_run_rows(record: dict[str, Any]) -> Rows:
    """Make the rows of a stored computation."""
    rows = Rows()
    run = record["id"]
    rows.add("CreditRun", **{name: value for name, value in record.items() if name != "values"})
    rollouts = rows.between("CREDITED", "CreditRun", "Rollout")
    steps = rows.between("CREDITED", "CreditRun", "Step")
    commands = rows.between("CREDITED", "CreditRun", "Command")
    for value in record["values"]:
        rollout = value["rollout"]
        nothing = (None, None, None)
        rollouts.append(run, rollout, *nothing, value["advantage"], value["fallback"], *nothing)
        for step in value["steps"]:
            given = (step["credit"], step["factor"], step["weight"], step["advantage"])
            steps.append(run, f"{rollout}/{step['step']}", *given, None, *nothing)
        for command in value["commands"]:
            key = f"{rollout}/{command['step']}/{command['command']}"
            given = (command["direct"], command["indirect"], command["reaches"])
            commands.append(run, key, command["credit"], *nothing, None, *given)
        for pair in value.get("pairs", ()):
            ends = (f"{pair[end]['rollout']}/{pair[end]['step']}" for end in ("preferred", "other"))
            names = ("level", "fold", "contrast", "support", "weight")
            preferred = rows.between("PREFERRED", "Step", "Step")
            preferred.append(*ends, run, *(pair[name] for name in names))
    return rows
