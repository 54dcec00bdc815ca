"""The command dependency graph of one rollout as a networkx graph, with credits on its nodes."""

from typing import Any

import networkx as nx

from ..graph.errors import QueryError
from ..graph.store import Store
from . import library
from .credit import bind_options, credit


def dependency_graph(store: Store, rollout: str, **parameters: Any) -> "nx.DiGraph[str]":
    """Return G with the commands' ids as nodes.

    A node has `step`, `command`, `position`, `kind`, `text`, `traced` and `credit` (None: not
    traced, or no verifier record); the verifier's node has `kind` "verifier". An edge has `kind`,
    `evidence` and `qualifies` (it is an edge of G_E). `parameters` are those of `depgpo`. Raises
    QueryError for an unknown rollout.
    """
    options = bind_options("depgpo", parameters)
    found = store.query(
        "MATCH (r:Rollout {id: $rollout}) RETURN r.`group` AS `group`", {"rollout": rollout}
    ).to_pylist()
    if not found:
        raise QueryError(f"no rollout is called {rollout}; `rollgraph query rollouts` lists them")
    groups = [found[0]["group"]]

    def ask(name: str, **given: Any) -> list[dict[str, Any]]:
        rows = library.run(store, name, groups=groups, **given).to_pylist()
        return [row for row in rows if row["rollout"] == rollout]

    graph: nx.DiGraph[str] = nx.DiGraph()
    ids: dict[int, str] = {}
    for row in ask("commands"):
        ids[row["position"]] = key = f"{rollout}/{row['step']}/{row['command']}"
        columns = ("step", "command", "position", "kind", "text", "traced")
        graph.add_node(key, credit=None, **{name: row[name] for name in columns})
    for result in credit(store, "depgpo", groups, **parameters):
        for command in result.commands if result.rollout == rollout else ():
            graph.nodes[ids[command.position]]["credit"] = command.credit
    for row in ask("dependencies", whole_file=options.whole_file):
        target = ids.get(row["target"])
        if target is None:
            target = f"{rollout}/verifier"
            graph.add_node(target, kind="verifier", position=row["target"], credit=None)
        columns = ("kind", "evidence", "qualifies")
        graph.add_edge(ids[row["source"]], target, **{name: row[name] for name in columns})
    return graph
