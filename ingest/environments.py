"""The states of known environments, read off what the policy saw and did.

Each reader gives the T + 1 keys of a rollout of T steps, as `states.py` asks for. Where the
observation of a state is not known, neither is its key.
"""

import json
import re
from collections.abc import Sequence

from ..graph.records import Rollout, Step
from .observations import observations, text

_NOISE = re.compile(r"\s*(?:look|inventory|examine\b.*|help)\s*", re.IGNORECASE)
_NOTHING = re.compile(r"\s*nothing happens\b", re.IGNORECASE)
_TAKEN = re.compile(r"you (?:pick up|take) the (.+?) (?:from|in|on)\b", re.IGNORECASE)
_PUT = re.compile(r"you (?:put|move) the (.+?) (?:in/on|to|in|on)\b", re.IGNORECASE)
_PROCESSED = re.compile(
    r"you (clean|heat|cool|slice) the (.+?) (?:using|with)\b|"
    r"you turn (on|off) the ([\w ]+)", re.IGNORECASE,
)  # fmt: skip


def alfworld(rollout: Rollout, prune: bool) -> Sequence[str | None]:
    """ALFWorld: what was seen, what is held, and what has been processed, before the action.

    With `prune`, looking around, taking inventory, examining and actions of which nothing happens
    leave the state as it is.
    """
    steps = rollout.steps or []
    seen = observations(rollout)
    keys: list[str | None] = []
    held: set[str] = set()
    processed: set[str] = set()
    for index, observation in enumerate(seen):
        is_won = index == len(steps) and rollout.success is True
        if prune and index and not is_won and _is_noise(steps[index - 1], observation):
            keys.append(keys[-1])
            continue
        if observation is None:
            keys.append(None)
            continue
        held |= {item.lower() for item in _TAKEN.findall(observation)}
        held -= {item.lower() for item in _PUT.findall(observation)}
        for how, what, switched, device in _PROCESSED.findall(observation):
            if switched.lower() == "off":
                processed.discard(f"on {device.lower()}")
            else:
                processed.add(f"{how or switched} {what or device}".lower())
        parts = [text(observation), *(f"holding {item}" for item in sorted(held))]
        keys.append(" | ".join([*parts, *sorted(processed)]))
    return keys


def _is_noise(step: Step, observation: str | None) -> bool:
    return bool(
        _NOISE.fullmatch(step.action or "") or (observation and _NOTHING.match(observation))
    )


_SEARCH = re.compile(r"search\[(.*)\]", re.IGNORECASE | re.DOTALL)
_CLICK = re.compile(r"click\[(.*)\]", re.IGNORECASE | re.DOTALL)
_PRODUCT = re.compile(r"b0[0-9a-z]{8}")
_OPENED = {"description", "features", "reviews", "attributes"}


def webshop(rollout: Rollout, prune: bool) -> Sequence[str | None]:  # noqa: ARG001
    """WebShop: the page as it was seen, the query, the product and the options chosen for it."""
    query, product, options, is_opened = "", "", set[str](), False
    keys: list[str | None] = []
    steps = rollout.steps or []
    for index, observation in enumerate(observations(rollout)):
        action = (steps[index - 1].action or "").strip() if index else ""
        if match := _SEARCH.fullmatch(action):
            query, product, options, is_opened = text(match[1]), "", set[str](), False
        elif match := _CLICK.fullmatch(action):
            target = text(match[1])
            if target == "back to search":
                query, product, options, is_opened = "", "", set[str](), False
            elif _PRODUCT.fullmatch(target):
                product, options, is_opened = target, set[str](), False
            elif target in _OPENED:
                is_opened = True
            elif target == "< prev":
                if not is_opened:
                    product, options = "", set[str]()
                is_opened = False
            elif product and target not in ("buy now", "next >"):
                options.add(target)
        keys.append(
            None
            if observation is None
            else json.dumps(
                {
                    "page": text(observation),
                    "query": query,
                    "product": product,
                    "options": sorted(options),
                },
                ensure_ascii=False,
            )
        )
    return keys


_CELLS = frozenset("#_OX√PS")
_CLASSIC_CELLS = frozenset("# @$.*+-")


def sokoban(rollout: Rollout, prune: bool) -> Sequence[str | None]:  # noqa: ARG001
    """Sokoban: the grid within the observation, or the whole text where there is none."""
    return [None if seen is None else _grid(seen) or text(seen) for seen in observations(rollout)]


def _grid(observation: str) -> str | None:
    """Return the longest run of lines that are rows of a grid; None: there are not even three."""
    best: list[str] = []
    rows: list[str] = []
    for line in [*observation.splitlines(), ""]:
        if _is_row(line):
            rows.append(line.rstrip())
        else:
            best, rows = max(best, rows, key=len), []
    if _is_spaced(best):
        best = ["".join(row.split()) for row in best]
    return "\n".join(best) if len(best) > 2 else None


def _is_row(line: str) -> bool:
    cells = set(line) - {" ", "\t"}
    is_classic = "#" in cells and _CLASSIC_CELLS.issuperset(cells)
    return len(line.strip()) > 2 and (_CELLS.issuperset(cells) or is_classic)


def _is_spaced(rows: Sequence[str]) -> bool:
    """Whether cells stand apart, all by the same space; if not, a space is a cell of its own."""
    gaps = {gap for row in rows for gap in re.split(r"\S", row.strip())[1:-1]}
    return len(gaps) == 1 and "" not in gaps


def search(rollout: Rollout, prune: bool) -> Sequence[str | None]:  # noqa: ARG001
    """Search: the set of documents that were retrieved so far."""
    seen: set[str] = set()
    keys = [json.dumps([])]
    for step in rollout.steps or ():
        for call in step.searches or ():
            for document in call.documents or ():
                place = [document.page, document.paragraph, document.start]
                is_placed = document.page is not None or document.paragraph is not None
                name = place if is_placed else [document.title, document.text]
                seen.add(json.dumps(name, ensure_ascii=False))
        keys.append(json.dumps(sorted(seen), ensure_ascii=False))
    return keys
