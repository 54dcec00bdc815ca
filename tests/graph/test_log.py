"""The rollout log: whole batches, in order, byte for byte."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from rollgraph.graph import RolloutLog, StoreError


def test_batches_come_back_byte_for_byte_and_in_order(tmp_path):
    log = RolloutLog(tmp_path)
    lines = [b'{"a": 1}', '{"b": "\u2028ü"}'.encode(), b'{ "spaced" :  2 }']
    ids = [log.append({"kind": "records", "n": n}, lines[n:]) for n in range(3)]
    assert RolloutLog(tmp_path).batches() == ids
    read = list(RolloutLog(tmp_path).read_all())
    assert [batch.header["n"] for batch in read] == [0, 1, 2]
    assert [batch.lines for batch in read] == [lines, lines[1:], lines[2:]]


def test_a_batch_that_was_cut_short_is_never_seen(tmp_path):
    log = RolloutLog(tmp_path)
    log.append({}, [b"{}"])
    (tmp_path / "00000002.jsonl.zst.abc.part").write_bytes(b"half")
    assert len(log.batches()) == 1


def test_writers_of_one_log_take_different_numbers(tmp_path):
    logs = [RolloutLog(tmp_path) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(lambda n: logs[n % 4].append({"n": n}, []), range(40)))
    assert len(set(ids)) == 40
    assert sorted(batch.header["n"] for batch in logs[0].read_all()) == list(range(40))


def test_damage_and_absence_are_named(tmp_path):
    log = RolloutLog(tmp_path)
    batch = log.append({}, [b"{}"])
    (path,) = tmp_path.glob("*.zst")
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(StoreError, match=r"00000001.*damaged"):
        log.read(batch)
    with pytest.raises(StoreError, match="holds no batch"):
        log.read(f"{log.id}/00000009")
