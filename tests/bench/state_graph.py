"""How long the credit of state graphs takes, against plain versions of what released codes do.

    python -m tests.bench.state_graph [--groups 16 100 250]

Made groups are 8 rollouts of 50 steps that walk about a room of 20 x 20 places; every other one
ends with success. All is measured in one run, ours the least of five: each method from an opened
embedded store to the steps' advantages. The plain versions start from lists in memory, and stop
before any advantage: 1,000 sweeps of value iteration over each group's transitions, and returns put
back into the order of the batch's N rows by a search of all rows for each. The last table has the
query `reward_flow` alone, beside scipy on arrays of the same transitions.
"""

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

from rollgraph.graph import Store, open_store
from rollgraph.ingest import ingest
from rollgraph.queries import credit, library

GROUP, STEPS, SIDE = 8, 50, 20
SWEEPS = 1000
GAMMA = 0.9
METHODS = ("rewardflow", "graphgpo", "gigpo", "hgpo", "g2po")
MOVES = {"north": (0, -1), "south": (0, 1), "west": (-1, 0), "east": (1, 0)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", type=int, nargs="+", default=[16, 100, 250])
    methods = table("store → advantages", "steps", "states", "method", "ms", "plain version",
                    "plain ms", "plain / ours")  # fmt: skip
    query = table("transitions → distances", "states", "transitions", "reward_flow ms",
                  "scipy with matrix ms", "ratio", "scipy search ms", "ratio")  # fmt: skip
    with TemporaryDirectory() as folder:
        for groups in parser.parse_args().groups:
            records = list(made(groups))
            path = Path(folder) / f"{groups}.jsonl"
            path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
            store = open_store(str(Path(folder) / f"{groups}.rollgraph"))
            ingest(store, path)
            for row in compared(store, records):
                methods.add_row(*row)
            query.add_row(*query_alone(store))
            store.close()
    console = Console(width=120)
    console.print(methods, query)


def table(title: str, *columns: str) -> Table:
    found = Table(title=title, title_justify="left")
    for name in columns:
        is_text = name in ("method", "plain version")
        found.add_column(name, justify="left" if is_text else "right")
    return found


def compared(store: Store, records: list[dict]) -> Iterator[list[str]]:
    steps = len(records) * STEPS
    states = store.query("MATCH (s:State) RETURN count(*) AS n").to_pylist()[0]["n"]
    plain = {
        "rewardflow": ("value iteration, 1,000 sweeps", lambda: value_iteration(records)),
        "gigpo": ("returns in O(N²)", lambda: returns_by_search(records)),
    }
    for method in METHODS:
        ours = least(5, lambda method=method: credit(store, method))
        name, run = plain.get(method, ("", None))
        other = least(1, run) if run else None
        yield [
            f"{steps:,}", f"{states:,}", method, f"{ours:.0f}", name,
            f"{other:,.0f}" if other else "", f"{other / ours:.0f}" if other else "",
        ]  # fmt: skip


def query_alone(store: Store) -> list[str]:
    groups = sorted(set(library.run(store, "rollouts").column("group").to_pylist()))
    steps = library.run(store, "transitions").to_pylist()
    ends = library.run(store, "final_states").to_pylist()
    number: dict[str, int] = {}
    pairs = {(row["state"], row["next_state"]) for row in steps}
    sources = np.array([number.setdefault(b, len(number)) for _, b in sorted(pairs)])
    targets = np.array([number.setdefault(a, len(number)) for a, _ in sorted(pairs)])
    successes = np.array(sorted({number[row["state"]] for row in ends if row["success"]}))
    root = len(number)
    sources = np.concatenate([sources, np.full(len(successes), root)])
    targets = np.concatenate([targets, successes])

    def matrix():
        ones = np.ones(len(sources), dtype=np.int8)
        return coo_array((ones, (sources, targets)), shape=(root + 1, root + 1)).tocsr()

    made_before = matrix()
    ours = least(5, lambda: library.run(store, "reward_flow", groups=groups))
    whole = least(5, lambda: breadth_first_order(matrix(), root))
    alone = least(5, lambda: breadth_first_order(made_before, root))
    return [
        f"{root:,}", f"{len(pairs):,}", f"{ours:.1f}", f"{whole:.2f}", f"{ours / whole:.1f}",
        f"{alone:.2f}", f"{ours / alone:.1f}",
    ]  # fmt: skip


def least(times: int, run: Callable[[], object]) -> float:
    """Return the least milliseconds of some runs."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        found.append(1000 * (time.perf_counter() - start))
    return min(found)


def value_iteration(records: list[dict]) -> list[dict[str, float]]:
    """Return the values of each group's states, by synchronous sweeps over all its transitions."""
    groups: dict[str, list[dict]] = {}
    for record in records:
        groups.setdefault(record["group"], []).append(record)
    found = []
    for members in groups.values():
        edges, values = set(), {}
        for record in members:
            states = states_of(record)
            edges.update(pairwise(states))
            values.update(dict.fromkeys(states, 0.0))
        seeds = {states_of(record)[-1] for record in members if record["success"]}
        for _ in range(SWEEPS):
            after = dict.fromkeys(values, 0.0) | dict.fromkeys(seeds, 1.0)
            for a, b in edges:
                after[a] = max(after[a], GAMMA * values[b])
            values = after
        found.append(values)
    return found


def returns_by_search(records: list[dict]) -> np.ndarray:
    """Return the discounted returns of all rows, each looked up among the rows of the batch."""
    owners = np.array([record["id"] for record in records for _ in record["steps"]], dtype=object)
    by_rollout = {}
    for record in records:
        returns, total = np.zeros(len(record["steps"])), float(record["success"])
        for step in reversed(range(len(returns))):
            returns[step] = total
            total *= GAMMA
        by_rollout[record["id"]] = returns
    found = np.zeros(len(owners))
    for row, owner in enumerate(owners):
        rows = np.where(owners == owner)[0]
        found[row] = by_rollout[owner][np.where(rows == row)[0][0]]
    return found


def states_of(record: dict) -> list[str]:
    return [*(step["state"]["key"] for step in record["steps"]), record["final_state"]["key"]]


def made(groups: int) -> Iterator[dict]:
    """Make walks about rooms; every other one of a group ends with success, all in one place."""
    rng = random.Random(20260318)
    for group in range(groups):
        goal = (rng.randrange(SIDE), rng.randrange(SIDE))
        for slot in range(GROUP):
            yield walk(rng, f"g{group:04d}", slot, goal)


def walk(rng: random.Random, group: str, slot: int, goal: tuple[int, int]) -> dict:
    x, y = (rng.randrange(SIDE), rng.randrange(SIDE))
    steps = []
    for _ in range(STEPS):
        move = rng.choice(list(MOVES))
        steps.append({"state": {"key": f"{x},{y}"}, "action": f"go {move}", "valid": True})
        dx, dy = MOVES[move]
        x, y = min(max(x + dx, 0), SIDE - 1), min(max(y + dy, 0), SIDE - 1)
    is_success = slot % 2 == 0
    end = goal if is_success else (x, y)
    return {
        "type": "rollout",
        "id": f"{group}/{slot}",
        "task": group,
        "group": group,
        "success": is_success,
        "reward": float(is_success),
        "steps": steps,
        "final_state": {"key": f"{end[0]},{end[1]}"},
    }


if __name__ == "__main__":
    main()
