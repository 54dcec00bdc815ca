"""The command line, as a person and as another program use it."""

import io
import json
import subprocess
import sys
from importlib.metadata import version

import pandas as pd
import pytest

from rollgraph import cli
from rollgraph.graph import EDGES, NODES
from rollgraph.ingest.demo import DEMO_FILE
from rollgraph.ingest.recorder import best_tracer
from rollgraph.ingest.recorder.tracer import tracer_at
from rollgraph.queries import names


@pytest.fixture
def rollgraph(store_url, log_folder, monkeypatch, capfdbinary):
    """Run the command on the store under test: (status, stdout, stderr)."""
    monkeypatch.setenv("ROLLGRAPH_STORE", store_url)
    monkeypatch.setenv("COLUMNS", "200")
    log = ["--log", str(log_folder)] if log_folder else []

    def run(name, *arguments, text=True):
        no_store = ("queries", "schema", "demo", "play", "record", "doctor", "--version")
        with_log = [] if name in no_store or "--store" in arguments else log
        monkeypatch.setattr(sys, "argv", ["rollgraph", name, *map(str, arguments), *with_log])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return ended.value.code or 0, out.decode() if text else out, err.decode()

    return run


@pytest.fixture
def demo_store(rollgraph):
    assert rollgraph("ingest", DEMO_FILE)[0] == 0
    return rollgraph


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


def test_ingest_says_what_it_did(rollgraph):
    assert rollgraph("ingest", DEMO_FILE) == (
        0,
        "",
        f"{DEMO_FILE}: rollouts 12 new, 0 replaced, 0 unchanged, 0 lines refused; 3 tasks\n",
    )
    assert "0 new, 0 replaced, 12 unchanged" in rollgraph("ingest", DEMO_FILE)[2]


def test_the_status_says_whether_lines_or_files_were_refused(rollgraph, tmp_path):
    file, rejects = tmp_path / "a.jsonl", tmp_path / "rejects"
    file.write_text('{"type": "rollout", "id": "r", "task": "t"}\nnonsense\n')
    status, _, said = rollgraph("ingest", file, "--rejects", rejects)
    assert status == 1
    assert f"{file}:2: not JSON" in said
    assert rejects.read_text() == "nonsense\n"
    status, _, said = rollgraph("ingest", tmp_path / "absent", file, tmp_path)
    assert status == 2
    assert "absent: cannot be read" in said
    assert "is a folder" in said
    assert "1 unchanged" in said
    assert rollgraph("ingest", file, "--strict")[0] == 2


def test_credit_prints_one_object_a_rollout(demo_store):
    status, printed, _ = demo_store(
        "credit", "--method", "depgpo", "--group", "fix-config", "--json"
    )
    found = objects(printed)
    assert status == 0
    assert [row["group"] for row in found] == ["fix-config"] * 4
    assert list(found[0]) == [
        "rollout",
        "group",
        "method",
        "advantage",
        "fallback",
        "commands",
        "steps",
    ]
    assert list(found[0]["commands"][0]) == [
        "step", "command", "kind", "credit", "records", "direct", "indirect",
    ]  # fmt: skip
    assert list(found[0]["steps"][0]) == ["step", "credit", "factor", "weight", "advantage"]


def test_parameters_are_set_by_name(demo_store):
    arguments = ("--group", "fix-config", "--json", "--set")
    half, quarter = (
        objects(demo_store("credit", *arguments, f"beta={beta}", "--set", "variant=binary")[1])
        for beta in ("0.5", "0.25")
    )
    assert half[0]["commands"][1]["credit"] == 0.5
    assert quarter[0]["commands"][1]["credit"] == 0.25
    status, printed, said = demo_store("credit", "--set", "gamma=1")
    assert (status, printed) == (2, "")
    assert "unknown parameter gamma; it takes: mode, ddof, eps, beta" in said
    assert len(said.splitlines()) == 1
    assert "expected key=value" in demo_store("credit", "--set", "beta")[2]


def test_credits_for_people_show_commands_and_worth(demo_store):
    status, printed, _ = demo_store("credit", "--group", "fix-config")
    assert status == 0
    assert "fix-config/reads-then-edits  reward 1  advantage 1" in printed
    assert "fallback: delta <= 1e-09" in printed
    assert "sed -i 's/^listen 80$/listen 8443/' gateway.conf" in printed


def test_credits_can_be_kept_and_shown_again(demo_store):
    _, printed, said = demo_store("credit", "--json", "--save", "--set", "beta=0.25")
    run = said.split()[-1]
    assert demo_store("credit", "--run", run, "--json")[1] == printed
    (row,) = objects(demo_store("query", "credit_runs", "--json")[1])
    assert row["run"] == run


def test_explain_shows_the_evidence(demo_store):
    status, printed, _ = demo_store("explain", "fix-config/reads-then-edits/1/0", "--json")
    assert status == 0
    assert objects(printed) == [
        {
            "why": "supports",
            "evidence": "number 8443, port 8443",
            "path": "1/0 → 3/0",
            "records": None,
            "distance": 1,
            "credit": 0.5,
        }
    ]
    assert "1/0 → 3/0" in demo_store("explain", "fix-config/reads-then-edits/1/0")[1]


def test_states_are_read_as_asked_credited_and_explained(rollgraph, tmp_path):
    seen = ["a room", "a desk", "You are facing the desk.", "done"]
    steps = [
        {"observation": text, "action": action}
        for text, action in zip(seen, ["go to desk", "look", "take it"], strict=False)
    ]
    record = {
        "type": "rollout", "id": "r", "task": "t", "steps": steps, "success": True, "reward": 1,
        "final_state": {"observation": "done"},
    }  # fmt: skip
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(record))
    values = {}
    for option in ([], ["--keep-noise"]):
        rollgraph("ingest", file, "--states", "alfworld", *option)
        (found,) = objects(rollgraph("credit", "--method", "rewardflow", "--json")[1])
        values[bool(option)] = [step["credit"] for step in found["steps"]]
    assert values[False] == pytest.approx([0.09, 0, 0.1]), "looking is no way to go"
    assert values[True] == pytest.approx([0.081, 0.09, 0.1])
    assert "take it" in rollgraph("credit", "--method", "rewardflow")[1]
    _, printed, _ = rollgraph("explain", "r/0", "--method", "rewardflow", "--json")
    assert objects(printed)[0]["path"] == "r/0 → r/1 → r/2 → success"
    status, _, complaint = rollgraph("ingest", file, "--states", "alfword")
    assert status == 2
    assert "expected one of text, raw, alfworld" in complaint


def test_queries_are_answered_in_every_format(demo_store, tmp_path):
    arguments = ("query", "rollouts", "-p", 'groups=["fix-config"]')
    rows = objects(demo_store(*arguments, "--json")[1])
    assert [row["slot"] for row in rows] == [0, 1, 2, 3]
    csv = pd.read_csv(io.StringIO(demo_store(*arguments, "--csv")[1]))
    parquet = pd.read_parquet(io.BytesIO(demo_store(*arguments, "--parquet", text=False)[1]))
    demo_store(*arguments, "--parquet", "--out", tmp_path / "r.parquet")
    for frame in (csv, parquet, pd.read_parquet(tmp_path / "r.parquet")):
        assert list(frame["rollout"]) == [row["rollout"] for row in rows]
    demo_store(*arguments, "--out", tmp_path / "r.jsonl")
    assert objects((tmp_path / "r.jsonl").read_text()) == rows
    assert "fix-config/keeps-notes" in demo_store(*arguments)[1]


def test_a_query_of_ones_own_comes_from_a_file_and_cannot_write(demo_store, tmp_path):
    own = tmp_path / "own.cypher"
    own.write_text("// mine\nMATCH (r:Rollout) WHERE r.reward = $reward RETURN count(*) AS n")
    assert objects(demo_store("query", own, "-p", "reward=1.0", "--json")[1]) == [{"n": 6}]
    assert "the query takes $reward" in demo_store("query", own)[2]
    own.write_text("MATCH (r:Rollout) DETACH DELETE r")
    assert demo_store("query", own)[0] == 2
    assert "Parser" in demo_store("query", own)[2] or "rite" in demo_store("query", own)[2]
    assert len(objects(demo_store("query", "rollouts", "--json")[1])) == 12
    assert "cannot be read" in demo_store("query", tmp_path / "absent.cypher")[2]


def test_queries_are_listed_with_what_they_answer(rollgraph):
    status, printed, _ = rollgraph("queries")
    assert status == 0
    assert all(name in printed for name in names())


def test_stats_show_traces_and_groups(demo_store):
    (found,) = objects(demo_store("stats", "--json")[1])
    assert found["trace_statistics"]["rollouts"] == 12
    assert [row["group"] for row in found["group_health"]] == [
        "build-report", "fix-config", "start-server",
    ]  # fmt: skip
    assert "commands_per_rollout" in demo_store("stats", "--group", "fix-config")[1]


def test_the_schema_is_printed_in_each_form(rollgraph):
    printed = rollgraph("schema")[1]
    assert all(node.label in printed for node in NODES)
    assert all(edge.type in printed for edge in EDGES)
    assert "CREATE NODE TABLE `Rollout`" in rollgraph("schema", "--engine", "embedded")[1]
    assert "CREATE CONSTRAINT" in rollgraph("schema", "--engine", "neo4j")[1]
    assert "$defs" in json.loads(rollgraph("schema", "--json-schema")[1])
    assert "expected embedded or neo4j, found x" in rollgraph("schema", "--engine", "x")[2]


def test_games_are_played_into_a_file_that_can_be_ingested(rollgraph, tmp_path):
    out = tmp_path / "sokoban.jsonl"
    status, printed, said = rollgraph("play", "sokoban", "--tasks", "1", "--out", out)
    assert (status, printed) == (0, "")
    assert "6 rollouts of 1 tasks, 110 steps, 4 with success" in said
    assert "6 new" in rollgraph("ingest", out, "--states", "sokoban")[2]
    status, _, said = rollgraph("play", "chess", "--out", tmp_path / "no.jsonl")
    assert status == 2
    assert "expected one of sokoban" in said
    assert not (tmp_path / "no.jsonl").exists()


def test_export_gives_the_records_back(demo_store, tmp_path):
    status, printed, _ = demo_store("export")
    assert status == 0
    assert sorted(printed.splitlines()) == sorted(DEMO_FILE.read_text().splitlines())
    demo_store("export", "--out", tmp_path / "all.jsonl")
    assert (tmp_path / "all.jsonl").read_text() == printed


def test_rebuild_makes_the_same_credits(demo_store):
    before = demo_store("credit", "--json")[1]
    status, _, said = demo_store("rebuild")
    assert status == 0
    assert "12 rollouts are in the graph again" in said
    assert demo_store("credit", "--json")[1] == before


def test_a_store_that_is_not_there_says_what_to_do(rollgraph, tmp_path):
    status, printed, said = rollgraph("credit", "--store", tmp_path / "nowhere")
    assert (status, printed) == (2, "")
    assert "rollgraph ingest FILE" in said
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize(
    ("level", "said"), [(None, "They are really run now"), ("sweep", "a recording of a run")]
)
def test_the_demo_is_live_where_commands_can_be_traced(rollgraph, monkeypatch, level, said):
    if level:
        monkeypatch.setattr(cli.demo, "best_tracer", lambda: tracer_at(level))
    elif best_tracer().level == "sweep":
        pytest.skip("commands cannot be traced on this machine")
    status, printed, _ = rollgraph("demo")
    assert status == 0
    assert said in " ".join(printed.split())
    assert printed.count("advantage 1") == 6
    assert "why fix-config/reads-then-edits/1/0" in printed


def test_a_traceback_is_shown_only_on_demand(tmp_path):
    command = [sys.executable, "-c", "from rollgraph.cli import main; main()"]
    arguments = ["credit", "--store", tmp_path / "nowhere"]
    quiet = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    loud = subprocess.run(
        [*command, "--debug", *arguments], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in quiet.stderr
    assert "Traceback" in loud.stderr
    assert quiet.returncode == 2


def test_a_file_is_never_its_own_file_of_refused_lines(rollgraph, tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text("nonsense\n")
    status, _, said = rollgraph("ingest", file, "--rejects", tmp_path / "." / "a.jsonl")
    assert status == 2
    assert "cannot go into the file that is being read" in said
    assert file.read_text() == "nonsense\n"
    for place in (tmp_path, tmp_path / "no/such"):
        assert "expected a file in a folder that exists" in rollgraph(
            "ingest", file, "--rejects", place
        )[2]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["credit", "--run", "x", "--group", "g"], "--run shows a kept result as it is"),
        (["credit", "--run", "x", "--save"], "--run shows a kept result as it is"),
        (["query", "rollouts", "--csv", "--json"], "expected one of --json, --csv and --parquet"),
        (["schema", "--engine", "neo4j", "--json-schema"], "expected one of --engine and --json"),
        (["query", "rollouts", "-p", "groups=t"], 'expected a list of strings, such as ["a", "b"]'),
        (["stats", "--group", "nobody"], "no rollout is in group nobody"),
    ],
)
def test_what_cannot_go_together_or_be_found_is_refused(demo_store, arguments, message):
    status, printed, said = demo_store(*arguments)
    assert (status, printed) == (2, "")
    assert message in said


def test_an_error_of_the_system_is_one_line(demo_store, tmp_path):
    status, _, said = demo_store("export", "--out", tmp_path / "no/such")
    assert status == 2
    assert said.splitlines() == [f"rollgraph: {tmp_path}/no/such.part: No such file or directory"]
    (tmp_path / "file").touch()
    for command in (["credit"], ["ingest", DEMO_FILE], ["rebuild"]):
        status, _, said = demo_store(*command, "--store", tmp_path / "file")
        assert status == 2
        assert len(said.splitlines()) == 1


def test_a_store_without_a_log_is_not_rebuilt(rollgraph, tmp_path):
    status, _, said = rollgraph("rebuild", "--store", tmp_path / "nowhere")
    assert status == 2
    assert "holds no rollout log" in said
    assert not (tmp_path / "nowhere").exists()


def test_the_version_is_told(rollgraph):
    assert rollgraph("--version")[1].strip() == version("rollgraph")


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.conf").write_text("listen 80\n")
    return folder


def recorded(rollgraph, tmp_path, work, *arguments, status=0):
    to = tmp_path / "out.jsonl"
    found, printed, said = rollgraph(
        "record", "--task", "t", "--work-root", work, "--out", to, *arguments
    )
    assert found == status, said
    return [json.loads(line) for line in to.read_text().splitlines()], printed, said


def test_a_script_is_recorded_a_step_for_each_complete_command(rollgraph, tmp_path, work):
    script = tmp_path / "script.sh"
    script.write_text(
        "# mend\ncat a.conf\nfor i in 1; do\n  sed -i s/80/8443/ a.conf\ndone\n"
        "cat > b <<'EOF'\none\nEOF\ncd /; pwd\n"
    )
    (task, rollout), printed, said = recorded(
        rollgraph, tmp_path, work, "--script", script, "--verifier", "grep -q 8443 a.conf",
        "--description", "Mend it", "--group", "g",
    )  # fmt: skip
    assert task == {"type": "task", "id": "t", "description": "Mend it"}
    assert (rollout["group"], rollout["reward"]) == ("g", 1)
    commands = [step["commands"] for step in rollout["steps"]]
    assert [len(found) for found in commands] == [1, 1, 1, 1]
    assert commands[1][0]["writes"] == [{"path": f"{work}/a.conf", "lines": [[1, 1]]}]
    assert commands[2][0]["writes"] == [{"path": f"{work}/b", "lines": [[1, 1]]}]
    assert printed == "listen 80\n/\n"
    assert "4 steps, reward 1" in said
    assert rollgraph("ingest", tmp_path / "out.jsonl", "--work-root", work)[0] == 0


def test_a_session_reads_its_commands_from_standard_input(rollgraph, tmp_path, work, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("x=5\necho $x\n"))
    (rollout,), printed, _ = recorded(rollgraph, tmp_path, work, "--", "bash")
    assert printed == "5\n"
    assert [step["action"] for step in rollout["steps"]] == ["x=5", "echo $x"]


def test_one_command_is_recorded_by_itself_and_records_are_appended(rollgraph, tmp_path, work):
    recorded(rollgraph, tmp_path, work, "--", "cat", "a.conf")
    found, _, _ = recorded(rollgraph, tmp_path, work, "--timeout", "0.2", "--", "sleep", "9")
    assert len(found) == 2
    assert found[0]["steps"][0]["commands"][0]["text"] == "cat a.conf"


def test_record_says_what_it_needs(rollgraph, tmp_path, work):
    to = tmp_path / "o"
    usual = ["record", "--task", "t", "--work-root", work, "--out", to]
    assert "expected either --script FILE or -- COMMAND" in rollgraph(*usual)[2]
    assert "cannot be read" in rollgraph(*usual, "--script", tmp_path / "absent")[2]
    missing = ["record", "--task", "t", "--work-root", tmp_path / "absent", "--out", to]
    assert "expected a folder" in rollgraph(*missing, "--", "bash")[2]
    assert not to.exists()
    bad = ["record", "--task", "t", "--work-root", work, "--out", tmp_path / "no/dir"]
    assert "cannot be written" in rollgraph(*bad, "--", "true")[2]


def test_the_doctor_names_the_level_that_is_used(rollgraph):
    status, printed, _ = rollgraph("doctor")
    level = best_tracer().level
    assert status == (1 if level == "sweep" else 0)
    (row,) = [line for line in printed.splitlines() if "`rollgraph record` uses it" in line]
    assert level in row
