"""Ingest: once, whole, in any order, and again whenever you like."""

import json
import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollgraph.graph import CreditError, IngestError, QueryError, open_store
from rollgraph.ingest import catch_up, export, ingest, rebuild, typed_values
from rollgraph.ingest.demo import DEMO_FILE
from rollgraph.queries import credit, library, load_credits, save_credits

from .. import strategies
from ..bench.credit import made
from ..conftest import NEO4J_URI, wipe
from ..graph_dump import dump
from ..rollout_records import listed_values, rollout_record, task_record


def rollout(name, **fields):
    return {"type": "rollout", "id": name, "task": "t", **fields}


def rows(store, *columns, **parameters):
    found = library.run(store, "rollouts", **parameters).to_pylist()
    return {row["rollout"]: tuple(row[name] for name in columns) for row in found}


def fresh(tmp_path, name):
    """Open one more empty store of the engine under test, in place of the last one."""
    if NEO4J_URI:
        wipe(NEO4J_URI)
        return open_store(NEO4J_URI, log=tmp_path / f"{name}-log")
    return open_store(tmp_path / f"{name}.rollgraph")


def test_ingesting_again_changes_nothing(store):
    assert ingest(store, DEMO_FILE).new == 12
    before = dump(store)
    report = ingest(store, DEMO_FILE)
    assert (report.new, report.replaced, report.unchanged) == (0, 0, 12)
    assert dump(store) == before
    assert len(store.log.batches()) == 2  # tasks, rollouts


def test_the_same_id_again_replaces_the_rollout_and_never_doubles_it(store, tmp_path):
    first = rollout("r", reward=0, steps=[{"commands": [{"text": "a", "reads": ["/x", "/y"]}]}] * 3)
    second = rollout(
        "r", reward=1, steps=[{"commands": [{"text": "b", "writes": [{"path": "/x"}]}]}]
    )
    ingest(store, [first, rollout("other", steps=[{"commands": [{"text": "c"}]}])])
    report = ingest(store, [second])
    assert (report.new, report.replaced, report.unchanged) == (0, 1, 0)
    found = dump(store)
    store.close()
    with fresh(tmp_path, "at-once") as at_once:
        ingest(at_once, [second, rollout("other", steps=[{"commands": [{"text": "c"}]}])])
        assert found == dump(at_once)


def test_replacing_some_of_many_rollouts_touches_only_them(store, tmp_path):
    records = list(made(240, 12))
    ingest(store, records)
    changed = [{**record, "steps": record["steps"][::-1]} for record in records[::7]]
    assert ingest(store, changed).replaced == len(changed)
    found = dump(store)
    store.close()
    records[::7] = changed
    with fresh(tmp_path, "at-once") as at_once:
        ingest(at_once, records)
        assert found == dump(at_once)


def test_the_order_of_records_changes_nothing(store, tmp_path):
    lines = DEMO_FILE.read_text().splitlines()
    slots = {}
    for line in lines:
        record = json.loads(line)
        if record["type"] == "rollout":
            slots[record["id"]] = slots.setdefault(record["task"], 0)
            slots[record["task"]] += 1
    records = [json.loads(line) for line in lines]
    for record in records:
        if record["type"] == "rollout":
            record["slot"] = slots[record["id"]]
    ingest(store, records)
    expected = dump(store)
    credits_expected = sorted(credit(store).to_json_lines())
    store.close()
    for seed in range(2):
        random.Random(seed).shuffle(records)
        with fresh(tmp_path, f"shuffled-{seed}") as shuffled:
            ingest(shuffled, records[:5])
            ingest(shuffled, records[5:])
            assert dump(shuffled) == expected
            assert sorted(credit(shuffled).to_json_lines()) == credits_expected


def uses_value(value):
    """Make a rollout whose second command uses what its first printed."""
    return rollout(
        "r",
        steps=[
            {"commands": [{"text": "cat port", "stdout": f"port {value}", "reads": []}]},
            {"commands": [{"text": f"serve :{value}", "ports": {"opened": [value]}}]},
        ],
    )


DESCRIBED = {"type": "task", "id": "t", "description": "serve on port 8080"}


@pytest.mark.parametrize("together", [True, False])
def test_a_description_that_comes_later_takes_its_values_out_of_the_evidence(store, together):
    if together:
        ingest(store, [uses_value(8080), DESCRIBED])
    else:
        ingest(store, [uses_value(8080)])
        assert library.run(store, "dependencies").num_rows == 1
        report = ingest(store, [DESCRIBED])
        assert (report.tasks, report.notes) == (1, [])
    assert library.run(store, "dependencies").num_rows == 0
    ingest(store, [{**DESCRIBED, "description": "serve"}])
    assert library.run(store, "dependencies").num_rows == 1
    assert ingest(store, [uses_value(8080)]).unchanged == 1


@pytest.mark.parametrize(
    ("description", "edges"),
    [("read data/train.txt", 0), ("read /app/data/train.txt", 0), ("read train.txt", 1),
     ("read /data/train.txt", 1), ("read other/data/train.txt", 1)],
)  # fmt: skip
def test_a_relative_path_of_the_description_is_no_evidence_in_any_folder(store, description, edges):
    first = {"text": "ls", "cwd": "/app", "stdout": "data/train.txt", "reads": []}
    second = {"text": "cp /app/data/train.txt o", "cwd": "/app/x", "writes": [{"path": "o"}]}
    task = {"type": "task", "id": "t", "description": description}
    ingest(store, [task, rollout("r", steps=[{"commands": [first, second]}])])
    assert library.run(store, "dependencies").num_rows == edges


def test_what_a_command_complains_of_is_no_evidence(store):
    first = {"text": "ls", "stderr": "port 8080", "reads": []}
    second = {"text": "serve :8080", "ports": {"opened": [8080]}}
    ingest(store, [rollout("r", steps=[{"commands": [first, second]}])])
    assert library.run(store, "dependencies").num_rows == 0


def test_a_refused_line_says_nothing_of_what_rewards_mean(store):
    report = ingest(store, [rollout("a", reward=1), {**rollout("b"), "reward": [1]}])
    assert [refusal.field for refusal in report.refused] == ["reward"]
    assert rows(store, "success") == {"a": (True,)}


def test_rewards_of_0_and_1_tell_success_and_others_do_not(store):
    ingest(store, [rollout("a", reward=1), rollout("b", reward=0), rollout("c")])
    ingest(store, [rollout("d", reward=1), rollout("e", reward=0.5, success=True)])
    assert rows(store, "success") == {
        "a": (True,), "b": (False,), "c": (None,), "d": (None,), "e": (True,),
    }  # fmt: skip


def test_slots_and_groups_have_defaults(store):
    ingest(store, [rollout("a"), rollout("b"), rollout("c", group="g"), rollout("d", slot=9)])
    ingest(store, [rollout("e"), rollout("b", reward=1), rollout("f", task="u", group="g")])
    assert rows(store, "group", "slot") == {
        "a": ("t", 0), "b": ("t", 1), "c": ("g", 0), "d": ("t", 9), "e": ("t", 3), "f": ("g", 0),
    }  # fmt: skip


def test_metadata_and_unknown_keys_are_kept_together(store):
    step = {"metadata": {"n": 1}, "mood": "good", "commands": [{"text": "", "shell": "zsh"}]}
    ingest(store, [rollout("r", colour="red", metadata={"colour": "blue"}, steps=[step])])
    (found,) = store.query(
        "MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)-[:RAN]->(c:Command) "
        "RETURN r.metadata AS r, s.metadata AS s, c.metadata AS c"
    ).to_pylist()
    assert {key: json.loads(value) for key, value in found.items()} == {
        "r": {"colour": "blue", "colour_": "red"},
        "s": {"n": 1, "mood": "good"},
        "c": {"shell": "zsh"},
    }


def test_paths_are_resolved_filtered_and_counted_when_they_cannot_be(store):
    commands = [
        {"text": "", "cwd": "/app", "reads": ["a", "../etc/b", "/usr/lib/c"]},
        {"text": "", "reads": ["a", "./b", "/app/d"], "writes": [{"path": "e"}]},
    ]
    record = rollout("r", steps=[{"commands": commands}], verifier={"reads": ["x", "/app/a"]})
    report = ingest(store, [record], work_roots=["/app", "/etc/"])
    assert report.dropped_paths == 4
    found = store.query("MATCH (p:Resource) RETURN p.name AS name ORDER BY name")
    assert found.column("name").to_pylist() == ["/app/a", "/app/d", "/etc/b"]
    assert library.run(store, "rollouts").column("dropped_paths").to_pylist() == [4]
    with pytest.raises(IngestError, match="work root app: expected an absolute path"):
        ingest(store, [record], work_roots=["app"])


def test_what_a_person_has_probably_not_meant_is_noted(store):
    command = {"text": "cat a", "read": ["/app/a"], "reads": ["/app/a"]}
    record = rollout("r", rewrad=1, steps=[{"commands": [command, command]}])
    (note,) = ingest(store, [record]).notes
    assert note.endswith("kept and not used: steps[].commands[].read (2), rewrad (1)")
    record = rollout("r", steps=[{"commands": [{"text": "cat a", "reads": ["/app/a"]}]}])
    (note,) = ingest(store, [record], work_roots=["/elsewhere"]).notes
    assert note == "all 1 paths lie outside the work roots (/elsewhere) and take part in nothing"
    assert ingest(store, [record], work_roots=["/app"]).notes == []


def test_a_text_is_no_list(store):
    ingest(store, [rollout("r")])
    with pytest.raises(IngestError, match="expected a list"):
        ingest(store, [], work_roots="/app")
    with pytest.raises(CreditError, match="expected a list"):
        credit(store, groups="t")
    with pytest.raises(QueryError, match="expected a list of strings"):
        library.run(store, "rollouts", groups="t")


def test_a_write_command_whose_records_are_all_noise_is_a_read_command(store):
    command = {"text": "apt-get install x", "writes": [{"path": "/usr/lib/x"}]}
    ingest(store, [rollout("r", steps=[{"commands": [command]}])], work_roots=["/app"])
    (found,) = library.run(store, "command_kinds").to_pylist()
    assert (found["kind"], found["traced"], found["records"]) == ("read", True, 0)


def test_a_write_of_no_lines_is_no_record(store):
    command = {"text": "touch a", "writes": [{"path": "/app/a", "lines": []}]}
    ingest(store, [rollout("r", steps=[{"commands": [command]}])])
    (found,) = library.run(store, "command_kinds").to_pylist()
    assert (found["kind"], found["records"]) == ("read", 0)


def test_overlapping_ranges_are_one_set_of_lines(store):
    write = {"path": "/a", "lines": [[5, 6], [1, 3], [2, 4]]}
    command = {"text": "", "writes": [write, {"path": "/a", "lines": [[6, 7]]}, {"path": "/a"}]}
    ingest(store, [rollout("r", steps=[{"commands": [command]}])])
    (found,) = library.run(store, "command_kinds").to_pylist()
    assert found["records"] == 7 + 1


def test_records_can_be_models_lines_and_objects(store):
    model = json.dumps(rollout("a"))
    assert ingest(store, [model, model.replace('"a"', '"b"').encode(), rollout("c")]).new == 3


def test_memory_of_the_reader_does_not_grow_with_the_file(store, tmp_path):
    def peak(count: int) -> int:
        file = tmp_path / f"{count}.jsonl"
        text = "x" * 40_000
        file.write_text(
            "".join(
                json.dumps(rollout(f"{count}/{i}", metadata={"t": text})) + "\n"
                for i in range(count)
            )
        )
        tracemalloc.start()
        ingest(store, file)
        result = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return result

    small = peak(1600)
    assert peak(4800) < 1.2 * small


def test_progress_goes_up_to_the_end(store):
    seen = []
    ingest(store, DEMO_FILE, progress=lambda done, size: seen.append((done, size)))
    assert seen == sorted(seen)
    assert seen[-1] == (DEMO_FILE.stat().st_size,) * 2


def test_a_rebuilt_graph_equals_the_one_that_grew(store, store_url, log_folder):
    ingest(store, DEMO_FILE)
    ingest(store, [rollout("r", steps=[{"commands": [{"text": "a", "reads": ["/x"]}]}])])
    save_credits(store, credit(store, beta=0.25))
    ingest(store, [rollout("r", reward=3)], work_roots=["/app"])
    run = save_credits(store, credit(store, "grpo", ["t"]))
    expected = dump(store)
    store.close()
    with rebuild(store_url, log=log_folder) as again:
        assert dump(again) == expected
        assert load_credits(again, run).method == "grpo"


def test_what_went_in_comes_out_equal(store):
    lines = DEMO_FILE.read_bytes().splitlines()
    odd = (
        '{ "type":"rollout",  "task":"t","id":"odd", "x": [1.0, 1, 1e3, "\\u00fc\\ud83d\\ude42"] }'
    )
    ingest(store, DEMO_FILE)
    ingest(store, [odd, rollout("twice")])
    ingest(store, [rollout("twice", reward=1)])
    save_credits(store, credit(store))
    exported = list(export(store))
    assert set(exported[:15]) == set(lines)
    assert exported[15:] == [odd.encode(), json.dumps(rollout("twice", reward=1)).encode()]


@settings(max_examples=15)
@given(tasks=st.lists(strategies.rollouts(), min_size=1, max_size=4))
def test_exporting_and_ingesting_gives_the_same_graph(tmp_path_factory, tasks):
    records = [task_record(task, f"g{i}") for i, task in enumerate(tasks)]
    records += [rollout_record(task, f"r{i}", f"g{i}") for i, task in enumerate(tasks)]
    folder = tmp_path_factory.mktemp("export")
    with open_store(folder / "one") as one, open_store(folder / "two") as two:
        ingest(one, records, extract=listed_values)
        ingest(two, export(one), extract=listed_values)
        assert dump(one) == dump(two)
        assert [json.loads(line) for line in export(two)] == records


def test_another_extraction_than_the_batch_was_made_with_is_named(store):
    ingest(store, [rollout("r")], extract=listed_values)
    (batch,) = store.log.read_all()
    store.log.append(batch.header, [json.dumps(rollout("s")).encode()])
    with pytest.raises(
        IngestError, match=r"with the values of .*listed_values, found .*typed_values"
    ):
        catch_up(store, extract=typed_values)
    assert catch_up(store, extract=listed_values) == 1
