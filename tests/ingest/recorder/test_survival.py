"""What a recorded session survives, and what it leaves behind: nothing."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest

from rollgraph.graph import RecorderError
from rollgraph.ingest.recorder import Recorder, append_records

from .rollouts import LEVELS, reasons, recorded, rel


def running(arguments):
    found = subprocess.run(["pgrep", "-xf", arguments], capture_output=True, check=False, text=True)
    return found.stdout.split()


def test_a_command_that_never_ends_is_killed_with_its_whole_tree(rec, root):
    sleep = f"sleep 98{LEVELS.index(rec.tracer.level)}"
    started = time.monotonic()
    result = rec.run(
        f"echo before > b; echo out; (setsid {sleep} & ) ; {sleep} | cat", timeout_s=1.5
    )
    assert result.timed_out
    assert time.monotonic() - started < 15
    assert result.stdout == "out\n"
    assert not running(sleep)
    assert rec.run("echo on").stdout == "on\n"
    command = recorded(rec, 0)
    assert command["exit_code"] == 137
    assert rel(root, [w["path"] for w in command["writes"]]) == ["b"]
    assert "timed_out" in reasons(command)


def test_what_comes_after_a_command_that_is_killed_does_not_run(rec):
    rec.run("sleep 50; rm a.txt; echo x > marker", timeout_s=0.5)
    assert rec.run("ls").stdout == "a.txt\n"


def test_a_shell_that_hangs_by_itself_is_replaced(rec):
    result = rec.run("while :; do :; done", timeout_s=0.5)
    assert result.timed_out
    assert result.exit_code == 137
    assert rec.run("echo on").stdout == "on\n"


def test_a_verifier_that_never_ends_gives_no_reward(rec):
    assert rec.verify("sleep 987", timeout_s=0.5).timed_out
    assert "reward" not in rec.rollout()


def test_head_and_tail_of_a_huge_output_are_kept(rec):
    began = time.monotonic()
    result = rec.run("echo first; head -c 1000000000 /dev/zero | tr '\\0' x; echo; echo last >&2")
    assert time.monotonic() - began < 120
    assert len(result.stdout) < 1_100_000
    assert result.stdout.startswith("first\nxxx")
    assert "bytes left out ...]" in result.stdout
    assert result.stderr == "last\n"
    left_out = recorded(rec)["metadata"]["fidelity"]["bytes_left_out"]["stdout"]
    assert left_out == 1_000_000_007 - (1 << 20)


def test_output_that_fits_is_whole(root):
    with Recorder("t", work_roots=[root], output_limit=1_000) as rec:
        for size in (0, 1, 499, 500, 501, 999, 1_000):
            assert rec.run(f"printf '%{size}s' ''" if size else "true").stdout == " " * size
        assert "[... 1 bytes left out ...]" in rec.run("printf '%1001s' ''").stdout


def test_a_thousand_processes_are_followed(rec):
    result = rec.run(
        "for i in $(seq 1000); do (echo $i >> all) & done; wait; sort -n all | uniq | wc -l"
    )
    assert result.stdout.strip() == "1000"
    (write,) = recorded(rec)["writes"]
    assert write["lines"] == [[1, 1000]]


def test_a_killed_shell_leaves_what_it_wrote(rec, root):
    rec.run("echo x > x; kill -9 $$")
    assert rel(root, [w["path"] for w in recorded(rec, 0)["writes"]]) == ["x"]
    assert rec.run("echo on").stdout == "on\n"


@pytest.mark.parametrize("level", LEVELS[:2])
def test_a_killed_tracer_is_noticed_and_its_writes_are_found(root, level):
    with Recorder("t", work_roots=[root], level=level) as rec:
        rec.run("true")
        rec.run(
            "echo x > x; tracer=$(sed -n 's/TracerPid:\\t*//p' /proc/self/status); "
            "kill -9 $tracer; echo y > y; sleep 0.1",
            timeout_s=20,
        )
        assert rec.run("echo on > on; echo on").stdout == "on\n"
        rollout = rec.rollout()
        lost = rollout["steps"][1]["commands"][0]
        assert "tracer_lost" in reasons(lost)
        assert "x" in rel(root, [w["path"] for w in lost["writes"]])
        after = rollout["steps"][2]["commands"][0]
        assert rel(root, [w["path"] for w in after["writes"]]) == ["on"]


def test_closing_ends_what_commands_left_running(rec):
    sleep = f"sleep 97{LEVELS.index(rec.tracer.level)}"
    rec.run(f"{sleep} & setsid nohup {sleep} > /dev/null 2>&1 &")
    rec.close()
    assert not running(sleep)


def test_many_recorders_leave_no_open_files(root):
    def count():
        return len(list(Path("/proc/self/fd").iterdir()))

    with Recorder("t", work_roots=[root]) as rec:
        rec.run("true")
    before = count()
    for _ in range(5):
        with Recorder("t", work_roots=[root]) as rec:
            rec.run("exit 1")
            rec.run("true")
            rec.verify("true")
    assert count() <= before


@pytest.fixture
def full_disk(tmp_path):
    """Mount a disk of 64 KiB, and fill it."""
    folder = tmp_path / "full"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    (folder / "old").write_text("one\n")
    with suppress(OSError), open(folder / "filler", "wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_stops_no_session(full_disk, root, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(full_disk))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with Recorder("t", work_roots=[full_disk, root]) as rec:
        assert rec.run("for i in $(seq 2000); do : < old; done; echo on").stdout == "on\n"
        assert rec.run("echo more > new").exit_code == 1
        rec.run(f"cat old > {root}/copy")
        rollout = rec.rollout()
    command = rollout["steps"][2]["commands"][0]
    assert command["writes"] == [{"path": f"{root}/copy", "lines": [[1, 1]]}]
    assert "reads" not in command or command["reads"] == [f"{full_disk}/old"]


def test_a_rollout_file_on_a_full_disk_stays_as_it_was(full_disk):
    with pytest.raises(RecorderError, match="No space left"):
        append_records(full_disk / "old", [{"type": "task", "id": "x" * 100_000}])
    assert (full_disk / "old").read_text() == "one\n"


# Interruptions.


@pytest.fixture
def ctrl_c_after():
    """Interrupt this thread after so many seconds, as Ctrl-C does."""
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)


@pytest.fixture(autouse=True)
def _alarm_is_an_interrupt():
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    yield
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("command", ["text", "arguments", "verifier"])
def test_what_was_recorded_outlives_an_interruption(rec, root, temporary, ctrl_c_after, command):
    sleep = f"sleep 96{LEVELS.index(rec.tracer.level)}"
    text = f"echo out; echo x > x; {sleep} & {sleep}"
    run = {
        "text": lambda: rec.run(text),
        "arguments": lambda: rec.run(["bash", "-c", text]),
        "verifier": lambda: rec.verify(text),
    }[command]
    rec.run("echo a > a")
    ctrl_c_after(1.5)
    with pytest.raises(KeyboardInterrupt), rec:
        run()
    assert not running(sleep)
    assert not list(temporary.iterdir())
    rollout = rec.rollout()
    first = rollout["steps"][0]["commands"][0]
    assert first["writes"] == [{"path": f"{root}/a", "lines": [[1, 1]]}]
    if command == "verifier":
        assert "reward" not in rollout
        doubts = rollout["metadata"]["recorder"]["verifier"]["reasons"]
        assert "interrupted" in doubts
        return
    (last,) = rollout["steps"][1]["commands"]
    assert last["writes"] == [{"path": f"{root}/x", "lines": [[1, 1]]}]
    assert last["stdout"] == "out\n"
    assert last["exit_code"] == 137
    assert "interrupted" in reasons(last)


def test_a_session_can_go_on_after_an_interruption(rec, ctrl_c_after):
    rec.run("mkdir sub; cd sub")
    ctrl_c_after(0.7)
    with pytest.raises(KeyboardInterrupt):
        rec.run("echo half > half; sleep 60")
    assert rec.run("cat half; basename $PWD").stdout == "half\nsub\n"
    assert "shell_restarted" in reasons(recorded(rec))


def test_an_error_of_the_harness_ends_what_its_commands_left_running(rec, root):
    sleep = f"sleep 95{LEVELS.index(rec.tracer.level)}"
    rec.run(f"echo x > x; {sleep} &")
    with pytest.raises(ZeroDivisionError), rec:
        raise ZeroDivisionError
    assert not running(sleep)
    command = recorded(rec)
    assert command["writes"] == [{"path": f"{root}/x", "lines": [[1, 1]]}]
    assert "interrupted" not in reasons(command)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_recording_on_the_command_line_keeps_its_record_when_it_is_ended(root, tmp_path, number):
    (tmp_path / "script").write_text("echo x > x\necho y > y; echo ready > ready; sleep 940\n")
    arguments = ["record", "--task", "t", "--work-root", root, "--out", tmp_path / "out.jsonl"]
    process = subprocess.Popen(
        [sys.executable, "-c", "from rollgraph.cli import main; main()", *arguments,
         "--script", tmp_path / "script"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {"TMPDIR": str(tmp_path)},
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not (root / "ready").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(60) != 0
    process.communicate()
    assert not running("sleep 940")
    assert not list(tmp_path.glob("rollgraph-*"))
    (rollout,) = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    commands = [step["commands"][0] for step in rollout["steps"]]
    assert [rel(root, [w["path"] for w in command["writes"]]) for command in commands] == [
        ["x"], ["ready", "y"],
    ]  # fmt: skip
    assert "interrupted" in reasons(commands[1])
