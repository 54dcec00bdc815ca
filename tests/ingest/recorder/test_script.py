"""A script falls into the commands that bash itself would read one by one."""

import os
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollgraph.graph import RecorderError
from rollgraph.ingest.recorder import script
from rollgraph.ingest.recorder.script import complete_commands


def commands(text):
    return list(complete_commands(f"{line}\n" for line in text.split("\n")))


@pytest.mark.parametrize(
    "command",
    [
        "echo one; echo two",
        "cat > f <<'EOF'\na '\n# in\n$(\nEOF",
        "cat <<A <<B\n1\nA\n2\nB",
        "cat <<-EOF\n\ta\n\tEOF",
        "for i in 1 2; do\n  echo $i\ndone",
        "while read line; do echo; done <<EOF\nx\nEOF",
        "if true; then echo 'a\nb'; fi",
        "case x in\n x) echo;;\nesac",
        "f() {\n  echo hi\n}",
        "echo a \\\n  b \\\n  c",
        "echo 'x\ny'",
        'echo "x\\"\ny"',
        "ls |\n  wc -l && \\\n  true ||\n  false",
        "x=$(cat <<END\nfoo\nEND\n)",
        "( cd /\nls )",
        "[[ a == b ||\n c == d ]]",
        "echo a # a comment \\",
        "echo \\\\",
        "for x in !(a|b); do\n  echo $x\ndone",
        "true && # goes on\n\n# so\n  echo b",
        "f()\n# so\n{ echo; }",
        'cat <<E\nx E\n$(\n"\nE',
        "x=$(cat <<END\n)\nEND\n) && \\\n  echo",
        "{\n  if true; then\n    echo 'fi'\n  fi\n} > f",
        "a=(\n 1 # )\n 2\n)",
        "echo 'x' \"$y\" > z | cat && ls; ls -a >&2",
        "echo )",
        "echo 'a\fb\u2028c'",
        'echo "unexpected EOF" )',
    ],
)
def test_a_complete_command_stays_whole(command):
    assert commands(f"echo before\n{command}\necho after\n") == [
        "echo before",
        command,
        "echo after",
    ]


def test_comments_and_blank_lines_are_no_commands():
    assert commands("#!/bin/bash\n\n# one\n  \necho two # three\n# four") == ["echo two # three"]


@pytest.mark.parametrize("rest", ["echo 'open", "for i in 1; do", "cat <<EOF\nopen", "echo \\"])
def test_what_is_incomplete_at_the_end_is_a_command(rest):
    assert commands(f"echo a\n{rest}\n") == ["echo a", rest]


def test_a_command_is_told_as_soon_as_it_is_complete():
    seen = []

    def lines():
        for line in ["echo a\n", "for i in 1; do\n", "echo; done\n"]:
            seen.append(line)
            yield line

    found = complete_commands(lines())
    assert next(found) == "echo a"
    assert seen == ["echo a\n"]


def test_a_nul_character_is_refused():
    with pytest.raises(RecorderError, match="NUL"):
        commands("echo a\0b\n")


PIECES = st.lists(
    st.sampled_from(
        [
            "echo a",
            "'",
            '"',
            "\\",
            "\n",
            "#",
            "<<E",
            "E\n",
            "if true; then",
            "fi",
            "(",
            ")",
            " ",
            "$(",
        ]
    ),
    max_size=12,
)


@settings(max_examples=40)
@given(PIECES)
def test_no_line_is_lost_and_complete_commands_parse(pieces):
    text = "".join(pieces)
    found = commands(text)
    for command in found[:-1]:
        checked = subprocess.run(
            ["bash", "-n"], input=command.encode(), capture_output=True, check=False,
            env={"LC_ALL": "C", "PATH": os.environ["PATH"]},
        )  # fmt: skip
        assert b"unexpected end of file" not in checked.stderr
    kept = [line for command in found for line in command.split("\n")]
    lines = iter(text.split("\n"))
    assert all(line in lines for line in kept)


def test_bash_is_asked_only_of_lines_that_can_complete_what_is_open(monkeypatch):
    asked = []
    complaints = script.complaints
    monkeypatch.setattr(script, "complaints", lambda *a: asked.append(a) or complaints(*a))
    body = "it's a line\n" * 5_000
    found = commands(f"cat <<'EOF'\n{body}EOF\n" + "echo 'a b' \"$x\" > f\n" * 5_000)
    assert len(found) == 5_001
    assert len(asked) == 2
