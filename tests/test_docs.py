"""The pages name every command, option, query, parameter, column, label and key there is."""

import dataclasses
import json
import re
from pathlib import Path

import pytest
import typer

from rollgraph.cli import app
from rollgraph.graph import EDGES, NODES, records
from rollgraph.ingest import ingest
from rollgraph.queries import CREDIT_METHODS, credit, load, names, step_weights
from rollgraph.queries.batch import SOME_STEP_REWARDS
from rollgraph.queries.dars import NO_PREDICATES, NOT_ANNOTATED, SOME_NOT_ANNOTATED, UNLISTED
from rollgraph.queries.depgpo import NO_VERIFIER
from rollgraph.queries.mcgpo import NO_CONTEXTS, NO_FOLDS, NO_OUTCOMES
from rollgraph.queries.state_graph import NO_STATES, UNKNOWN_STATES, UNKNOWN_SUCCESS

from .ingest.recorder.programs import PROGRAMS, table

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def page(name):
    return (ROOT / "docs" / name).read_text()


def commands():
    return typer.main.get_command(app).commands


def test_the_command_lines_page_names_every_command_and_option():
    text = page("cli.md")
    for name, command in commands().items():
        assert f"| `{name}" in text
        for parameter in command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                assert f"`{option}" in text, f"{name} {option}"


@pytest.mark.parametrize("name", names())
def test_the_queries_page_says_what_the_headers_say(name):
    query, text = load(name), page("queries.md")
    assert f"| [`{name}`](#{name}) | {query.summary} |" in text
    section = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    for parameter in query.parameters.values():
        default = "required" if parameter.is_required else f"`{json.dumps(parameter.default)}`"
        assert (
            f"| `{parameter.name}` | {parameter.type} | {default} | {parameter.about} |" in section
        )
    for column, about in query.columns.items():
        assert f"| `{column}` | {about} |" in section
    assert f"`{name}`" in README


def test_the_graphs_page_says_what_the_schema_says():
    text = page("graph.md")
    for node in NODES:
        assert f"| `{node.label}` | {node.about} |" in text
        for prop in node.properties:
            assert f"| `{prop.name}` | {prop.type} | {prop.about} |" in text
    for edge in EDGES:
        ends = ", ".join(f"`({source})-[:{edge.type}]->({target})`" for source, target in edge.ends)
        assert f"| {ends} | {edge.about} |" in text
        for prop in edge.properties:
            assert f"| `{edge.type}` | `{prop.name}` | {prop.type} | {prop.about} |" in text


def test_the_credit_page_names_every_method_parameter_and_fallback():
    text = page("credit.md")
    for name, method in CREDIT_METHODS.items():
        assert f"| `{name}` | {method.about}"[:40] in text
        for option in dataclasses.fields(method.options):
            key = option.name.rstrip("_")
            (row,) = re.findall(rf"\| [^|]*`{name}`[^|]*\| `{key}` \| `(.*?)` \|", text)
            assert row == str(option.default)
    reasons = [value for name, value in vars(step_weights).items() if name.isupper()]
    reasons = [reason for reason in reasons if isinstance(reason, str)]
    reasons += [NO_STATES, UNKNOWN_STATES, UNKNOWN_SUCCESS, SOME_STEP_REWARDS]
    reasons += [NO_PREDICATES, NOT_ANNOTATED, SOME_NOT_ANNOTATED, UNLISTED]
    reasons += [NO_FOLDS, NO_CONTEXTS, NO_OUTCOMES]
    for reason in [NO_VERIFIER, *reasons]:
        assert f"| `{reason}` |" in text


@pytest.mark.parametrize("model", ["Rollout", "Step", "Command", "Verifier", "Task"])
def test_the_formats_page_names_every_key(model):
    section = page("rollout-format.md").partition(f"\n## {model}\n")[2].partition("\n## ")[0]
    for name in getattr(records, model).model_fields:
        assert name == "type" or f"`{name}`" in section, name


def test_the_recording_page_has_the_programs_and_every_reason_for_doubt():
    text = page("recording.md")
    assert table() in text
    assert f"What {len(PROGRAMS)} small real programs show" in text
    assert f"{len(PROGRAMS)} small real programs" in README
    sources = "".join(path.read_text() for path in (ROOT / "ingest/recorder").glob("*.py"))
    found = re.findall(r'reasons\.add\("(\w+)"\)|warn\(process, "(\w+)"|reason = "(\w+)"', sources)
    reasons = {name for names in found for name in names if name}
    assert len(reasons) > 10
    for reason in reasons:
        assert f"`{reason}`" in text, reason


def test_the_readmes_record_can_be_ingested_and_credited(store):
    (block,) = re.findall(r"```json\n(.*?)```", README, flags=re.S)
    assert len(block.splitlines()) <= 10
    assert ingest(store, [json.loads(block)]).new == 1
    (found,) = credit(store)
    assert [command.credit for command in found.commands] == [0.5, 1, 0]


def test_the_readmes_tree_names_what_there_is():
    (tree,) = re.findall(r"```text\n(rollgraph/.*?)```", README, flags=re.S)
    named = set(re.findall(r"^[│ ├└─]*([\w./-]+)", tree, flags=re.M))
    for room in ("cli", "graph", "ingest", "queries"):
        for path in (ROOT / room).rglob("*.py"):
            folder = path.parent.name
            assert path.name in ("__init__.py", *named) or folder == "inferred", path
    assert "inferred/" in named
    for entry in ("docs/", "tests/", "docker-compose.yml", "CHANGELOG.md", ".ci/run"):
        assert entry in named


def test_the_readme_links_to_pages_that_exist():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    for path in pages:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_the_changelog_has_the_version():
    assert (
        f"## {re.findall(r'version = .(.*?).$', (ROOT / 'pyproject.toml').read_text(), re.M)[0]}"
        in (ROOT / "CHANGELOG.md").read_text()
    )
