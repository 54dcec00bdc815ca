"""Credit runs: computed credits that are kept in the store with their provenance."""

import json
import uuid
from dataclasses import asdict
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from typing import Any

from ..graph.credit_run import KIND, credit_run_rows
from ..graph.errors import CreditError
from ..graph.store import Store, logged
from . import library
from .credit import CREDIT_METHODS
from .results import CommandCredit, Credits, Decision, Pair, RolloutCredit, StepCredit


def save_credits(store: Store, credits: Credits) -> str:  # noqa: A002 (what they are)
    """Keep credits in the store and return the new run's id.

    Their values hang on CREDITED edges to the rollouts, steps and commands. Raises CreditError
    where the rollouts are no longer those that were credited, StoreError where the store fails.
    """
    created = datetime.now(UTC)
    record: dict[str, Any] = {
        "id": f"{created:%Y%m%dT%H%M%SZ}-{credits.method}-{uuid.uuid4().hex[:8]}",
        "method": credits.method,
        "parameters": json.dumps(credits.parameters),
        "groups": credits.groups,
        "code_version": version("rollgraph"),
        "query_sha256": query_hash(credits.method, store.engine),
        "created_at": created.isoformat(timespec="seconds"),
        "rollouts": len(credits),
        "values": [
            {
                "rollout": rollout.rollout,
                "advantage": rollout.advantage,
                "fallback": rollout.fallback,
                "steps": [asdict(step) for step in rollout.steps],
                "commands": [asdict(command) for command in rollout.commands],
                **({} if rollout.pairs is None else {"pairs": list(map(asdict, rollout.pairs))}),
            }
            for rollout in credits
        ],
    }
    with store.writing():
        _check_present(store, credits)
        rows = credit_run_rows(record)
        with logged(store, {"kind": KIND}, [json.dumps(record).encode()]) as batch:
            if batch:
                rows.add("Batch", id=batch, records=1)
            store.write(rows)
    store.publish()
    return record["id"]


def load_credits(store: Store, run: str) -> Credits:
    """Read the credits of a run back. Raises CreditError for an unknown run."""
    runs = {row["run"]: row for row in library.run(store, "credit_runs").to_pylist()}
    if run not in runs:
        known = ", ".join(runs) or "none"
        raise CreditError(f"no credit run is called {run}; there are: {known}")
    method = runs[run]["method"]
    rollouts = {
        row["rollout"]: RolloutCredit(
            row["rollout"], row["group"], method, row["advantage"], row["fallback"], [], []
        )
        for row in library.run(store, "credited_rollouts", run=run).to_pylist()
    }
    for row in library.run(store, "credited_steps", run=run).to_pylist():
        rollouts[row.pop("rollout")].steps.append(StepCredit(**row))
    for row in library.run(store, "credited_commands", run=run).to_pylist():
        rollouts[row.pop("rollout")].commands.append(CommandCredit(**row))
    if method == "mcgpo":
        _add_pairs(store, run, rollouts)
    return Credits(
        method, json.loads(runs[run]["parameters"]), runs[run]["groups"], list(rollouts.values())
    )


def _add_pairs(store: Store, run: str, rollouts: dict[str, RolloutCredit]) -> None:
    """Give the first rollout of each group the group's pairs."""
    task_of = {row["rollout"]: row["task"] for row in library.run(store, "rollouts").to_pylist()}
    first: dict[tuple[str, str], RolloutCredit] = {}
    for rollout in rollouts.values():
        first.setdefault((task_of[rollout.rollout], rollout.group), rollout)
    for rollout in first.values():
        rollout.pairs = []
    for row in library.run(store, "preferred_steps", run=run).to_pylist():
        pairs = first[task_of[row["rollout"]], row["group"]].pairs
        preferred = Decision(row["rollout"], row["step"])
        other = Decision(row["other_rollout"], row["other_step"])
        numbers = (row["contrast"], row["support"], row["weight"], row["fold"])
        if pairs is not None:
            pairs.append(Pair(row["group"], row["level"], preferred, other, *numbers))


def query_hash(method: str, engine: str) -> str:
    """Hash the texts of the queries that a method asks of an engine."""
    texts = (library.load(name).text(engine) for name in CREDIT_METHODS[method].queries)
    return sha256("\0".join(texts).encode()).hexdigest()


def _check_present(store: Store, credits: Credits) -> None:  # noqa: A002
    given = {"groups": credits.groups}
    steps = library.run(store, "steps", **given).to_pylist()
    commands = library.run(store, "command_kinds", **given).to_pylist()
    rollouts = library.run(store, "rollouts", **given).to_pylist()
    present = {(row["rollout"],) for row in rollouts}
    present |= {(row["rollout"], row["step"]) for row in steps}
    present |= {(row["rollout"], row["step"], row["command"]) for row in commands}
    for rollout in credits:
        wanted = {(rollout.rollout,)}
        wanted |= {(rollout.rollout, step.step) for step in rollout.steps}
        wanted |= {(rollout.rollout, part.step, part.command) for part in rollout.commands}
        if not wanted <= present:
            raise CreditError(
                f"rollout {rollout.rollout} was replaced since it was credited; compute again"
            )
