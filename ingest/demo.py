"""The demo's rollouts: three small tasks, four attempts each, recorded while they really ran."""

from pathlib import Path

DEMO_FILE = Path(__file__).with_name("demo_rollouts.jsonl")
"""The recording."""

DEMO_EXPLAINED = (
    "fix-config/reads-then-edits/1/0",
    "build-report/mends-the-script/0/0",
    "start-server/tries-another-port-first/2/0",
)
"""Commands whose credit the demo explains: a read, an indirect write, a read of a port."""
