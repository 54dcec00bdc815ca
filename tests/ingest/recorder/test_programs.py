"""What is recorded of small real programs is what they did, at each level."""

import os
import shutil
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rollgraph.ingest.recorder import Recorder

from .programs import LEVELS, PROGRAMS, Command, Program, table

LONG_AGO = 978307200
"""2001-01-01, the time of every file that is set up."""
TIMEOUT_S = 60


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_the_record_is_what_the_program_did(program: Program, level: str, tmp_path, monkeypatch):
    skip_what_is_absent(program)
    root, port = tmp_path / "work", free_port()
    set_up(program, root, port)
    set_environment(monkeypatch, tmp_path)
    exit_codes = []
    with Recorder(program.name, work_roots=[root], level=level) as recorder:
        for command in program.commands:
            given = command.text
            given = filled(given, root, port) if isinstance(given, str) else list(given)
            exit_codes.append(recorder.run(given, timeout_s=TIMEOUT_S).exit_code)
            if command.is_followed_by_late_work:
                let_late_work_be_done(tmp_path)
        record = recorder.rollout()
    recorded = [command for step in record["steps"] for command in step["commands"]]
    pairs = list(zip(recorded, program.commands, strict=True))
    assert [found_of(command, truth, program, root, level) for command, truth in pairs] == [
        expected_of(truth, level) for truth in program.commands
    ]
    for (command, truth), exit_code in zip(pairs, exit_codes, strict=True):
        assert truth.exit_code in (None, exit_code), truth.text
        assert_probes(command, truth, root, level)
        assert_ports(command, truth, port, level)


def test_programs_have_names_of_their_own_and_say_what_is_missed():
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS) >= 60
    for program in PROGRAMS:
        assert program.missed.keys() <= set(LEVELS)
        for level in LEVELS:
            if any(command.seen_at(level) is not command for command in program.commands):
                assert level in program.missed, program.name


def test_the_table_has_a_row_for_each_family_and_every_miss():
    rendered = table()
    rows = [line.strip("| ").split(" | ") for line in rendered.splitlines()]
    assert {len(row) for row in rows} == {1 + len(LEVELS)}
    families = [row[0].rpartition(" (")[0] for row in rows[2:]]
    assert sorted(families) == sorted({program.family for program in PROGRAMS})
    for program in PROGRAMS:
        assert all(miss in rendered for miss in program.missed.values())


# Setting a program up.


def skip_what_is_absent(program: Program) -> None:
    for needed in program.needs:
        if not shutil.which(needed):
            pytest.skip(f"{needed} is not installed")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def set_up(program: Program, root: Path, port: int) -> None:
    root.mkdir()
    for name, content in program.files.items():
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            content = filled(content, root, port).encode()
        path.write_bytes(content)
        path.chmod(0o755 if name.endswith(".sh") else 0o644)
        os.utime(path, (LONG_AGO, LONG_AGO))
    for name, target in program.links.items():
        (root / name).symlink_to(target)


def filled(text: str, root: Path, port: int) -> str:
    return text.replace("@ROOT@", str(root)).replace("@PORT@", str(port))


def set_environment(monkeypatch, tmp_path: Path) -> None:
    """Keep the user's own settings, and wrappers of python3, from the programs."""
    for name in ("home", "tmp", "bin"):
        (tmp_path / name).mkdir()
    (tmp_path / "bin/python3").symlink_to(os.path.realpath(sys.executable))
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONPATH", "MAKEFLAGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "nobody")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "nobody@localhost")


def let_late_work_be_done(folder: Path) -> None:
    time.sleep(0.05)  # the times of files are as coarse as the kernel's clock
    (folder / "go").touch()
    deadline = time.monotonic() + TIMEOUT_S
    while not (folder / "done").exists():
        assert time.monotonic() < deadline, "the background job has not done its work"
        time.sleep(0.01)
    time.sleep(0.05)


# Comparing.


def expected_of(truth: Command, level: str) -> dict[str, Any]:
    """Return what the level can see of a command."""
    seen = truth.seen_at(level)
    expected = {
        "text": truth.text,
        "writes": {recorded_name(name): lines for name, lines in seen.writes.items()},
        "deletes": sorted(map(recorded_name, seen.deletes)),
    }
    if level != "sweep" and seen.reads is not None:
        expected["reads"] = sorted(map(recorded_name, seen.reads))
    return expected


def found_of(
    command: dict[str, Any], truth: Command, program: Program, root: Path, level: str
) -> dict[str, Any]:
    """Return what was recorded of a command, in the same form."""
    written = {write["path"]: write.get("lines") for write in command["writes"]}
    assert len(written) == len(command["writes"]), "a file is written once in a record"
    found = {
        "text": truth.text,
        "writes": {
            name: lines and [tuple(each) for each in lines]
            for path, lines in written.items()
            if not (name := below(path, root)).startswith(program.ignored)
        },
        "deletes": names_in(command["deletes"], program, root),
    }
    if level == "sweep":
        assert "reads" not in command
    elif truth.seen_at(level).reads is not None:
        found["reads"] = names_in(command["reads"], program, root)
    return found


def names_in(paths: list[str], program: Program, root: Path) -> list[str]:
    names = sorted(below(path, root) for path in paths)
    return [name for name in names if not name.startswith(program.ignored)]


def below(path: str, root: Path) -> str:
    assert path.startswith(f"{root}/"), "only what lies below the work root is recorded"
    return path.removeprefix(f"{root}/")


def recorded_name(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def assert_probes(command: dict[str, Any], truth: Command, root: Path, level: str) -> None:
    if level == "sweep":
        assert "probes" not in command
        return
    probes = set(command["probes"])
    assert {f"{root}/{recorded_name(name)}" for name in truth.probes} <= probes, truth.text
    assert probes.isdisjoint(command["reads"]), truth.text


def assert_ports(command: dict[str, Any], truth: Command, port: int, level: str) -> None:
    opened, used = command["ports"]["opened"], command["ports"]["used"]
    if level == "sweep":
        # Others on this machine may open ports too.
        assert port in opened or not truth.opens_port or truth.closes_port, truth.text
    else:
        assert opened == [port] * truth.opens_port, truth.text
        assert used == [port] * truth.uses_port, truth.text
    if truth.started is not None:
        assert command["processes"]["started"] == list(truth.started), truth.text
