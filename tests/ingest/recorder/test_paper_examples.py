"""The paper's examples as real sessions: recorded, ingested and credited, they give its numbers."""

import socket

import pytest

from rollgraph.ingest import ingest
from rollgraph.ingest.recorder import Recorder
from rollgraph.queries import credit

LEVELS = ["strace+seccomp", "strace"]


@pytest.fixture(params=LEVELS)
def credited(request, store, tmp_path):
    """Record commands and a verifier in a work root, and return the rollout's credit."""
    root = tmp_path / "app"
    root.mkdir()

    def run(commands, verifier, files=None, description=""):
        for name, text in (files or {}).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text.replace("ROOT", str(root)))
        with Recorder("t", work_roots=[root], level=request.param) as rec:
            for command in commands:
                rec.step(tokens={"count": 7})
                assert rec.run(command.replace("ROOT", str(root)), timeout_s=60).exit_code == 0
            assert rec.verify(verifier.replace("ROOT", str(root)), timeout_s=60).exit_code == 0
            record = rec.rollout(id="r")
        ingest(store, [{"type": "task", "id": "t", "description": description}, record])
        (found,) = credit(store, beta=0.5)
        return found

    return run


def credits_of(found):
    return [command.credit for command in found.commands]


def test_f1_a_supporting_read(credited):
    found = credited(
        [
            "python3 <<'EOF'\nprint(sum(int(line) for line in open('dataset.txt')))\nEOF",
            'echo "63841" > ROOT/answer.txt',
            "cat ROOT/answer.txt",
        ],
        "grep -q 63841 ROOT/answer.txt",
        {"dataset.txt": "63000\n841\n"},
    )
    assert credits_of(found) == [0.5, 1, 0]
    assert [command.kind for command in found.commands] == ["read", "write", "read"]


def test_f2_an_indirect_write(credited, tmp_path):
    lines = "\n".join(f"x{number} = {number}" for number in range(96))
    script = (
        f"{lines}\nfor name in 'abc':\n    with open(name + '.csv', 'w') as file:\n"
        "        file.write('node,value\\n')\n        for number in range(9):\n"
        "            print(name, number, sep=',', file=file)\n# done"
    )
    assert len(script.split("\n")) == 102
    found = credited(
        [
            f"mkdir -p {tmp_path}/lib && echo installed > {tmp_path}/lib/bnlearn",
            f"cat > modify_bn.py <<'EOF'\n{script}\nEOF",
            "python3 modify_bn.py",
        ],
        "cat a.csv b.csv c.csv | grep -q c,8",
    )
    assert credits_of(found) == [0, 1, 1]
    install, write, execute = found.commands
    assert install.kind == "read"
    assert (write.records, write.direct, write.indirect) == (102, 0, 102)
    assert (execute.records, execute.direct) == (30, 30)


def test_f3_overwritten_and_irrelevant_commands(credited):
    event = "BEGIN:VEVENT\\nSUMMARY:Meeting\\n"
    final = "BEGIN:VEVENT\nSUMMARY:Meeting\nDTSTART:20260105\nEND:VEVENT"
    found = credited(
        [
            "cat <<'EOF' > ROOT/meeting.ics\nBEGIN:VEVENT\nSUMMARY:Draft\nEND:VEVENT\nEOF",
            "cat ROOT/meeting.ics",
            "rm ROOT/meeting.ics",
            f"printf '{event}' > ROOT/meeting.ics",
            "cat ROOT/meeting.ics",
            f"cat <<'EOF' > ROOT/meeting.ics\n{final}\nEOF",
        ],
        "grep -q DTSTART ROOT/meeting.ics",
    )
    assert credits_of(found) == [0, 0, 0, 1, 0, 1]


SERVER = """
import re, socketserver, sys
port = int(re.search(r"listen (\\d+)", open(sys.argv[1]).read())[1])
socketserver.TCPServer(("127.0.0.1", port), socketserver.BaseRequestHandler).serve_forever()
"""


def test_figure_2_a_configuration_is_changed_and_the_server_reloaded(credited, tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    conf = "ROOT/etc/nginx/nginx.conf"
    answers = f"(: < /dev/tcp/127.0.0.1/{port})"
    until_it_answers = f"until {answers} 2> /dev/null; do sleep 0.1; done"
    nginx = tmp_path / "nginx.py"
    nginx.write_text(SERVER)
    found = credited(
        [
            "ls etc/nginx/",
            "cat etc/nginx/nginx.conf",
            f"sed -i 's/listen 80;/listen {port};/' etc/nginx/nginx.conf",
            "cp etc/nginx/nginx.conf bak",
            f"python3 {nginx} {conf} > /dev/null 2>&1 &\n{until_it_answers}",
            f"touch {tmp_path}/installed",
        ],
        f"grep -q 'listen {port}' {conf} && {answers}",
        {"etc/nginx/nginx.conf": f"# {conf}\nuser www;\nlisten 80;\n"},
    )
    assert credits_of(found) == [0, 1, 1, 0, 1, 0]
    assert [step.factor for step in found.steps] == [0, 2, 2, 0, 2, 0]
    assert [step.weight for step in found.steps] == [0, 2, 2, 0, 2, 0]


def test_figure_3_lines_that_a_later_command_takes_over(credited):
    found = credited(
        [
            "printf 'host: a\\nname: b\\nport: 1\\nuser: 2\\n' > config.yaml",
            "sed -i -e 's/port: 1/port: 8/' -e 's/user: 2/user: 9/' config.yaml",
            "awk '/port|host/' config.yaml > app.conf",
        ],
        "grep -q 'port: 8' app.conf",
        {"app.conf": "old\n"},
    )
    assert credits_of(found) == [0.5, 1, 1]
