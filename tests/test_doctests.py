"""The examples in the docstrings are true.

A runner of its own, because pytest's --doctest-modules imports a file by its folder's name, and the
folder of a checkout is not called rollgraph.
"""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted(
    ".".join(["rollgraph", *path.relative_to(ROOT).with_suffix("").parts])
    for room in ("graph", "ingest", "queries")
    for path in (ROOT / room).rglob("*.py")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_say(name):
    failed, _ = doctest.testmod(importlib.import_module(name), report=True)
    assert failed == 0
