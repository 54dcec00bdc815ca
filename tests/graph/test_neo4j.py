"""What is the server's alone: read access, memory, rebuilding beside other clients' rollouts."""

import os

import neo4j
import pytest
from neo4j.exceptions import TransientError

from rollgraph.graph import QueryError, Rows, StoreError, open_store
from rollgraph.ingest import ingest, rebuild

from ..conftest import NEO4J_URI

pytestmark = pytest.mark.skipif(not NEO4J_URI, reason="NEO4J_URI names no server")


class OutOfMemoryError(TransientError):
    code = "Neo.TransientError.General.MemoryPoolOutOfMemoryError"


ROLLOUTS = "MATCH (r:Rollout) RETURN count(*) AS n"


def count(store, query=ROLLOUTS):
    return store.query(query).column("n")[0].as_py()


def records(names):
    return [{"type": "rollout", "id": name, "task": "t", "steps": []} for name in names]


def test_a_query_cannot_write(store):
    for text in ("CREATE (:Rollout {id: 'r'})", "MATCH (s:Schema) SET s.version = 2"):
        with pytest.raises(QueryError, match=r"(?i)write"):
            store.query(text)
    assert count(store) == 0


@pytest.mark.usefixtures("store")
def test_a_store_for_reading_refuses_to_write(store_url):
    with open_store(store_url, read_only=True) as reader:
        with pytest.raises(StoreError, match="for reading only"):
            reader.write(Rows())
        with pytest.raises(StoreError, match="for reading only"):
            ingest(reader, records(["r"]))


def test_a_query_has_a_timeout(store):
    slow = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN count(a + b) AS n"
    with pytest.raises(QueryError, match=r"(?i)time"):
        store.query(slow, timeout_s=1)


def test_wrong_credentials_and_absent_servers_are_named(store_url):
    address = store_url.partition("://")[2]
    with pytest.raises(StoreError, match=r"cannot be opened .*(?i:auth)"):
        open_store(f"bolt://neo4j:wrong@{address}")
    with pytest.raises(StoreError, match=r"bolt://127.0.0.1:1: cannot be opened"):
        open_store("bolt://127.0.0.1:1")


def test_a_batch_that_the_server_has_no_memory_for_goes_in_halves(store, monkeypatch):
    run, sizes = neo4j.ManagedTransaction.run, []

    def limited(self, query, parameters=None, **given):
        if "Rollout" in str(query) and (parameters or {}).get("rows", 0) > 3:
            raise OutOfMemoryError("limit")
        if "CREATE (:`Rollout`" in str(query):
            sizes.append(parameters["rows"])
        return run(self, query, parameters, **given)

    with monkeypatch.context() as patch:
        patch.setattr(neo4j.ManagedTransaction, "run", limited)
        report = ingest(store, records(f"r{i}" for i in range(10)))
    assert report.new == count(store) == 10
    assert sizes == [2, 3, 2, 3]
    assert count(store, "MATCH (b:Batch) RETURN count(*) AS n") == 1


def test_a_batch_that_no_half_of_fits_is_refused_and_not_tried_again(store, monkeypatch):
    def never(*_, **__):
        raise OutOfMemoryError("limit")

    with monkeypatch.context() as patch:
        patch.setattr(neo4j.ManagedTransaction, "run", never)
        with pytest.raises(StoreError):
            ingest(store, records(["r"]))
    assert count(store) == 0
    assert store.log.batches() == []


def test_rebuilding_needs_the_whole_graph_in_the_log(store, store_url, log_folder, tmp_path):
    ingest(store, records(["mine"]))
    with open_store(store_url, log=tmp_path / "other") as other:
        ingest(other, records(["theirs"]))
    with pytest.raises(StoreError, match="1 rollouts of the graph are not in the log"):
        rebuild(store_url, log=log_folder)
    with pytest.raises(StoreError, match="no log to make the graph from"):
        rebuild(store_url)
    assert count(store) == 2


def test_a_store_without_a_log_ingests_and_says_so_when_asked_for_records(store_url):
    with open_store(store_url) as store:
        assert ingest(store, records(["r"])).new == 1
        assert ingest(store, records(["r"])).unchanged == 1


def test_credentials_in_the_address_win_over_the_environment(store_url, monkeypatch):
    address, password = store_url.partition("://")[2], os.environ["NEO4J_PASSWORD"]
    monkeypatch.setenv("NEO4J_PASSWORD", "wrong")
    with open_store(f"bolt://neo4j:{password}@{address}") as opened:
        assert count(opened) == 0
        assert password not in opened.url
