"""Make the demo's recording by really running it: `python -m tests.demo.record`."""

import json
import shutil
from pathlib import Path

from rollgraph.ingest.demo import DEMO_FILE, record_demo

ROOT = Path("/tmp/rollgraph-demo")


def main() -> None:
    shutil.rmtree(ROOT, ignore_errors=True)
    lines = [json.dumps(record) for record in record_demo(ROOT)]
    DEMO_FILE.write_text("".join(f"{line}\n" for line in lines))
    shutil.rmtree(ROOT)
    print(f"{DEMO_FILE}: {len(lines)} records")


if __name__ == "__main__":
    main()
