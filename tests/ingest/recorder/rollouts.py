"""What the tests look at in recorded rollouts."""

import os

from rollgraph.ingest.recorder import LEVELS

__all__ = ["LEVELS", "reasons", "recorded", "rel"]


def recorded(recorder, at=-1):
    return recorder.rollout()["steps"][at]["commands"][-1]


def reasons(command):
    return command["metadata"]["fidelity"]["reasons"]


def rel(root, paths):
    return sorted(os.path.relpath(path, root) for path in paths)
