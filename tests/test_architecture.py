"""The rooms import one another only as the architecture says; heavy libraries stay in theirs."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

MAY_IMPORT = {
    "graph": set(),
    "ingest": {"graph"},
    "queries": {"graph"},
    "trainer": {"ingest", "queries", "graph"},
    "dashboard": {"queries", "graph", "ingest"},
    "cli": {"graph", "ingest", "queries", "trainer", "dashboard"},
}
HOME = {
    "ladybug": "graph",
    "neo4j": "graph",
    "torch": "trainer",
    "ray": "trainer",
    "vllm": "trainer",
    "transformers": "trainer",
    "streamlit": "dashboard",
    "plotly": "dashboard",
}
FILES = sorted(path for room in MAY_IMPORT for path in (ROOT / room).rglob("*.py"))


def by_name(paths):
    return pytest.mark.parametrize("path", paths, ids=lambda path: str(path.relative_to(ROOT)))


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0]


def imports(tree: ast.AST):
    """Go through imports as (level, module)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield node.level, module or node.names[0].name


def rooms_imported(path: Path):
    depth = len(path.relative_to(ROOT).parts)
    for level, module in imports(ast.parse(path.read_text())):
        first = module.partition(".")[0]
        if level == 0 and first == "rollgraph":
            yield module.split(".")[1]
        elif level == depth:  # relative to the root
            yield first


@by_name(FILES)
def test_rooms_import_only_what_they_may(path):
    room = room_of(path)
    assert set(rooms_imported(path)) - {room} <= MAY_IMPORT[room]


@by_name(FILES)
def test_heavy_libraries_stay_in_their_room(path):
    used = {
        module.partition(".")[0]
        for level, module in imports(ast.parse(path.read_text()))
        if not level
    }
    assert {HOME[name] for name in used & set(HOME)} <= {room_of(path)}


@by_name(FILES)
def test_nothing_is_imported_inside_a_function(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = [n for n in ast.walk(node) if isinstance(n, ast.Import | ast.ImportFrom)]
            assert not inside, f"{node.name} imports"


@by_name([path for path in FILES if path.name == "__init__.py"])
def test_a_rooms_face_is_short(path):
    assert len(path.read_text().splitlines()) < 50


def test_the_root_imports_nothing():
    assert not list(imports(ast.parse((ROOT / "__init__.py").read_text())))


def test_the_root_has_no_other_file():
    assert {path.name for path in ROOT.glob("*.py")} == {"__init__.py"}
