"""A person's own bash: a real terminal, real keys, and a step for each command."""

import json
import os
import pty
import select
import sys
import time

import pytest

LEVELS = ["strace+seccomp", "sweep"]
CODE = """
import json, sys
from rollgraph.ingest.recorder import Recorder
with Recorder("t", work_roots=[sys.argv[1]], level=sys.argv[2]) as recorder:
    recorder.terminal()
    print(json.dumps(recorder.rollout()["steps"]), file=open(sys.argv[3], "w"))
"""


@pytest.fixture(params=LEVELS)
def typed(request, tmp_path):
    """Type lines into a recorded bash: what its terminal showed, and the steps."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("one\ntwo\n")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".bashrc").write_text("PS1='PROMPT> '\nPROMPT_COMMAND='seen=1'\n")

    def run(*lines):
        to = tmp_path / "steps.json"
        pid, terminal = pty.fork()
        if not pid:
            os.environ["HOME"] = str(home)
            arguments = [sys.executable, "-c", CODE, str(root), request.param, str(to)]
            os.execv(sys.executable, arguments)
        shown = read_until(terminal, b"PROMPT> ")
        for line in lines:
            os.write(terminal, line.encode() + b"\r")
            shown += read_until(terminal, b"PROMPT> ")
        os.write(terminal, b"exit\r")
        shown += read_until(terminal, None)
        os.close(terminal)
        os.waitpid(pid, 0)
        return shown.decode(), json.loads(to.read_text())

    run.level = request.param
    run.root = root
    return run


def read_until(terminal, end):
    shown = b""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not (end and shown.endswith(end)):
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                data = os.read(terminal, 4096)
            except OSError:
                break
            shown += data
            if not data:
                break
    assert end is None or shown.endswith(end), shown
    return shown


def test_what_is_typed_is_run_shown_and_recorded(typed):
    shown, steps = typed(
        "cat a.txt; test -t 0 && echo a terminal",
        "sed -i s/two/2/ a.txt",
        "for i in 1 2; do\r echo $i >> new\rdone",
        "false",
        " echo $seen $?",
    )
    commands = [step["commands"][0] for step in steps]
    assert [command["text"] for command in commands] == [
        "cat a.txt; test -t 0 && echo a terminal",
        "sed -i s/two/2/ a.txt",
        "for i in 1 2; do\n echo $i >> new\ndone",
        "false",
        "echo $seen $?",
        "exit",
    ]
    assert commands[0]["stdout"] == "one\r\ntwo\r\na terminal\r\n"
    assert "one\r\ntwo" in shown
    assert "6973" not in shown
    assert [command.get("exit_code") for command in commands] == [0, 0, 0, 1, 0, 0]
    assert commands[4]["stdout"] == "1 1\r\n"
    assert commands[1]["writes"] == [{"path": f"{typed.root}/a.txt", "lines": [[2, 2]]}]
    assert commands[2]["writes"] == [{"path": f"{typed.root}/new", "lines": [[1, 2]]}]
    if typed.level != "sweep":
        assert commands[0]["reads"] == [f"{typed.root}/a.txt"]
        assert commands[1]["reads"] == [f"{typed.root}/a.txt"]
        assert commands[3]["reads"] == []


def test_an_empty_line_and_an_interrupted_one_are_no_commands(typed):
    _, steps = typed("", "echo half\x03", "sleep 30 & echo on; kill %1")
    assert [step["action"] for step in steps] == ["sleep 30 & echo on; kill %1", "exit"]
    assert "on\r\n" in steps[0]["commands"][0]["stdout"]
