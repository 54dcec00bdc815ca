"""Line ownership by intervals equals ownership of every single line."""

from collections import defaultdict
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rollgraph.ingest.accesses import Accesses
from rollgraph.ingest.ownership import EVERY, LITERAL, POLICIES, REMOVAL, SUPERSEDE, replay

from .. import strategies
from ..reference import _records, _replay


def accesses_of(command: dict) -> Accesses:
    found = Accesses(reads=set(command["reads"]))
    for write in command["writes"]:
        if write["deleted"]:
            found.removed.add(write["path"])
        elif write["lines"] is None:
            found.whole.add(write["path"])
        else:
            lines = sorted(write["lines"])
            found.lines[write["path"]] = [(line, line) for line in lines]
    return found


def positions(piece):
    if piece.first is None:
        return [(piece.path, -1)]
    return [(piece.path, line) for line in range(piece.first, piece.last + 1)]


@given(task=strategies.rollouts())
def test_every_line_has_the_fate_that_a_replay_of_single_lines_gives_it(task):
    commands = task["commands"]
    names = [command["id"] for command in commands]
    fragments = replay([accesses_of(command) for command in commands]).fragments
    written = defaultdict(set)
    for piece in fragments:
        for position in positions(piece):
            assert position not in written[piece.command]  # fragments do not overlap
            written[piece.command].add(position)
    assert dict(written) == {
        index: _records(command) for index, command in enumerate(commands) if command["writes"]
    }
    for policy, name in POLICIES.items():
        owners, _, consumers = _replay(commands, name)
        for piece in fragments:
            for position in positions(piece):
                is_owner = owners.get(position) == names[piece.command]
                users = {names[user] for user, mask in piece.users.items() if mask & policy}
                assert bool(piece.owned & policy) == is_owner
                assert users == consumers.get((names[piece.command], position), set())


@given(task=strategies.rollouts())
def test_fragments_are_as_long_as_they_can_be(task):
    fragments = replay([accesses_of(command) for command in task["commands"]]).fragments
    for one, other in pairwise(fragments):
        touch = (one.command, one.path) == (other.command, other.path) and one.last is not None
        if touch and other.first == one.last + 1:
            assert (one.owned, one.users) != (other.owned, other.users)


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 9)), max_size=8))
def test_the_last_writer_of_a_line_owns_it(writes):
    commands = [Accesses(lines={"/f": [(first, first + size)]}) for first, size in writes]
    owner = {}
    for index, (first, size) in enumerate(writes):
        owner.update(dict.fromkeys(range(first, first + size + 1), index))
    found = {
        line: piece.command
        for piece in replay(commands).fragments
        if piece.owned == EVERY
        for _, line in positions(piece)
    }
    assert found == owner


def test_a_write_of_a_million_lines_is_one_piece():
    big = Accesses(lines={"/f": [(1, 10**6)]})
    middle = Accesses(lines={"/f": [(500_000, 500_000)]}, reads={"/f"})
    pieces = replay([big, middle]).fragments
    assert [(p.command, p.first, p.last) for p in pieces] == [
        (0, 1, 499_999),
        (0, 500_000, 500_000),
        (0, 500_001, 10**6),
        (1, 500_000, 500_000),
    ]


def test_many_hunks_of_many_commands_are_told_apart():
    ranges = [(4 * i + 1, 4 * i + 2) for i in range(20_000)]
    found = replay([Accesses(lines={"/f": ranges}, reads={"/f"}) for _ in range(4)])
    assert len(found.fragments) == 80_000
    assert all(piece.owned == EVERY * (piece.command == 3) for piece in found.fragments)
    assert {pair: len(uses) for pair, uses in found.uses.items()} == {
        (i, i + 1): 20_000 for i in range(3)
    }


def removal_then_rewrite():
    write = Accesses(lines={"/f": [(1, 4)]})
    remove = Accesses(removed={"/f"})
    rewrite = Accesses(lines={"/f": [(1, 2)]})
    return replay([write, remove, rewrite]).fragments


def test_the_readings_of_a_removal_differ_as_decided():
    fates = {(p.command, p.first, p.last): p.owned for p in removal_then_rewrite()}
    assert fates == {
        (0, 1, 2): 0,  # overwritten by command 2, whatever the reading
        (0, 3, 4): LITERAL,  # literally nobody overwrote them
        (1, None, None): LITERAL,  # the file exists again
        (2, 1, 2): EVERY,
    }


def test_a_whole_file_record_takes_the_file_over_only_under_supersede():
    write = Accesses(lines={"/f": [(1, 4)]})
    binary = Accesses(whole={"/f"})
    line = Accesses(lines={"/f": [(9, 9)]})
    fates = {(p.command, p.first): p.owned for p in replay([write, binary, line]).fragments}
    assert fates == {(0, 1): LITERAL | REMOVAL, (1, None): EVERY, (2, 9): EVERY}


def test_removing_an_input_after_its_use_replaces_nothing_except_under_supersede():
    write = Accesses(lines={"/part": [(1, 2)]})
    use = Accesses(reads={"/part"}, lines={"/final": [(1, 2)]}, removed={"/part"})
    (part,) = (p for p in replay([write, use]).fragments if p.command == 0)
    assert part.users == {1: LITERAL | REMOVAL}
    assert part.owned == LITERAL
    assert SUPERSEDE & ~part.users[1]


def test_a_file_that_is_removed_and_written_in_one_command_is_there_afterwards():
    both = Accesses(removed={"/f"}, lines={"/f": [(1, 1)]})
    fates = {(p.first, p.removal): p.owned for p in replay([both]).fragments}
    assert fates == {(1, False): EVERY, (None, True): LITERAL}
