"""A recorded session: what its steps and verifier become, and what it survives."""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from rollgraph.graph import RecorderError, RecordError
from rollgraph.graph.parsing import parse_record
from rollgraph.ingest.recorder import Recorder
from rollgraph.ingest.recorder.running import LEAK_SANITIZER

from .rollouts import LEVELS, reasons, recorded, rel


def test_the_shell_keeps_its_state_from_command_to_command(rec, root):
    (root / "sub").mkdir()
    rec.run("x=5; cd sub; f() { echo in f; }; export Y=6; false")
    result = rec.run('echo $? $x "$PWD"; f; bash -c "echo $Y"')
    assert result.stdout == f"1 5 {root}/sub\nin f\n6\n"
    assert recorded(rec)["cwd"] == f"{root}/sub"


@pytest.mark.parametrize(
    ("text", "status"),
    [("true", 0), ("false", 1), ("(exit 7)", 7), ("nosuchcommand", 127), ("echo )", 2),
     ("kill -9 $BASHPID", None), ("set -e; false; true", 1), ("exit 3", 3), ("exec true", 0),
     ("break", 0), ("! true", 1), ("exec 3<&-", 0)],
)  # fmt: skip
def test_every_end_of_a_command_is_told_and_the_session_goes_on(rec, text, status):
    if text.startswith("kill"):
        status = 137
    assert rec.run(text).exit_code == status
    assert rec.run("echo on").stdout == "on\n"


def test_a_new_shell_after_one_that_ended_is_said(rec, root):
    (root / "sub").mkdir()
    rec.run("cd sub")
    rec.run("exit 3")
    assert rec.run("pwd").stdout == f"{root}/sub\n"
    rollout = rec.rollout()
    ended, restarted = (step["commands"][0] for step in rollout["steps"][1:])
    assert "shell_ended" in reasons(ended)
    assert "shell_restarted" in reasons(restarted)


@pytest.mark.parametrize(
    "text",
    ["a'b", '"', "$x `y`", "\\", "é", "a\nb", "# c", "%s\\n", "\udcff", "\x01\x1b"],
)
def test_texts_reach_the_shell_as_they_are(rec, text):
    quoted = "'" + text.replace("'", "'\\''") + "'"
    assert rec.run(f"printf %s {quoted} | od -An -tx1 | tr -d ' \\n'").stdout == (
        text.encode("utf-8", "surrogateescape").hex()
    )
    parse_record(json.dumps(rec.rollout()))


@pytest.mark.parametrize(
    "text",
    ["IFS=0123456789", "set -e", "set -u; unset PWD", "[() { return 0; }",
     "printf() { return 1; }", "cd /; unset PWD", "set -x", "set -f", "shopt -s extglob"],
)  # fmt: skip
def test_no_setting_of_the_shell_breaks_the_session(rec, root, text):
    rec.run(text, timeout_s=30)
    started = time.monotonic()
    rec.run(f"echo x > {root}/x; echo on", timeout_s=30)
    assert time.monotonic() - started < 4
    command = recorded(rec)
    assert command["stdout"] == "on\n"
    assert command["writes"] == [{"path": f"{root}/x", "lines": [[1, 1]]}]
    assert not {"shell_restarted", "shell_ended"} & set(reasons(command))


def test_a_command_gets_no_input_and_sees_neither_pipe_nor_log(rec):
    assert rec.run("cat").stdout == ""
    open_files = rec.run("ls -l /proc/self/fd | grep -o 'pipe:.*\\|/tmp/.*log'").stdout
    assert len(set(open_files.split())) <= 3  # its outputs, and ls's own pipe to grep


def test_a_list_of_arguments_runs_by_itself(rec, root):
    assert rec.run(["cat", "a.txt"]).stdout == "one\ntwo\n"
    assert rec.run(["sh", "-c", "exit 9"]).exit_code == 9
    result = rec.run(["nosuchprogram"])
    assert (result.exit_code, result.stderr) == (127, "nosuchprogram: no such program\n")
    assert reasons(recorded(rec)) == []
    if rec.tracer.level != "sweep":
        assert rel(root, recorded(rec, 0)["reads"]) == ["a.txt"]


def test_steps_hold_the_commands_that_follow_them(rec):
    rec.run("true")
    rec.step(response="<two>", tokens={"count": 9})
    rec.run("echo 1")
    rec.run("echo 2")
    rec.step(response="nothing")
    steps = rec.rollout()["steps"]
    assert [len(step["commands"]) for step in steps] == [1, 2, 0]
    assert steps[1]["tokens"] == {"count": 9}


def test_the_rollout_takes_further_fields_and_refuses_bad_ones(rec):
    rollout = rec.rollout(id="r1", group="g", reward=0.5, metadata={"seed": 3})
    assert (rollout["id"], rollout["group"], rollout["reward"]) == ("r1", "g", 0.5)
    assert rollout["metadata"]["seed"] == 3
    assert rollout["metadata"]["recorder"]["level"] == rec.tracer.level
    with pytest.raises(RecordError, match="slot"):
        rec.rollout(slot="first")


# The verifier.


@pytest.mark.parametrize(("command", "reward"), [("true", 1.0), ("exit 3", 0.0)])
def test_the_exit_status_is_the_reward(rec, command, reward):
    rec.verify(command)
    assert rec.rollout()["reward"] == reward


@pytest.mark.parametrize(
    ("name", "text", "reward"),
    [("reward.txt", "0.25", 0.25), ("reward.json", '{"reward": 0.5, "x": 1}', 0.5),
     ("reward.json", "1", 1.0)],
)  # fmt: skip
def test_a_reward_file_that_the_verifier_writes_is_the_reward(rec, name, text, reward):
    rec.verify(f"echo '{text}' > {name}; false")
    assert rec.rollout()["reward"] == reward


def test_a_reward_file_of_the_agents_is_none(rec):
    rec.run("echo 1 > reward.txt")
    rec.verify("false")
    assert rec.rollout()["reward"] == 0


@pytest.mark.parametrize("text", ["good", "NaN", "[1]", "true", ""])
def test_a_reward_file_without_a_number_gives_none_and_says_so(rec, text):
    rec.verify(f"echo '{text}' > reward.txt")
    rollout = rec.rollout()
    assert "reward" not in rollout
    assert "no_number_as_reward" in rollout["metadata"]["recorder"]["verifier"]["reasons"]


@pytest.mark.parametrize("level", LEVELS[:2])
def test_the_verifier_is_traced_and_what_its_harness_put_in_place_is_shadowed(root, level):
    with Recorder("t", work_roots=[root], level=level) as rec:
        rec.run("echo 3 > out; sleep 30 &")
        (root / "tests").mkdir()
        (root / "tests/test.sh").write_text("grep -q 3 out && test -f a.txt && echo ok > log\n")
        rec.verify("bash tests/test.sh; pgrep -x sleep > /dev/null")
        verifier = rec.rollout()["verifier"]
        assert rel(root, verifier["reads"]) == ["out", "tests/test.sh"]
        assert "a.txt" in rel(root, verifier["probes"])
        assert rel(root, verifier["writes"]) == ["log"]
        assert rel(root, verifier["shadowed"]) == ["tests/test.sh"]
        assert verifier["processes"] == ["sleep"]


def test_without_a_trace_there_is_a_reward_and_no_verifier(root):
    with Recorder("t", work_roots=[root], level="sweep") as rec:
        rec.verify("true")
        rollout = rec.rollout()
        assert "verifier" not in rollout
        assert rollout["metadata"]["recorder"]["verifier"]["reasons"] == ["not_traced"]
        assert rollout["reward"] == 1


def test_after_the_verifier_the_rollout_is_over(rec):
    rec.verify("true")
    for more in (rec.run, rec.verify):
        with pytest.raises(RecorderError, match="its verifier has run"):
            more("true")


def test_what_the_harness_changes_between_commands_is_nobodys(rec, root):
    rec.run("true")
    time.sleep(0.05)
    (root / "put").write_text("x")
    time.sleep(0.05)
    rec.run("echo a > mine")
    assert rel(root, [w["path"] for w in recorded(rec)["writes"]]) == ["mine"]
    between = rec.rollout()["metadata"]["recorder"]["changed_between_commands"]
    assert rel(root, between) == ["put"]


def test_a_file_is_compared_with_what_it_held_before_the_command(rec, root):
    rec.run("true")
    (root / "a.txt").write_text("one\ntwo\nof the harness\n")
    (root / "gone").write_text("x\n")
    rec.run("true")
    (root / "gone").unlink()
    (root / "in").write_text("x\n")
    rec.run("echo mine >> a.txt; cat in; rm in")
    command = recorded(rec)
    assert command["writes"] == [{"path": f"{root}/a.txt", "lines": [[4, 4]]}]
    assert command["deletes"] == [f"{root}/in"]
    assert "reads" not in command or command["reads"] == [f"{root}/in"]


def test_a_work_root_keeps_its_name_whichever_way_it_is_reached(root, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(root)
    with Recorder("t", work_roots=[link]) as rec:
        rec.run(f"echo x > f; cat {link}/a.txt {root}/a.txt")
        (root / "test.sh").write_text("grep -q x f\n")
        rec.verify(f"bash {link}/test.sh")
        rollout = rec.rollout()
    command = rollout["steps"][0]["commands"][0]
    assert command["writes"] == [{"path": f"{link}/f", "lines": [[1, 1]]}]
    if "reads" in command:
        assert command["reads"] == [f"{link}/a.txt"]
        assert rollout["verifier"]["shadowed"] == [f"{link}/test.sh"]
        assert rollout["verifier"]["reads"] == [f"{link}/f", f"{link}/test.sh"]


@pytest.mark.parametrize("level", LEVELS[:2])
@pytest.mark.parametrize(
    ("text", "reads"),
    [("cat ROOT//a.txt", ["a.txt"]), ("ln -s a.txt b; cat b", ["a.txt"]),
     ("ln a.txt c; cat c", ["a.txt"]), ("mkdir d; echo > d/f", []),
     ("mv old new; cat new/f", ["old/f"])],
)  # fmt: skip
def test_what_was_there_is_read_by_whatever_name(root, level, text, reads):
    (root / "old").mkdir()
    (root / "old/f").write_text("x\n")
    with Recorder("t", work_roots=[root], level=level) as rec:
        rec.run(text.replace("ROOT", f"/{root}"))
        assert rel(root, recorded(rec)["reads"]) == reads


def test_recorders_of_several_threads_do_not_mix(tmp_path):
    def run(name):
        (tmp_path / name).mkdir()
        with Recorder("t", work_roots=[tmp_path / name]) as rec:
            return [rec.run(["echo", f"{name}{at}"]).stdout for at in range(25)]

    with ThreadPoolExecutor(3) as pool:
        for name, printed in zip("abc", pool.map(run, "abc"), strict=True):
            assert printed == [f"{name}{at}\n" for at in range(25)]


def test_leak_sanitizers_failure_under_a_tracer_is_said(rec):
    rec.run(f"echo '{LEAK_SANITIZER}' >&2")
    assert reasons(recorded(rec)) == ["lsan_under_ptrace"]


def test_two_recorders_do_not_mix(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
    with (
        Recorder("t", work_roots=[tmp_path / "a"]) as first,
        Recorder("t", work_roots=[tmp_path / "b"]) as second,
    ):
        first.run("echo 1 > x")
        second.run("echo 2 > y")
        assert rel(tmp_path, [w["path"] for w in recorded(first)["writes"]]) == ["a/x"]
        assert rel(tmp_path, [w["path"] for w in recorded(second)["writes"]]) == ["b/y"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("level", LEVELS)
def test_a_plain_user_can_record(root, level):
    root.chmod(0o777)
    for parent in list(root.parents)[:-2]:
        parent.chmod(parent.stat().st_mode | 0o005)
    code = (
        "import os, sys\n"
        "from rollgraph.ingest.recorder import Recorder\n"
        "os.setgid(65534); os.setuid(65534)\n"
        f"with Recorder('t', work_roots=[sys.argv[1]], level={level!r}) as rec:\n"
        "    rec.run('cat a.txt; echo x > x')\n"
        "    command = rec.rollout()['steps'][0]['commands'][0]\n"
        "print(command['stdout'], command.get('reads'), command['writes'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=True
    )
    assert "one\ntwo" in done.stdout
    assert f"{root}/x" in done.stdout
    assert level == "sweep" or f"['{root}/a.txt']" in done.stdout


@pytest.mark.parametrize("roots", [[], ["/nowhere"], [__file__]])
def test_a_work_root_must_be_a_folder(roots):
    with pytest.raises(RecorderError, match="folder, found none"):
        Recorder("t", work_roots=roots)
