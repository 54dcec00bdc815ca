"""New lines: what is not said to be new was there before, in its order; equal texts have none."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollgraph.ingest.recorder import line_diff
from rollgraph.ingest.recorder.line_diff import DiffTooLargeError, new_lines


def lines_of(text):
    return [line + b"\n" for line in text.split(b"\n")[:-1]] + (
        [text.split(b"\n")[-1]] if text.split(b"\n")[-1] else []
    )


@pytest.mark.parametrize(
    ("before", "after", "ranges"),
    [
        (b"", b"", []),
        (b"a\n", b"a\n", []),
        (b"", b"a\nb\n", [(1, 2)]),
        (b"a\nb\n", b"", []),
        (b"a\nb\nc\n", b"a\nc\n", []),
        (b"a\nb\n", b"a\nx\nb\n", [(2, 2)]),
        (b"a\nb\n", b"a\nb\nc\n", [(3, 3)]),
        (b"a\nb\nc\n", b"x\nb\ny\n", [(1, 1), (3, 3)]),
        (b"a", b"a\n", [(1, 1)]),
        (b"a\n", b"a", [(1, 1)]),
        (b"a\r\nb\r\n", b"a\nb\r\n", [(1, 1)]),
        (b"a\x0cb\n", b"a\x0cc\n", [(1, 1)]),
        ("a\u2028b\x85c\n".encode(), "a\u2028b\x85c\nd\n".encode(), [(2, 2)]),
        (b"\n\n\n", b"\n\n\n\n", [(4, 4)]),
        (b"a\nb\nc\nd\n", b"c\nd\na\nb\n", [(3, 4)]),
        (b"x\ny\n", b"a\nb\nc\n", [(1, 3)]),
    ],
)
def test_new_lines_by_hand(before, after, ranges):
    assert new_lines(before, after) == ranges


def check(before, after):
    ranges = new_lines(before, after)
    new = {line for first, last in ranges for line in range(first, last + 1)}
    lines = lines_of(after)
    assert all(1 <= first <= last <= len(lines) for first, last in ranges)
    assert all(a[1] + 1 < b[0] for a, b in pairwise(ranges))
    old = iter(lines_of(before))
    kept = [line for number, line in enumerate(lines, 1) if number not in new]
    assert all(line in old for line in kept), "the other lines are a subsequence of the old ones"
    return len(new)


TEXTS = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"d"]), max_size=30).map(b"".join)


@given(TEXTS, TEXTS)
def test_lines_that_are_not_new_were_there_before(before, after):
    check(before, after)
    assert new_lines(after, after) == []


@given(TEXTS, st.integers(1, 3), st.integers(1, 20))
def test_runs_anchor_as_well(text, copies, width):
    unique = b"".join(b"%d\n" % number for number in range(width))
    check(text * copies + unique + text, text + unique + text * copies)


@pytest.mark.parametrize("distinct", [2, 20, 1_000, 10**6])
def test_a_large_file_with_few_edits_has_few_new_lines(distinct, monkeypatch):
    monkeypatch.setattr(line_diff, "FEW_PAIRS", 1_000)
    rng = random.Random(distinct)
    before = [b"%d\n" % rng.randrange(distinct) for _ in range(4_000)]
    after = list(before)
    for _ in range(50):
        after[rng.randrange(len(after))] = b"edited %d\n" % rng.randrange(10**9)
    assert check(b"".join(before), b"".join(after)) == sum(
        a != b for a, b in zip(before, after, strict=True)
    )


def test_what_cannot_be_aligned_is_said(monkeypatch):
    monkeypatch.setattr(line_diff, "MAX_PAIRS", 3)
    with pytest.raises(DiffTooLargeError):
        new_lines(b"a\nb\na\nb\n", b"b\na\na\nb\na\nb\nb\na\n")
