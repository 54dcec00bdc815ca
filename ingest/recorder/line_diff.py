r"""Which lines of a file are new: the new side's ranges of a line diff.

Lines end at a newline byte and at nothing else, and a last line without one differs from the same
line with one. Common ends are cut off; lines that are unique on both sides anchor the rest, or,
where there are none, runs of lines that are (patience diff); what lies between two anchors is
aligned by a longest common subsequence (rapidfuzz), whose bit-parallel arithmetic stays fast on
repetitive files, where difflib is cubic.

>>> new_lines(b"one\ntwo\nthree\n", b"one\n2\nthree\nfour\n")
[(2, 2), (4, 4)]
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence

from rapidfuzz.distance import Indel

MAX_PAIRS = 1 << 29
"""Pairs of lines that one alignment may compare; its memory is a bit for each."""
FEW_PAIRS = 1 << 20
"""Up to here lines are aligned as they are; beyond, runs of lines are looked for as anchors."""
RUNS = (1, 4, 16, 64)
"""Lengths of the runs that may anchor an alignment."""

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")

Ranges = list[tuple[int, int]]


class DiffTooLargeError(Exception):
    """Two versions of a file differ too much to be aligned in reasonable time."""


def new_lines(before: bytes, after: bytes) -> Ranges:
    """Find the lines of `after` that a diff from `before` adds, as 1-based inclusive ranges.

    Raises DiffTooLargeError where the differing parts are too large to be aligned.
    """
    if before == after:
        return []
    old, new = _LINE.findall(before), _LINE.findall(after)
    if not old:
        return [(1, len(new))] if new else []
    ids: dict[bytes, int] = {}
    numbers = [[ids.setdefault(line, len(ids)) for line in lines] for lines in (old, new)]
    ranges: Ranges = []
    _compare(numbers[0], numbers[1], 0, ranges)
    return ranges


def _compare(old: Sequence[int], new: Sequence[int], offset: int, ranges: Ranges) -> None:
    """Append the new lines' ranges; `offset` lines of the new side lie before these."""
    start, limit = 0, min(len(old), len(new))
    while start < limit and old[start] == new[start]:
        start += 1
    end = 0
    while end < limit - start and old[-1 - end] == new[-1 - end]:
        end += 1
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    offset += start
    if not new:
        return
    if not old:
        _append(ranges, offset + 1, offset + len(new))
        return
    anchors: list[tuple[int, int]] = []
    for run in RUNS if len(old) * len(new) > FEW_PAIRS else RUNS[:1]:
        if anchors := _anchors(_runs(old, run), _runs(new, run)):
            break
    else:
        _align(old, new, offset, ranges)
        return
    at_old = at_new = 0
    for in_old, in_new in [*anchors, (len(old), len(new))]:
        _compare(old[at_old:in_old], new[at_new:in_new], offset + at_new, ranges)
        at_old, at_new = in_old + 1, in_new + 1


def _align(old: Sequence[int], new: Sequence[int], offset: int, ranges: Ranges) -> None:
    known = set(old)
    if known.isdisjoint(new):
        _append(ranges, offset + 1, offset + len(new))
        return
    if len(old) * len(new) > MAX_PAIRS:
        raise DiffTooLargeError
    for part in Indel.opcodes(old, new):
        if part.tag == "insert":
            _append(ranges, offset + part.dest_start + 1, offset + part.dest_end)


def _runs(lines: Sequence[int], length: int) -> Sequence[Hashable]:
    """Return every run of so many lines, at the place of its first."""
    if length == 1:
        return lines
    return list(zip(*(lines[at:] for at in range(length)), strict=False))


def _anchors(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pair what is unique on both sides, as far as it keeps its order."""
    once = {line for line, count in Counter(old).items() if count == 1}
    once &= {line for line, count in Counter(new).items() if count == 1}
    place = {line: at for at, line in enumerate(new) if line in once}
    pairs = [(at, place[line]) for at, line in enumerate(old) if line in once]
    # The longest increasing subsequence of the new side's places.
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, (_, at) in enumerate(pairs):
        length = bisect_left(tails, at)
        tails[length : length + 1] = [at]
        ends[length : length + 1] = [index]
        before.append(ends[length - 1] if length else -1)
    chain: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]


def _append(ranges: Ranges, first: int, last: int) -> None:
    if ranges and ranges[-1][1] + 1 == first:
        ranges[-1] = (ranges[-1][0], last)
    else:
        ranges.append((first, last))
