"""The recorder: shells and verifiers under strace become rollout records."""

from .recorder import Recorder, Result
from .session import append_records, run_command, run_script
from .tracer import LEVELS, Level, Tracer, best_tracer, doctor

__all__ = [
    "LEVELS",
    "Level",
    "Recorder",
    "Result",
    "Tracer",
    "append_records",
    "best_tracer",
    "doctor",
    "run_command",
    "run_script",
]
