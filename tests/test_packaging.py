"""The wheel holds the package and nothing else."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOMS = ("cli", "graph", "ingest", "queries")


def test_the_wheel_holds_every_module_query_and_data_file(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, ROOT],
        check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    found = {name for name in names if not name.startswith("rollgraph-")}
    modules = [
        *ROOT.glob("*.py"),
        *(path for room in ROOMS for path in (ROOT / room).rglob("*.py")),
    ]
    data = [
        *(ROOT / "queries").glob("*.cypher"),
        ROOT / "ingest/demo_rollouts.jsonl",
        *(ROOT / "ingest/games").glob("*_rollouts.jsonl"),
        ROOT / "py.typed",
    ]
    assert found == {f"rollgraph/{path.relative_to(ROOT)}" for path in [*modules, *data]}
