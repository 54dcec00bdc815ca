"""Replayed calls give each command the names that its processes touched, as they gave them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollgraph.ingest.recorder.replay import Replay
from rollgraph.ingest.recorder.strace_lines import LineReader

SHELL = 10


def replay_of(*lines):
    """Replay lines of a shell, process 10, that starts in /w and runs command 1 throughout."""
    replay = Replay("/.mark")
    replay.root(SHELL, "/w")
    reader = LineReader()
    for line in ['10 1.0 access("/.mark/B/1", F_OK) = -1 ENOENT (No such file)', *lines]:
        for event in reader.feed(f"{line}\n".encode("latin-1")):
            replay.apply(event)
    for event in reader.finish():
        replay.apply(event)
    return replay


def touched(*lines):
    return replay_of(*lines).of(1)


def opened(name, flags, result="3</w/x>"):
    return f'10 1.5 openat(AT_FDCWD</w>, "{name}", {flags}) = {result}'


@pytest.mark.parametrize(
    ("flags", "reads", "changes"),
    [
        ("O_RDONLY|O_CLOEXEC", True, False),
        ("O_WRONLY|O_CREAT|O_TRUNC, 0666", False, True),
        ("O_WRONLY|O_CREAT|O_APPEND, 0666", False, True),
        ("O_RDWR", True, True),
        ("O_RDWR|O_CREAT, 0644", True, True),
        ("O_RDWR|O_CREAT|O_TRUNC, 0644", False, True),
        ("O_RDWR|O_CREAT|O_EXCL, 0600", False, True),
        ("O_RDONLY|O_CREAT, 0644", True, True),
        ("O_RDONLY|O_DIRECTORY", False, False),
        ("O_RDONLY|O_PATH", False, False),
        ("O_WRONLY|O_TMPFILE, 0644", False, False),
    ],
)
def test_the_flags_of_an_open_say_what_can_follow(flags, reads, changes):
    found = touched(opened("x", flags))
    assert found.reads == ({"/w/x"} if reads else set())
    assert found.changed.keys() == ({"/w/x"} if changes else set())


def test_flags_of_openat2_lie_in_a_structure():
    line = '10 1.5 openat2(AT_FDCWD</w>, "x", {flags=O_WRONLY|O_CREAT, mode=0644}, 24) = 3</w/x>'
    assert touched(line).changed.keys() == {"/w/x"}


def test_what_the_command_made_itself_is_no_read():
    found = touched(opened("x", "O_WRONLY|O_CREAT|O_TRUNC, 0666"), opened("x", "O_RDONLY"))
    assert not found.reads
    found = touched(opened("x", "O_RDONLY"), opened("x", "O_WRONLY|O_TRUNC"))
    assert found.reads == {"/w/x"}


def test_a_file_replaced_by_a_rename_is_read_only_if_it_was_before():
    rename = '10 1.6 rename("./tmp", "x") = 0'
    made = opened("tmp", "O_RDWR|O_CREAT|O_EXCL, 0600")
    assert touched(opened("x", "O_RDONLY"), made, rename).reads == {"/w/x"}
    assert not touched(made, rename, opened("x", "O_RDONLY")).reads
    assert touched(made, rename).moved == {"/w/tmp", "/w/x"}


def test_what_is_read_under_a_new_name_was_read_under_the_old_one():
    moved = '10 1.5 rename("a", "b") = 0'
    assert touched(moved, opened("b", "O_RDONLY")).reads == {"/w/a"}
    again = '10 1.6 rename("b", "c") = 0'
    assert touched(moved, again, opened("c", "O_RDONLY")).reads == {"/w/a"}
    assert not touched(moved, opened("b", "O_WRONLY|O_TRUNC"), opened("b", "O_RDONLY")).reads


@pytest.mark.parametrize(
    "line",
    [
        opened("x", "O_RDONLY", "-1 ENOENT (No such file or directory)"),
        opened("x", "O_WRONLY|O_CREAT|O_EXCL, 0600", "-1 EEXIST (File exists)"),
        '10 1.5 access("x", F_OK) = 0',
        '10 1.5 newfstatat(AT_FDCWD</w>, "x", {st_mode=S_IFREG|0644, ...}, 0) = 0',
        '10 1.5 statx(AT_FDCWD</w>, "x", AT_STATX_SYNC_AS_STAT, STATX_ALL, {stx_mask=0}) = 0',
        '10 1.5 readlink("x", 0x7ff, 4095) = -1 EINVAL (Invalid argument)',
        '10 1.5 unlink("x") = -1 ENOENT (No such file or directory)',
        '10 1.5 execve("x", ["x"], 0x7 /* 3 vars */) = -1 EACCES (Permission denied)',
        '10 1.5 truncate("x", 0) = -1 ENOENT (No such file or directory)',
    ],
)
def test_tests_and_failed_attempts_are_probes(line):
    found = touched(line)
    assert "/w/x" in found.probes
    assert not found.reads
    assert not found.changed


def test_an_fstat_is_no_probe_and_a_listing_is_one_of_the_folder():
    assert not touched('10 1.5 newfstatat(3</w/x>, "", {...}, AT_EMPTY_PATH) = 0').probes
    assert touched("10 1.5 getdents64(3</w/d>, 0x55 /* 4 entries */, 32768) = 112").probes == {
        "/w/d"
    }


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ('unlinkat(5</w/d>, "x", 0) = 0', {"/w/d/x"}),
        ('unlinkat(AT_FDCWD</w>, "d", AT_REMOVEDIR) = 0', set()),
        ('rmdir("d") = 0', set()),
        ('rename("a", "b") = 0', {"/w/a", "/w/b"}),
        ('renameat(3</w/d>, "a", AT_FDCWD</w>, "b") = 0', {"/w/d/a", "/w/b"}),
        ('renameat2(AT_FDCWD</w>, "a", AT_FDCWD</w>, "b", RENAME_EXCHANGE) = 0', {"/w/a", "/w/b"}),
        ('link("a", "b") = 0', {"/w/b"}),
        ('linkat(AT_FDCWD</w>, "/proc/self/fd/3", AT_FDCWD</w>, "b", 0x400) = 0', {"/w/b"}),
        ('symlink("a", "b") = 0', {"/w/b"}),
        ('symlinkat("a", AT_FDCWD</w>, "b") = 0', {"/w/b"}),
        ('mknodat(AT_FDCWD</w>, "b", S_IFREG|0644) = 0', {"/w/b"}),
        ('truncate("b", 0) = 0', {"/w/b"}),
        ('creat("b", 0644) = 3</w/b>', {"/w/b"}),
        ('mkdir("d", 0755) = 0', set()),
    ],
)
def test_calls_that_change_names(line, names):
    assert touched(f"10 1.5 {line}").changed.keys() == names


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('openat(AT_FDCWD</w/d>, "x", O_RDONLY) = 3</w/d/x>', "/w/d/x"),
        ('openat(5</w/d>, "./x", O_RDONLY) = 3</w/d/x>', "/w/d/x"),
        ('openat(AT_FDCWD</w>, "/w//d/./x", O_RDONLY) = 3</w/d/x>', "/w/d/x"),
        ('openat(AT_FDCWD</w>, "link", O_RDONLY) = 3</w/target>', "/w/link"),
        ('openat(AT_FDCWD</w>, "link/../x", O_RDONLY) = 3</v/x>', "/v/x"),
        ('openat(AT_FDCWD</w>, "/proc/self/cwd/x", O_RDONLY) = 3</w/x>', "/w/x"),
        ('openat(AT_FDCWD</w>, "/dev/fd/63", O_RDONLY) = 3</w/x>', "/w/x"),
        (r'openat(AT_FDCWD</w>, "\303\251", O_RDONLY) = 3</w/e>', "/w/é"),
        (r'openat(AT_FDCWD</w>, "\377", O_RDONLY) = 3</w/e>', "/w/\udcff"),
    ],
)
def test_names_are_the_programs_made_absolute(line, name):
    assert touched(f"10 1.5 {line}").reads == {name}


@pytest.mark.parametrize("argument", ["0x1", "NULL", '""', '"aaaa"...'])
def test_a_call_without_a_name_touches_nothing(argument):
    found = touched(f"10 1.5 openat(AT_FDCWD</w>, {argument}, O_RDONLY) = -1 EFAULT (Bad address)")
    assert not found.reads
    assert not found.probes


def test_a_relative_name_below_an_unknown_descriptor_is_left_out_with_a_reason():
    found = touched('10 1.5 openat(5, "x", O_RDONLY) = 3')
    assert not found.reads
    assert found.reasons == {"unknown_directory"}


def test_each_process_has_its_own_working_directory_and_threads_share_one():
    found = touched(
        "10 1.1 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD) = 11",
        '11 1.2 chdir("d") = 0',
        '11 1.3 unlink("a") = 0',
        '10 1.4 unlink("b") = 0',
        "11 1.5 clone3({flags=CLONE_VM|CLONE_FS|CLONE_THREAD}, 88) = 12",
        '12 1.6 chdir("/e") = 0',
        '11 1.7 unlink("c") = 0',
        "12 1.8 unshare(CLONE_FS) = 0",
        '12 1.9 chdir("/f") = 0',
        '11 2.0 unlink("g") = 0',
    )
    assert found.changed.keys() == {"/w/d/a", "/w/b", "/e/c", "/e/g"}


def test_the_kernel_tells_the_working_directory_again():
    found = touched(
        '10 1.1 openat(AT_FDCWD</v>, "a", O_RDONLY) = 3</v/a>', '10 1.2 unlink("b") = 0'
    )
    assert found.changed.keys() == {"/v/b"}
    assert touched("10 1.1 fchdir(3</v>) = 0", '10 1.2 unlink("b") = 0').changed.keys() == {"/v/b"}
    assert touched('10 1.1 getcwd("/v", 4096) = 3', '10 1.2 unlink("b") = 0').changed.keys() == {
        "/v/b"
    }


def test_a_child_that_speaks_before_its_fork_returns_is_its_parents():
    replay = replay_of(
        '10 1.1 chdir("d") = 0',
        "10 1.2 vfork( <unfinished ...>",
        '11 1.3 unlink("a") = 0',
        "11 1.4 +++ exited with 0 +++",
        "10 1.5 <... vfork resumed>) = 11",
    )
    assert replay.of(1).changed.keys() == {"/w/d/a"}
    assert replay.alive(1) == []


def test_a_child_of_a_parent_that_never_tells_of_it_is_its_parents():
    replay = replay_of(
        "10 1.1 clone(child_stack=NULL, flags=SIGCHLD) = 11",
        "11 1.2 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>",
        '12 1.3 unlink("a") = 0',
        "11 1.4 +++ killed by SIGKILL +++",
        '12 1.5 unlink("b") = 0',
    )
    assert replay.of(1).changed.keys() == {"/w/a", "/w/b"}


def test_a_process_works_for_the_command_that_started_its_first_ancestor():
    replay = replay_of(
        "10 1.1 clone(child_stack=NULL, flags=SIGCHLD) = 11",
        '10 1.2 access("/.mark/E/1", F_OK) = -1 ENOENT (No such file)',
        '10 1.3 unlink("between") = 0',
        '10 1.4 access("/.mark/B/2", F_OK) = -1 ENOENT (No such file)',
        "11 1.5 clone(child_stack=NULL, flags=SIGCHLD) = 12",
        '12 1.6 unlink("a") = 0',
        '10 1.7 unlink("b") = 0',
    )
    assert replay.of(1).changed.keys() == {"/w/a"}
    assert replay.of(2).changed.keys() == {"/w/b"}
    assert [process.pid for process in replay.alive(1)] == [11, 12]
    assert replay.closed == 1


def test_a_process_id_may_come_again():
    replay = replay_of(
        "10 1.1 clone(child_stack=NULL, flags=SIGCHLD) = 11",
        "11 1.2 +++ exited with 0 +++",
        '10 1.3 access("/.mark/E/1", F_OK) = -1 ENOENT (No such file)',
        '10 1.4 access("/.mark/B/2", F_OK) = -1 ENOENT (No such file)',
        "10 1.5 clone(child_stack=NULL, flags=SIGCHLD) = 11",
        '11 1.6 unlink("a") = 0',
    )
    assert not replay.of(1).changed
    assert replay.of(2).changed.keys() == {"/w/a"}


def test_only_the_shell_and_its_own_subshells_can_mark_the_windows():
    replay = replay_of(
        "10 1.1 clone(child_stack=NULL, flags=SIGCHLD) = 11",
        "11 1.1 clone(child_stack=NULL, flags=SIGCHLD) = 12",
        '12 1.1 access("/.mark/E/1", F_OK) = -1 ENOENT (No such file)',
        '11 1.2 execve("/bin/test", ["test"], 0x1 /* 9 vars */) = 0',
        '11 1.2 access("/.mark/E/1", F_OK) = -1 ENOENT (No such file)',
        '10 1.2 access("/.mark/E/2", F_OK) = -1 ENOENT (No such file)',
        '10 1.3 unlink("a") = 0',
    )
    assert replay.of(1).changed.keys() == {"/w/a"}


def inet(call, kind, port, address, result="0"):
    where = f'sin_port=htons({port}), sin_addr=inet_addr("{address}")'
    if ":" in address:
        where = f'sin6_port=htons({port}), inet_pton(AF_INET6, "{address}", &sin6_addr)'
    return f"10 1.5 {call}(3<{kind}:[5]>, {{sa_family=AF_INET, {where}}}, 16) = {result}"


IN_USE = "-1 EADDRINUSE (Address already in use)"
IN_PROGRESS = "-1 EINPROGRESS (Operation now in progress)"


@pytest.mark.parametrize(
    ("lines", "opened", "used"),
    [
        (["10 1.5 listen(3<TCP:[127.0.0.1:60049]>, 128) = 0"], {60049}, set()),
        (["10 1.5 listen(3<TCPv6:[[::]:8080]>, 128) = 0"], {8080}, set()),
        ([inet("bind", "TCP", 80, "0.0.0.0"), "10 1.6 listen(3<TCP:[5]>, 9) = 0"], {80}, set()),
        ([inet("bind", "TCP", 80, "0.0.0.0")], set(), set()),
        ([inet("bind", "TCP", 80, "0.0.0.0", IN_USE)], set(), set()),
        ([inet("bind", "UDP", 5300, "0.0.0.0")], {5300}, set()),
        ([inet("connect", "TCP", 80, "127.0.0.1", IN_PROGRESS)], set(), {80}),
        ([inet("connect", "TCPv6", 81, "::1")], set(), {81}),
        ([inet("connect", "TCP", 443, "192.0.2.7")], set(), set()),
        ([inet("connect", "UDP", 8080, "127.0.0.1")], set(), set()),
        ([inet("connect", "TCP", 53, "127.0.0.53")], set(), set()),
        (['10 1.5 connect(3, {sa_family=AF_UNIX, sun_path="/run/x"}, 110) = 0'], set(), set()),
    ],
)
def test_ports_of_this_machine_are_opened_and_used(lines, opened, used):
    found = touched(*lines)
    assert (found.opened, found.used) == (opened, used)


def test_processes_of_other_commands_are_inspected_by_proc_and_by_signals():
    started = [
        "10 1.1 clone(child_stack=NULL, flags=SIGCHLD) = 11",
        '11 1.2 execve("/usr/sbin/nginx", ["nginx"], 0x7 /* 3 vars */) = 0',
        '10 1.3 access("/.mark/E/1", F_OK) = -1 ENOENT (No such file)',
        '10 1.4 access("/.mark/B/2", F_OK) = -1 ENOENT (No such file)',
    ]
    for line in (
        '10 1.5 openat(AT_FDCWD</w>, "/proc/11/status", O_RDONLY) = 3</proc/11/status>',
        '10 1.5 newfstatat(AT_FDCWD</w>, "/proc/11", {st_mode=S_IFDIR|0555, ...}, 0) = 0',
        "10 1.5 kill(11, 0) = 0",
    ):
        assert replay_of(*started, line).of(2).inspected == {"nginx"}
    own = '10 1.25 openat(AT_FDCWD</w>, "/proc/11/status", O_RDONLY) = 3</proc/11/status>'
    assert not replay_of(*started[:2], own).of(1).inspected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("io_uring_setup(8, {flags=0}) = 3<anon_inode:[io_uring]>", "io_uring"),
        ("ptrace(PTRACE_TRACEME) = -1 EPERM (Operation not permitted)", "nested_ptrace"),
        ("clone(child_stack=0x7, flags=CLONE_VM|CLONE_UNTRACED|SIGCHLD) = 12", "untraced_child"),
        ('chroot("/jail") = 0', "namespace_changed"),
        ("unshare(CLONE_NEWNS) = 0", "namespace_changed"),
        (
            "open_by_handle_at(3</w>, {handle_bytes=8, f_handle=0x01}, O_RDONLY) = 4",
            "open_by_handle",
        ),
        ("garbage(", "unparsed_lines"),
    ],
)
def test_what_the_trace_cannot_see_is_said(line, reason):
    assert touched(f"10 1.5 {line}").reasons == {reason}


def test_a_handle_leads_back_to_its_name():
    found = touched(
        '10 1.1 name_to_handle_at(AT_FDCWD</w>, "x", {handle_bytes=8, handle_type=1, '
        "f_handle=0xab01}, [28], 0) = 0",
        "10 1.2 open_by_handle_at(3</w>, {handle_bytes=8, handle_type=1, f_handle=0xab01}, "
        "O_RDONLY) = 4",
    )
    assert found.reads == {"/w/x"}
    assert not found.reasons


LINES = st.sampled_from(
    [
        "clone(child_stack=NULL, flags=CLONE_FS|SIGCHLD) = {other}",
        "vfork( <unfinished ...>",
        "<... vfork resumed>) = {other}",
        "+++ exited with 0 +++",
        "+++ superseded by execve in pid {other} +++",
        "--- SIGTERM {{si_signo=SIGTERM, si_pid={other}}} ---",
        'chdir("d") = 0',
        'chdir("..") = 0',
        'openat(AT_FDCWD</w>, "x", O_RDWR) = 3</w/x>',
        'rename("a", "b") = 0',
        'rename("a") = 0',
        "rename() = 0",
        "listen() = 0",
        "connect(3) = 0",
        "unshare(CLONE_FS) = 0",
        "kill({other}, 0) = 0",
        'access("/.mark/B/{other}", F_OK) = -1 ENOENT (No)',
        'access("/.mark/E/{other}", F_OK) = -1 ENOENT (No)',
        'access("/.mark/B/", F_OK) = -1 ENOENT (No)',
    ]
)


@given(st.lists(st.tuples(st.integers(9, 13), LINES, st.integers(9, 13)), max_size=40))
def test_no_order_of_calls_crashes_the_replay(lines):
    replay = replay_of(*(f"{pid} 1.5 {line.format(other=other)}" for pid, line, other in lines))
    for found in replay.touched.values():
        assert all(name.startswith("/") for name in found.changed)
