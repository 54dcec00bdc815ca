r"""What the policy saw: the observations of a rollout, and their normalized text."""

import re

from ..graph.records import Rollout

_COUNT = r"\d+(?:\s*(?:/|of|out of)\s*\d+)?"
_COUNTER = re.compile(
    rf"\[?\b(?:step|turn|round|move)s?\s*(?:number|no\.?|left|remaining|taken|count)?\s*[:#=]?\s*"
    rf"{_COUNT}\]?|\b{_COUNT}\s+(?:steps|turns|rounds|moves)\s+(?:left|remaining|taken|so far)\b",
    re.IGNORECASE,
)


def observations(rollout: Rollout) -> list[str | None]:
    """Return what was seen before each of T steps, and after the last one; None: not known."""
    final = rollout.final_state
    return [
        *(step.observation for step in rollout.steps or ()),
        final.observation if final else None,
    ]


def text(observation: str) -> str:
    """Normalize a text: no case, no counters of steps, one space for any white space."""
    return " ".join(_COUNTER.sub(" ", observation).casefold().split())
