"""Lines of strace become events; whatever else the log holds is `Unparsed`, and nothing crashes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollgraph.ingest.recorder.strace_lines import (
    MAX_LINE,
    Call,
    Ended,
    LineReader,
    Signalled,
    Unparsed,
    annotated,
    is_deleted,
    string,
)

SAMPLES = Path(__file__).parents[4] / "shared/data/strace-samples"


def events(*lines, end=True):
    reader = LineReader()
    found = list(reader.feed("".join(f"{line}\n" for line in lines).encode("latin-1")))
    return found + (list(reader.finish()) if end else [])


def only(*lines):
    (event,) = events(*lines)
    return event


def test_a_call_has_its_arguments_and_its_result():
    call = only('7 1.5 openat(AT_FDCWD</w>, "a", O_WRONLY|O_CREAT, 0644) = 3</w/a>')
    assert call == Call(
        7, "openat", [b"AT_FDCWD</w>", b'"a"', b"O_WRONLY|O_CREAT", b"0644"], 3, b"/w/a"
    )
    assert annotated(call.arguments[0]) == b"/w"
    assert string(call.arguments[1]) == b"a"


def test_a_line_needs_no_time_stamp():
    assert only('7 unlink("a") = 0').name == "unlink"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (r"a<b>c", b"a<b>c"),
        (r"a, b) = 3", b"a, b) = 3"),
        (r"bad\377\376utf8", b"bad\xff\xfeutf8"),
        (r"\1ctl", b"\x01ctl"),
        (r"\00112", b"\x0112"),
        (r"q\"uo\\te", b'q"uo\\te'),
        (r"new\nline\ttab", b"new\nline\ttab"),
        (r"] } [ { (", b"] } [ { ("),
        (r"x <unfinished ...>", b"x <unfinished ...>"),
    ],
)
def test_names_of_any_bytes_are_decoded(text, name):
    call = only(f'7 1.5 openat(AT_FDCWD</w>, "{text}", O_RDONLY) = 3</w/x\\74y\\76>')
    assert string(call.arguments[1]) == name
    assert call.returned == b"/w/x<y>"


def test_a_call_that_another_interrupts_is_joined():
    first, second = events(
        '9 1.5 openat(AT_FDCWD</w>, "t0", O_WRONLY|O_CREAT|O_TRUNC, 0644 <unfinished ...>',
        "8 1.6 <... clone3 resumed> => {parent_tid=[31811]}, 88) = 31811",
        "9 1.7 <... openat resumed>) = 3</w/t0>",
    )
    assert isinstance(first, Unparsed)  # its beginning is not in this log
    assert (second.name, second.result, second.arguments[3]) == ("openat", 3, b"0644")


def test_a_structure_may_lie_in_the_second_half():
    call = only(
        '9 1.5 newfstatat(AT_FDCWD</w>, "x",  <unfinished ...>',
        "9 1.6 <... newfstatat resumed>{st_mode=S_IFDIR|0755, st_size=4096, ...}, 0) = 0",
    )
    assert call.arguments[2:] == [b"{st_mode=S_IFDIR|0755, st_size=4096, ...}", b"0"]


def test_an_exec_by_another_thread_has_succeeded():
    (call,) = events(
        '34 1.5 execve("/bin/echo", ["echo"], 0x7ffe /* 39 vars */ <pid changed to 33 ...>',
        "33 1.6 +++ superseded by execve in pid 34 +++",
        "33 1.7 <... execve resumed>) = -1 (errno 18446744073709551595)",
    )
    assert (call.pid, call.name, call.succeeded) == (33, "execve", True)


@pytest.mark.parametrize(
    "lines",
    [
        ['38 1.5 open("x", O_RDONLY <unfinished ...>', "38 1.6 <... open resumed>) = ?"],
        ["38 1.5 accept4(3 <unfinished ...>", "38 1.6 <... accept4 resumed> <unfinished ...>) = ?"],
        ['38 1.5 openat(AT_FDCWD</w>, "x", O_RDONLY <unfinished ...>) = ?'],
        ['38 1.5 openat(AT_FDCWD</w>, "x", O_RDONLY <unfinished ...>'],
        ["38 1.5 exit_group(0)   = ?"],
    ],
)  # fmt: skip
def test_a_call_that_ends_with_its_thread_has_an_unknown_result(lines):
    call = only(*lines)
    assert call.result is None
    assert not call.succeeded
    assert not call.error


def test_a_thread_that_is_killed_ends_its_call():
    call, ended = events(
        '38 1.5 openat(AT_FDCWD</w>, "fifo", O_RDONLY <unfinished ...>',
        "38 1.6 +++ killed by SIGKILL +++",
        end=False,
    )
    assert (call.name, call.result) == ("openat", None)
    assert ended == Ended(38)


@pytest.mark.parametrize(
    "text", ["exited with 0", "killed by SIGKILL", "killed by SIGSEGV (core dumped)"]
)
def test_an_end_is_an_end(text):
    assert only(f"7 1.5 +++ {text} +++") == Ended(7)


def test_a_signal_names_its_sender():
    line = "7 1.5 --- SIGTERM {si_signo=SIGTERM, si_code=SI_USER, si_pid=2306, si_uid=0} ---"
    assert only(line) == Signalled(7, "SIGTERM", 2306)
    assert only("7 1.5 --- SIGSEGV {si_signo=SIGSEGV, si_addr=NULL} ---").sender is None
    assert events("7 1.5 --- stopped by SIGSTOP ---") == []


def test_a_failed_call_names_its_error():
    call = only('7 1.5 access("nope", F_OK) = -1 ENOENT (No such file or directory)')
    assert (call.result, call.error, call.succeeded) == (-1, "ENOENT", False)


def test_a_deleted_file_is_marked_outside_its_name():
    call = only("7 1.5 ftruncate(3</w/del me>(deleted), 0) = 0")
    assert annotated(call.arguments[0]) == b"/w/del me"
    assert is_deleted(call.arguments[0])
    call = only('7 1.5 openat(AT_FDCWD</w>, "name (deleted)", O_RDWR) = 4</w/name (deleted)>')
    assert call.returned == b"/w/name (deleted)"
    assert not is_deleted(call.arguments[0])


@pytest.mark.parametrize(
    ("descriptor", "name"),
    [
        ("3<TCP:[127.0.0.1:60049]>", b"TCP:[127.0.0.1:60049]"),
        ("14<TCPv6:[[::1]:35721->[::1]:46516]>", b"TCPv6:[[::1]:35721->[::1]:46516]"),
        ('15<UNIX-STREAM:[283052,"./d>q.sock"]>', b'UNIX-STREAM:[283052,"./d>q.sock"]'),
        ("3<socket:[236068]>", b"socket:[236068]"),
        ("3<pipe:[12]>", b"pipe:[12]"),
    ],
)
def test_a_sockets_name_may_hold_a_bracket(descriptor, name):
    call = only(f"7 1.5 listen({descriptor}, 128) = 0")
    assert annotated(call.arguments[0]) == name
    assert call.arguments[1] == b"128"


def test_flags_in_a_structure_are_kept():
    call = only(
        '7 1.5 openat2(AT_FDCWD</w>, "x", {flags=O_WRONLY|O_CREAT, mode=0644}, 24) = 3</w/x>'
    )
    assert call.arguments[2] == b"{flags=O_WRONLY|O_CREAT, mode=0644}"


@pytest.mark.parametrize("argument", ["0x1", "NULL", '"aaa"...'])
def test_a_bad_path_is_no_string(argument):
    call = only(f"7 1.5 openat(AT_FDCWD</w>, {argument}, O_RDONLY) = -1 EFAULT (Bad address)")
    assert string(call.arguments[1]) is None


@pytest.mark.parametrize(
    "line",
    [
        "",
        "no pid",
        "7 1.5 ",
        "7 1.5 openat(",
        '7 1.5 openat("a) = 3',
        "7 1.5 openat(3</w) = 3",
        "7 1.5 openat(a]) = 3",
        "7 1.5 openat(a) = x",
        "7 1.5 +++ gone +++",
        "7 1.5 <... openat resumed>) = 3",
        "99999999999 1.5 fork() = 1",
        "strace: exec: Permission denied",
        "7 1.5 f(" + "x<" * 50_000 + ") = 0",
        "7 1.5 f(" + "(" * 100_000,
    ],
)
def test_a_line_that_is_none_of_straces_is_said_to_be_unparsed(line):
    assert all(isinstance(event, Unparsed) for event in events(line))
    assert bool(events(line)) == bool(line)


def test_a_torn_last_line_waits_for_its_rest():
    reader = LineReader()
    assert list(reader.feed(b'7 1.5 unlink("a')) == []
    (call,) = reader.feed(b'b") = 0\n')
    assert string(call.arguments[0]) == b"ab"
    assert list(reader.feed(b"7 1.5 unlin")) == []
    assert list(reader.finish()) == [Unparsed(b"7 1.5 unlin")]


def test_a_line_without_an_end_does_not_fill_the_memory():
    reader = LineReader()
    found = [event for _ in range(10) for event in reader.feed(b"x" * MAX_LINE)]
    assert found
    assert all(isinstance(event, Unparsed) for event in found)


PIECES = st.sampled_from(
    [b"7 ", b"1.5 ", b"openat(", b'"a"', b'"', b"\\", b"<", b">", b"...", b" <unfinished ...>",
     b"<... openat resumed>", b") = 3", b"</w>", b"AT_FDCWD", b"(deleted)", b"[", b"]", b"{", b"}",
     b"\n", b"+++ exited with 0 +++", b"--- SIGTERM {si_pid=3} ---", b", ", b"/*", b"*/", b"= ?",
     b"<pid changed to 8 ...>", b"TCP:[", b"->", b"\xff", b"\0", b"fork()", b"execve("]
)  # fmt: skip


@given(st.lists(PIECES | st.binary(max_size=8), max_size=40), st.integers(1, 7))
def test_no_input_crashes_the_reader(pieces, size):
    data = b"".join(pieces)
    reader = LineReader()
    found = []
    for start in range(0, len(data), size):
        found += reader.feed(data[start : start + size])
    found += reader.finish()
    whole = LineReader()
    assert found == [*whole.feed(data), *whole.finish()]


@pytest.mark.parametrize("size", [1, 1_000, 1 << 20])
@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.strace")), ids=lambda path: path.stem)
def test_every_line_of_the_real_logs_is_parsed(path, size):
    data = path.read_bytes() if size > 1 else path.read_bytes()[:20_000]
    data = data[: data.rindex(b"\n") + 1]
    reader = LineReader()
    found = []
    for start in range(0, len(data), size):
        found += reader.feed(data[start : start + size])
    assert not [event for event in found if isinstance(event, Unparsed)]
    assert len(found) > data.count(b"\n") / 2
