"""The command dependency graph G of one rollout (DepGPO, A.2): its edges, with their evidence.

A file edge: the target read lines that the source had written and still owned (Eq. 10). A stdout
edge: the target's text reuses a typed value that the source was the first to print, strictly
earlier in command order, unless the task's description holds the value too (D10, D11). Both between
one pair of commands make one mixed edge. The verifier takes part with its file reads, for display:
it has no successor, so it changes no credit (D13).
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from .ownership import POLICIES, Use
from .values import TypedValue

SHOWN_RANGES = 8


@dataclass(frozen=True)
class Dependency:
    """An edge of G between two commands, named by their positions."""

    source: int
    target: int
    kind: str
    """file, stdout or mixed."""
    evidence: tuple[str, ...]
    """Such as `file /app/a.txt lines 1-4, 9` or `port 8080`."""
    policies: int
    """The whole-file policies under which the edge is there, with this kind and evidence."""
    qualifies: int
    """Those of them under which it is an edge of G_E: the target consumes some of the source."""


def dependencies(
    uses: dict[tuple[int, int], list[Use]],
    texts: Sequence[Set[TypedValue]],
    outputs: Sequence[Set[TypedValue]],
) -> list[Dependency]:
    """Make the edges of G from the replay's uses and the typed values of texts and outputs.

    `texts` are without the values of the task's description.
    """
    reused = _reused(texts, outputs)
    edges: list[Dependency] = []
    for pair in sorted({*uses, *reused}):
        edges += _edges(pair, uses.get(pair, []), reused.get(pair, []))
    return edges


def _reused(
    texts: Sequence[Set[TypedValue]],
    outputs: Sequence[Set[TypedValue]],
) -> dict[tuple[int, int], list[TypedValue]]:
    """(first printer, user) to the values that connect them."""
    printer: dict[TypedValue, int] = {}
    reused: dict[tuple[int, int], list[TypedValue]] = {}
    for position, (text, output) in enumerate(zip(texts, outputs, strict=True)):
        for value in sorted(text):
            if value in printer:
                reused.setdefault((printer[value], position), []).append(value)
        for value in output:
            printer.setdefault(value, position)
    return reused


def _edges(
    pair: tuple[int, int], uses: list[Use], values: list[TypedValue]
) -> Iterable[Dependency]:
    """One edge for each set of policies that agree on kind, evidence and qualification."""
    printed = tuple(f"{kind} {value}" for kind, value in values)
    agreeing: dict[tuple[str, tuple[str, ...], bool], int] = {}
    for policy in POLICIES:
        seen = [use for use in uses if use.owned & policy]
        if not seen and not printed:
            continue
        kind = "mixed" if seen and printed else "file" if seen else "stdout"
        qualifies = any(use.qualifies & policy for use in seen)
        key = (kind, (*_files(seen), *printed), qualifies)
        agreeing[key] = agreeing.get(key, 0) | policy
    for (kind, evidence, qualifies), policies in agreeing.items():
        yield Dependency(*pair, kind, evidence, policies, policies if qualifies else 0)


def _files(uses: list[Use]) -> list[str]:
    """Say of each file which lines were read; a writer's pieces come in line order."""
    whole: dict[str, bool] = {}
    ranges: dict[str, list[tuple[int, int]]] = {}
    for use in uses:
        parts = ranges.setdefault(use.path, [])
        if use.first is None or use.last is None:
            whole[use.path] = True
        elif parts and parts[-1][1] + 1 == use.first:
            parts[-1] = (parts[-1][0], use.last)
        else:
            parts.append((use.first, use.last))
    return [
        f"file {path} " + ", ".join(["whole file"] * (path in whole) + _lines(parts))
        for path, parts in ranges.items()
    ]


def _lines(ranges: list[tuple[int, int]]) -> list[str]:
    if not ranges:
        return []
    shown = [
        str(first) if first == last else f"{first}-{last}" for first, last in ranges[:SHOWN_RANGES]
    ]
    if more := len(ranges) - len(shown):
        shown.append(f"and {more} more ranges")
    lines = "line" if shown == [str(ranges[0][0])] else "lines"
    return [f"{lines} {', '.join(shown)}"]
