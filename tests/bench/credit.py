"""How long ingest and credit take, and how both grow.

    python -m tests.bench.credit [--sizes 100 1000 10000]

Made rollouts have the shape of DepGPO's Table 11: 6.8 commands a rollout, 30 file records a
command, groups of 8. Both engines are measured in one run where NEO4J_URI names a server, whose
database is emptied. The paper's own dependency processing takes 3,800 ms a trajectory (Table 10).
"""

import argparse
import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from rollgraph.graph import open_store
from rollgraph.ingest import ingest
from rollgraph.queries import credit

from ..conftest import wipe

PAPER_MS = 3800
GROUP = 8
FILES = 120
RECORDS = 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000, 10_000])
    sizes = parser.parse_args().sizes
    engines = ["embedded"] + ["neo4j"] * ("NEO4J_URI" in os.environ)
    table = Table(title="ms a rollout", title_justify="left")
    for name in ("engine", "rollouts", "JSONL → store", "store → credits", "together",
                 "paper / ours", "one group of 8, ms"):  # fmt: skip
        table.add_column(name, justify="right")
    with TemporaryDirectory() as folder:
        for size in sizes:
            path = Path(folder) / f"{size}.jsonl"
            path.write_text("".join(f"{json.dumps(record)}\n" for record in made(size)))
            for engine in engines:
                ingest_s, credit_s, group_s = measured(engine, path, Path(folder))
                both = 1000 * (ingest_s + credit_s) / size
                table.add_row(
                    engine, str(size), f"{1000 * ingest_s / size:.2f}",
                    f"{1000 * credit_s / size:.2f}", f"{both:.2f}", f"{PAPER_MS / both:,.0f}",
                    f"{1000 * group_s:.0f}",
                )  # fmt: skip
    Console(width=110).print(table)
    if len(engines) == 1:
        print("Neo4j was left out: NEO4J_URI is not set.")


def measured(engine: str, path: Path, folder: Path) -> tuple[float, float, float]:
    """Seconds for ingest, for the credits of all groups, and for those of one group."""
    if engine == "neo4j":
        wipe(url := os.environ["NEO4J_URI"])
    else:
        url = str(folder / f"{path.stem}.rollgraph")
    with open_store(url) as store:
        started = time.perf_counter()
        report = ingest(store, path)
        ingested = time.perf_counter()
        found = credit(store)
        credited = time.perf_counter()
        assert report.new == len(found), (report, len(found))
        group = found.rollouts_credited[len(found) // 2].group
        times = []
        for _ in range(5):
            before = time.perf_counter()
            assert len(credit(store, groups=[group])) == GROUP or len(found) < GROUP
            times.append(time.perf_counter() - before)
    return ingested - started, credited - ingested, sorted(times)[len(times) // 2]


def made(size: int, files: int = FILES) -> Iterator[dict]:
    """Rollouts of the paper's shape, in groups of 8, over so many files."""
    rng = random.Random(20261003)
    for number in range(size):
        steps = [{"tokens": {"count": rng.randint(20, 400)}, "commands": [command]}
                 for command in commands(rng, files)]  # fmt: skip
        yield {
            "type": "rollout",
            "id": f"rollout-{number:06d}",
            "task": f"task-{number // GROUP:05d}",
            "group": f"task-{number // GROUP:05d}",
            "reward": float(rng.random() < 0.4),
            "steps": steps,
            "verifier": {
                "reads": [file(rng, files) for _ in range(6)],
                "probes": [file(rng, files)],
            },
        }


def commands(rng: random.Random, files: int) -> Iterator[dict]:
    """About 6.8 commands: two of five write a few files, all read the rest of their 30 records."""
    for _ in range(6 + (rng.random() < 0.8)):
        writes = [write(rng, files) for _ in range(rng.randint(1, 6))] if rng.random() < 0.4 else []
        touched = [file(rng, files) for _ in range(RECORDS - len(writes))]
        cut = len(touched) * 2 // 3
        yield {
            "text": f"python3 run.py --seed {rng.randint(1000, 9999)} {file(rng, files)}",
            "cwd": "/app",
            "exit_code": 0,
            "stdout": f"wrote {file(rng, files)}\nseed {rng.randint(1000, 9999)}\n",
            "reads": touched[:cut],
            "probes": touched[cut:],
            "writes": writes,
        }


def write(rng: random.Random, files: int) -> dict:
    if rng.random() < 0.2:
        return {"path": file(rng, files)}
    first = rng.randint(1, 200)
    return {"path": file(rng, files), "lines": [[first, first + rng.randint(0, 60)]]}


def file(rng: random.Random, files: int) -> str:
    return f"/app/src/module_{rng.randrange(files):03d}.py"


if __name__ == "__main__":
    main()
