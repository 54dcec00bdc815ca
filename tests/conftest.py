"""The store that the tests run on: the embedded engine, or a Neo4j server.

With NEO4J_URI set, the same tests run against that server, and everything in its database is
deleted.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import neo4j
import pytest
from hypothesis import HealthCheck, settings

from rollgraph.graph import Store, open_store

settings.register_profile(
    "rollgraph", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("rollgraph")

NEO4J_URI = os.environ.get("NEO4J_URI")


def pytest_report_header() -> str:
    return f"rollgraph store: {NEO4J_URI or 'embedded'}"


def wipe(uri: str) -> None:
    auth = (os.environ.get("NEO4J_USERNAME", "neo4j"), os.environ.get("NEO4J_PASSWORD", ""))
    with neo4j.GraphDatabase.driver(uri, auth=auth) as driver, driver.session() as session:
        session.run("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS").consume()


@pytest.fixture
def store_url(tmp_path: Path) -> str:
    """Return the address of an empty store."""
    if NEO4J_URI:
        wipe(NEO4J_URI)
        return NEO4J_URI
    return str(tmp_path / "rollouts.rollgraph")


@pytest.fixture
def log_folder(tmp_path: Path) -> Path | None:
    """Where a Neo4j store keeps its log; None for the embedded one, which has its own."""
    return tmp_path / "log" if NEO4J_URI else None


@pytest.fixture
def store(store_url: str, log_folder: Path | None) -> Iterator[Store]:
    """Open an empty store of the engine under test."""
    opened = open_store(store_url, log=log_folder)
    yield opened
    opened.close()
