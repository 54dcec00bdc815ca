"""What a recorded shell sees of being recorded: it prints what a plain bash prints."""

import os
import subprocess

import pytest

from rollgraph.ingest.recorder import Recorder

from .rollouts import LEVELS

TOLD = "sed 's/^bash: line [0-9]*:/bash:/'"
PROBES = [
    ["env | grep -v '^_=' | sort"],
    ["compgen -v | grep -iE 'rollgraph|prompt|^PS0'", "declare -F", "alias"],
    ["trap -p", "trap '' PIPE; trap"],
    ["trap 'echo debug' DEBUG", "echo a", "x=1; echo b", "for i in 1; do echo c; done"],
    ["trap 'echo err' ERR", "false", "true", "false | true", "echo on"],
    ["trap 'echo return' RETURN", "f() { :; }; f"],
    ["set -x", "echo a", "false", "echo b"],
    ["PS4='> '; set -x; echo a"],
    ["false", "echo $?", "! true", "echo $? ${PIPESTATUS[@]}", "(exit 7)", "echo $?"],
    ["true | false | (exit 4)", "echo ${PIPESTATUS[@]} $?", "true", "echo ${PIPESTATUS[@]} $?"],
    ["set -o pipefail; false | true", "echo $? ${PIPESTATUS[@]}", "! false | true", "echo $?"],
    ["false | true", "echo ${PIPESTATUS[@]}", "! (exit 5)", "echo $? ${PIPESTATUS[@]}"],
    ["echo a b", "echo $_"],
    ["set -e; echo on", "false || true", "if false; then :; fi", "echo still on"],
    ["set -u; echo $-", "set -f; echo $-", "shopt | sort", "set -o"],
    ["sleep 0.2 & jobs | wc -l", "wait", "jobs", "echo $?"],
    ["sleep 0.05 &", "sleep 0.2; echo on"],
    ["sleep 5 & kill %1; wait %1; echo $?"],
    ["exec 5> f; echo in >&5", "exec 5>&-; cat f", "exec > g", "echo out", "exec > /dev/stderr"],
    ["ls /proc/self/fd | wc -l", "{ ls -l /proc/self/fd/3; } 3< /dev/null | grep -c null"],
    ["cat; read x; echo \"$? <$x>\""],
    ["cd /; pwd", "echo $OLDPWD | grep -c /", "pushd /tmp; popd", "dirs"],
    ["echo $0 $# $SHLVL $BASH_SUBSHELL $BASH_COMMAND", "set -- a b", "echo $@ $#"],
    ["ps -o comm= -p $$", "umask; ulimit -a", "history", "caller; echo $?"],
    ["cat <<'EOF'\n}\nEOF", "cat <<EOF > f\n$((1 + 1))\nEOF\ncat f", "echo a # comment"],
    ["f() { return 4; }", "f", "echo $?", "declare -f f"],
    [f"(nosuch; cd /nope; ls /nope) 2>&1 | {TOLD}"],
    ["shopt -s extglob", "echo !(f) | wc -w", "[[ ab == a?(b) ]]; echo $?"],
    ["shopt -s expand_aliases; alias hi='echo hi'", "hi"],
    ["coproc cat", "echo to >&${COPROC[1]}; read -u ${COPROC[0]} x; echo $x"],
    ["break", "continue; echo $?"],
    ["IFS=1", "false", "echo $?"],
]  # fmt: skip


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("commands", PROBES, ids=lambda commands: commands[0][:20])
def test_a_recorded_shell_prints_what_a_plain_one_prints(tmp_path, commands, level):
    for name in ("plain", "recorded"):
        (tmp_path / name).mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C"}
    plain = subprocess.run(
        ["bash"], input="\n".join(commands) + "\n", capture_output=True, text=True, check=False,
        env=env, cwd=tmp_path / "plain", start_new_session=True,
    )  # fmt: skip
    with Recorder("t", work_roots=[tmp_path / "recorded"], env=env, level=level) as recorder:
        results = [recorder.run(command, timeout_s=30) for command in commands]
    printed = "".join(result.stdout for result in results)
    said = "".join(result.stderr for result in results)
    assert _placed(printed, tmp_path / "recorded") == _placed(plain.stdout, tmp_path / "plain")
    assert _unnumbered(said) == _unnumbered(plain.stderr)


def _placed(text, folder):
    lines = text.replace(str(folder), "FOLDER").splitlines()
    return [line for line in lines if not line.startswith("ROLLGRAPH_SESSION")]


def _unnumbered(text):
    """Leave out line numbers: a session's shell counts a few lines of its own."""
    return [line.partition(": line ")[2].partition(": ")[2] or line for line in text.splitlines()]
