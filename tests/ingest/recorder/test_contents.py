"""The files of the work roots: what changed since the last look, whoever changed it and however."""

import os

import pytest

from rollgraph.ingest.recorder import contents as module
from rollgraph.ingest.recorder.contents import Contents


@pytest.fixture
def root(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/b.bin").write_bytes(b"\0\1")
    os.symlink("a.txt", tmp_path / "link")
    return tmp_path


def changes(files, root, touched=(), *, sweep=True):
    found = files.refresh([str(root / name) for name in touched], sweep=sweep)
    return {
        os.path.relpath(path, root): "deleted" if c.is_deleted else c.lines or c.reason
        for path, c in found.items()
    }


def test_nothing_changed_is_nothing(root):
    assert changes(Contents([str(root)]), root, ["a.txt", "link", "sub/b.bin", "nobody"]) == {}


def test_a_sweep_finds_every_change(root):
    files = Contents([str(root)])
    (root / "a.txt").write_bytes(b"one\n2\ntwo\n")
    (root / "sub/b.bin").write_bytes(b"\0\2")
    (root / "new").write_bytes(b"x")
    (root / "empty").touch()
    os.unlink(root / "link")
    os.symlink("sub", root / "link")
    (root / "__pycache__").mkdir()
    (root / "__pycache__/m.pyc").write_bytes(b"x")
    assert changes(files, root) == {
        "a.txt": [(2, 2)],
        "sub/b.bin": "not_text",
        "new": [(1, 1)],
        "empty": "empty",
        "link": "symbolic_link",
    }
    assert changes(files, root) == {}
    os.unlink(root / "new")
    (root / "a.txt").write_bytes(b"one\n")
    assert changes(files, root) == {"new": "deleted", "a.txt": "only_deletions"}


def test_without_a_sweep_only_what_was_touched_is_looked_at(root):
    files = Contents([str(root)])
    (root / "a.txt").write_bytes(b"1\n")
    (root / "new").write_bytes(b"x")
    assert changes(files, root, ["new"], sweep=False) == {"new": [(1, 1)]}
    assert changes(files, root, ["a.txt"], sweep=False) == {"a.txt": [(1, 1)]}


def test_what_was_touched_is_read_again_whatever_its_times_say(root):
    files = Contents([str(root)])
    status = os.stat(root / "a.txt")
    (root / "a.txt").write_bytes(b"ONE\ntwo\n")
    os.utime(root / "a.txt", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert changes(files, root, ["a.txt"], sweep=False) == {"a.txt": [(1, 1)]}


def test_the_same_content_again_is_no_change(root):
    files = Contents([str(root)])
    (root / "a.txt").write_bytes(b"one\ntwo\n")
    (root / "sub/b.bin").write_bytes(b"\0\1")
    os.utime(root / "a.txt")
    assert changes(files, root, ["a.txt", "sub/b.bin"]) == {}


def test_a_file_may_become_a_link_and_text_bytes(root):
    files = Contents([str(root)])
    os.unlink(root / "a.txt")
    os.symlink("sub/b.bin", root / "a.txt")
    (root / "sub/b.bin").write_bytes(b"text\n")
    assert changes(files, root) == {"a.txt": "symbolic_link", "sub/b.bin": "not_text"}
    os.unlink(root / "a.txt")
    (root / "a.txt").write_bytes(b"x\n")
    (root / "sub/b.bin").write_bytes(b"text\nmore\n")
    assert changes(files, root) == {"a.txt": "symbolic_link", "sub/b.bin": [(2, 2)]}


def test_a_folder_in_place_of_a_file_deletes_it(root):
    files = Contents([str(root)])
    os.unlink(root / "a.txt")
    (root / "a.txt").mkdir()
    (root / "a.txt/in").write_bytes(b"x")
    assert changes(files, root) == {"a.txt": "deleted", "a.txt/in": [(1, 1)]}


@pytest.mark.parametrize(
    ("cap", "reason"), [("MAX_FILE", "oversized"), ("MAX_TOTAL", "over_the_cap")]
)
def test_over_a_cap_files_are_followed_whole(root, monkeypatch, cap, reason):
    monkeypatch.setattr(module, cap, 4)
    files = Contents([str(root)])
    (root / "a.txt").write_bytes(b"one\ntwo\nthree\n")
    assert changes(files, root) == {"a.txt": reason}


def test_names_of_any_bytes_are_followed(root):
    files = Contents([str(root)])
    name = os.path.join(os.fsencode(root), b"\xff\n'\"<>")
    with open(name, "wb") as file:
        file.write(b"x\n")
    assert list(files.refresh([], sweep=True)) == [os.fsdecode(name)]


def test_pipes_and_sockets_are_not_followed(root):
    files = Contents([str(root)])
    os.mkfifo(root / "pipe")
    assert changes(files, root, ["pipe"]) == {}


def test_a_scripts_interpreter_is_known(root):
    (root / "s").write_bytes(b"#! /opt/tool -x\nbody\n")
    files = Contents([str(root)])
    assert files.interpreter(str(root / "s")) == "/opt/tool"
    assert files.interpreter(str(root / "a.txt")) is None
