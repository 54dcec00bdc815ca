"""The embedded store: one writer, snapshots for readers, and nothing lost to a killed process."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rollgraph.graph import (
    SCHEMA_VERSION,
    QueryError,
    RolloutLog,
    Rows,
    SchemaVersionError,
    StoreError,
    StoreLockedError,
    open_store,
)
from rollgraph.ingest import catch_up, ingest, open_for_reading, rebuild

ROLLOUTS = "MATCH (r:Rollout) RETURN count(*) AS n"
WHOLE = """MATCH (r:Rollout)-[:HAS_STEP]->(s:Step)-[:RAN]->(c:Command)-[:WROTE_LINES]->(f:Fragment)
RETURN count(DISTINCT r.id) AS n"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "rollouts.rollgraph"


def count(store, query=ROLLOUTS):
    return store.query(query).column("n")[0].as_py()


def record(name: str, steps: int = 2) -> dict:
    write = {"text": "w", "writes": [{"path": "/w/a", "lines": [[1, 3]]}], "reads": ["/w/b"]}
    return {"type": "rollout", "id": name, "task": "t", "steps": [{"commands": [write]}] * steps}


def python(code: str, folder: Path) -> subprocess.Popen:
    """Start another process."""
    return subprocess.Popen([sys.executable, "-c", code, folder], stdout=subprocess.PIPE, text=True)


def said(code: str, folder: Path) -> str:
    """Return what another process printed."""
    with python(code, folder) as process:
        output = process.communicate()[0]
    assert process.returncode == 0
    return output


def some_rows(name: str) -> Rows:
    rows = Rows()
    rows.add("Batch", id=name, records=1)
    return rows


def test_a_second_process_cannot_write_and_is_told_who_does(folder):
    with open_store(folder):
        code = (
            "import sys; from rollgraph.graph import *\n"
            "try: open_store(sys.argv[1])\n"
            "except StoreLockedError as error: print(error)"
        )
        assert f"process {os.getpid()} has the store open" in said(code, folder)


def test_a_second_process_reads_what_was_published_and_nothing_else(folder):
    code = (
        "import sys; from rollgraph.graph import *\n"
        f"print(open_store(sys.argv[1], read_only=True).query({ROLLOUTS!r}).to_pydict())"
    )
    with open_store(folder) as store:
        ingest(store, [record("r1")])
        rows = Rows()
        rows.add("Rollout", id="not published")
        store.write(rows)
        assert count(store) == 2
        assert "{'n': [1]}" in said(code, folder)
    assert "{'n': [2]}" in said(code, folder)


def test_readers_of_other_processes_see_whole_batches_while_a_writer_works(folder):
    code = (
        "import sys; from rollgraph.graph import *\n"
        "for _ in range(12):\n"
        "    with open_store(sys.argv[1], read_only=True) as store:\n"
        f"        print(store.query({ROLLOUTS!r}).to_pydict()['n'][0],"
        f" store.query({WHOLE!r}).to_pydict()['n'][0])"
    )
    with open_store(folder) as store:
        ingest(store, [record(f"0/{i}") for i in range(10)])
        with python(code, folder) as reader:
            for batch in range(1, 6):
                ingest(store, [record(f"{batch}/{i}") for i in range(10)])
            seen = [line.split() for line in reader.communicate()[0].splitlines()]
    assert len(seen) == 12
    assert all(rollouts == whole and int(rollouts) % 10 == 0 for rollouts, whole in seen)


KILLED = """
import sys
from rollgraph.graph import open_store
from rollgraph.ingest import ingest, writer
writer.BATCH_ROLLOUTS = 20
from rollgraph.graph import embedded
embedded.CHECKPOINT_ROWS = 1500
write = {"text": "w", "writes": [{"path": "/w/a", "lines": [[1, 3]]}], "reads": ["/w/b"]}
step = {"commands": [write]}
records = [{"type": "rollout", "id": f"r{i}", "task": "t", "steps": [step] * 2} for i in range(400)]
store = open_store(sys.argv[1])
print("started", flush=True)
ingest(store, records)
"""


@pytest.mark.parametrize("delay_s", [0.05, 0.4, 0.9, 1.6, 2.5])
def test_a_writer_that_is_killed_loses_nothing_that_its_log_holds(folder, delay_s):
    with python(KILLED, folder) as writer:
        assert writer.stdout.readline() == "started\n"
        time.sleep(delay_s)
        writer.send_signal(signal.SIGKILL)
    log = RolloutLog(folder / "log")
    logged = sum(len(batch.lines) for batch in log.read_all())
    with open_store(folder) as store:
        assert count(store) % 20 == 0
        catch_up(store)
        assert count(store) == count(store, WHOLE) == logged
        assert ingest(store, [record(f"r{i}") for i in range(400)]).unchanged == logged
    with rebuild(folder) as store:
        assert count(store) == count(store, WHOLE) == 400


def test_what_a_killed_writer_left_behind_is_found_by_the_next_reader(folder):
    with open_store(folder) as store:
        ingest(store, [record("r1")])
    log = RolloutLog(folder / "log")
    (batch,) = log.read_all()
    log.append(batch.header, [json.dumps(record("r2")).encode()])
    with open_for_reading(folder) as store:
        assert count(store) == 2
        assert store.notice == "1 batches of the log were brought into the graph first"


def test_a_reader_is_told_what_a_writer_has_not_published(folder):
    with open_store(folder) as store:
        ingest(store, [record("r1")])
        (batch,) = store.log.read_all()
        store.log.append(batch.header, [json.dumps(record("r2")).encode()])
        code = (
            "import sys; from rollgraph.ingest import *\n"
            "print(open_for_reading(sys.argv[1]).notice)"
        )
        assert said(code, folder).startswith("1 batches are not in the published snapshot yet: ")


def test_an_abandoned_write_ahead_log_is_never_replayed(folder):
    with open_store(folder) as store:
        ingest(store, [record("r1")])
    (folder / "graph.lbug.wal").write_bytes(b"not a log")
    (folder / "graph.lbug").write_bytes(b"half a page")
    with open_store(folder) as store:
        assert store.notice == "the last writer was stopped before it closed the store"
        assert count(store) == 1


def test_a_program_that_forgets_to_close_still_publishes(folder):
    code = (
        "import sys; from rollgraph.graph import *\n"
        "store = open_store(sys.argv[1]); rows = Rows()\n"
        "rows.add('Rollout', id='r'); store.write(rows)"
    )
    said(code, folder)
    with open_store(folder, read_only=True) as store:
        assert count(store) == 1


def test_one_process_opens_a_folder_once(folder):
    first, second = open_store(folder), open_store(f"{folder}/../{folder.name}")
    assert first is second
    first.close()
    assert count(second) == 0
    second.close()
    with open_store(folder) as again:
        assert again is not first


def test_a_store_is_not_used_across_a_fork(folder):
    with open_store(folder) as store:
        child = os.fork()
        if not child:
            try:
                store.query(ROLLOUTS)
            except StoreError as error:
                os._exit(7 if "after a fork" in str(error) else 1)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_writers_of_one_process_wait_for_one_another_and_readers_do_not_stop_them(folder):
    with open_store(folder) as store:

        def work(number: int) -> int:
            store.write(some_rows(f"b{number}"))
            return count(store, "MATCH (b:Batch) RETURN count(*) AS n")

        with ThreadPoolExecutor(8) as pool:
            seen = list(pool.map(work, range(120)))
        assert max(seen) == 120


def test_a_failed_transaction_writes_nothing_and_the_store_has_to_be_opened_again(folder):
    with open_store(folder) as store:
        ingest(store, [record("r1")])
        store.write(some_rows("unpublished"))
        rows = some_rows("b2")
        rows.add("Rollout", id="r2")
        rows.between("HAS_STEP", "Rollout", "Step").append("r2", "no such step")
        with pytest.raises(StoreError, match="close the store and open it again"):
            store.write(rows)
        with pytest.raises(StoreError, match="open it again"):
            store.query(ROLLOUTS)
        with pytest.raises(StoreError, match="open it again"):
            ingest(store, [record("r3")])
    with open_store(folder) as store:
        catch_up(store)
        assert count(store) == count(store, WHOLE) == 1
        assert ingest(store, [record("r3")]).new == 1
        assert count(store) == 2


def test_a_batch_that_cannot_be_written_is_not_tried_again(folder, monkeypatch):
    with open_store(folder) as store:
        ingest(store, [record("r1")])
        with monkeypatch.context() as patch:
            patch.setattr("rollgraph.ingest.rows._metadata", lambda *_: 5)  # no string
            with pytest.raises(TypeError):
                ingest(store, [record("r2")])
        assert ingest(store, [record("r3")]).new == 1
        assert len(store.log.batches()) == 2


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def test_memory_does_not_grow_with_small_batches(folder):
    with open_store(folder) as store:
        for number in range(1000):
            store.write(some_rows(f"b{number}"))
            if number == 200:
                before = resident_mb()
        assert resident_mb() - before < 100
        assert count(store, "MATCH (b:Batch) RETURN count(*) AS n") == 1000


def test_another_schema_version_is_a_clear_error(folder):
    with open_store(folder) as store:
        store.connect().execute("MATCH (s:Schema) SET s.version = 99")
        store._published = False
    with pytest.raises(
        SchemaVersionError, match=f"has schema version 99, .* reads {SCHEMA_VERSION}"
    ):
        open_store(folder)
    with pytest.raises(SchemaVersionError):
        open_store(folder, read_only=True)


def test_a_database_without_a_schema_node_is_not_ours(folder):
    with open_store(folder) as store:
        store.connect().execute("MATCH (s:Schema) DELETE s")
        store._published = False
    with pytest.raises(SchemaVersionError, match="schema version none"):
        open_store(folder)


def test_nothing_is_rebuilt_from_an_empty_log(folder):
    with open_store(folder) as store:
        rows = Rows()
        rows.add("Rollout", id="r")
        store.write(rows)
    with pytest.raises(StoreError, match="holds no batch"):
        rebuild(folder)
    with open_store(folder) as store:
        assert count(store) == 1


def test_a_snapshot_refuses_writes(folder):
    with open_store(folder):
        pass
    with open_store(folder, read_only=True) as store:
        with pytest.raises(StoreError, match="for reading only"):
            store.write(some_rows("b"))
        with pytest.raises(QueryError):
            store.query("CREATE (:Rollout {id: 'r'})")


def test_a_folder_without_rollouts_says_how_to_bring_some_in(tmp_path):
    with pytest.raises(StoreError, match="rollgraph ingest FILE"):
        open_store(tmp_path / "nothing", read_only=True)
    assert not (tmp_path / "nothing" / "graph.lbug").exists()


@pytest.mark.parametrize("url", ["http://localhost", "s3://bucket/x"])
def test_an_unknown_scheme_names_the_known_ones(url):
    with pytest.raises(StoreError, match="expected a folder or one of bolt://"):
        open_store(url)


def test_a_locked_store_error_is_a_store_error():
    assert issubclass(StoreLockedError, StoreError)
