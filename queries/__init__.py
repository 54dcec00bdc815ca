"""Queries: one question a file, and the credit methods that are arithmetic on the answers."""

from .ask import ask
from .credit import CREDIT_METHODS, credit
from .credit_runs import load_credits, save_credits
from .dependency_graph import dependency_graph
from .explain import explain
from .group_health import group_health
from .library import NamedQuery, load, names
from .results import Credits, RolloutCredit
from .trace_statistics import trace_statistics

__all__ = [
    "CREDIT_METHODS",
    "Credits",
    "NamedQuery",
    "RolloutCredit",
    "ask",
    "credit",
    "dependency_graph",
    "explain",
    "group_health",
    "load",
    "load_credits",
    "names",
    "save_credits",
    "trace_statistics",
]
