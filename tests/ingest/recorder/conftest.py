"""A folder to record in, and a recorder of each level that this machine gives."""

import pytest

from rollgraph.ingest.recorder import LEVELS, Recorder, best_tracer


@pytest.fixture(autouse=True)
def _level_is_there(request):
    callspec = getattr(request.node, "callspec", None)
    refused = dict(best_tracer().refused)
    for value in callspec.params.values() if callspec else ():
        if isinstance(value, str) and value in refused:
            pytest.skip(f"{value}: {refused[value]}")


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\n")
    return folder


@pytest.fixture(params=LEVELS)
def rec(request, root):
    with Recorder("t", work_roots=[root], level=request.param) as recorder:
        yield recorder
