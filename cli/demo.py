"""The demo: three small tasks with four attempts each, credited."""

from pathlib import Path
from tempfile import TemporaryDirectory

from ..graph import open_store
from ..ingest import ingest
from ..ingest.demo import DEMO_EXPLAINED, DEMO_FILE, record_demo
from ..ingest.recorder import best_tracer
from ..queries import credit, explain, group_health
from ..queries.show import credit_tables, frame_table
from .printing import out

DEMO_ABOUT = """\
Three small tasks, four scripted attempts each. {source}

[bold]credit[/]     of a write: the share of its lines that reach what the verifier inspected;
           of a read: what the writes that it supports are worth, halved for each step of distance
[bold]weight[/]     the step's credit against the rollout's other steps: their token mean is 1
[bold]advantage[/]  the rollout's advantage in its group, times the weight (a token is a byte here)
"""

DEMO_LIVE = "They are really run now, in a temporary folder, and traced."
DEMO_RECORDED = """\
Commands cannot be traced on this machine (`rollgraph doctor`
says why), so this is a recording of a run elsewhere, not a new run."""


def demo() -> None:
    """Credit three small tasks with four attempts each, and say why."""
    is_live = best_tracer().level != "sweep"
    out.print(DEMO_ABOUT.format(source=DEMO_LIVE if is_live else DEMO_RECORDED))
    with TemporaryDirectory(prefix="rollgraph-demo-") as folder, open_store(folder) as opened:
        ingest(opened, record_demo(Path(folder) / "tasks") if is_live else DEMO_FILE)
        found = credit(opened)
        for table in credit_tables(opened, found):
            out.print(table, "")
        for command in DEMO_EXPLAINED:
            title = f"why {command} has its credit"
            out.print(frame_table(explain(opened, command), title), "")
        out.print(frame_table(group_health(opened), "groups"), "")
    out.print("Your own rollouts: rollgraph ingest FILE.jsonl && rollgraph credit")
