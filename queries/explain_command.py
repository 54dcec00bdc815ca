"""Why a command has the credit that it has: the paths and the evidence, as rows.

The credits of the rows add up to the command's.
"""

from dataclasses import dataclass
from typing import Any

import networkx as nx

from ..graph.errors import CreditError
from ..graph.store import Store
from . import library
from .dependency_graph import dependency_graph
from .depgpo import (
    CommandFacts,
    DepgpoOptions,
    command_credits,
    command_facts,
    writes_reaching_e,
)
from .results import CommandCredit


@dataclass(frozen=True)
class Reason:
    """One row of an explanation."""

    why: str
    """direct, indirect, direct and indirect, port, process, supports, unused, or a variant."""
    evidence: str
    """The lines written, the resource matched, or what each edge of the path carries."""
    path: str
    """Commands as STEP/COMMAND, to E or to the write that is supported."""
    records: int | None
    """Line records that the row stands for."""
    distance: int | None
    """Of a supported write: edges on the path."""
    credit: float
    """What the row adds to the command's credit."""


def explain_command(store: Store, command: str, options: DepgpoOptions) -> list[Reason]:
    """Explain the DepGPO credit of one command, named by its id, such as `ROLLOUT/2/0`.

    One row for each fragment that a write command wrote, each port or process of its that the
    verifier inspected, and each write that a read command supports. Raises CreditError for an
    unknown command, or one that has no credit to explain.
    """
    found = library.run(store, "command_place", command=command).to_pylist()
    if not found:
        raise CreditError(
            f"no command is called {command}; expected ROLLOUT/STEP/COMMAND, such as rollout-1/2/0"
        )
    (place,) = found
    explained = _Explained(store, command, place, options)
    return explained.write(command) if place["kind"] == "write" else explained.read()


class _Explained:
    def __init__(
        self, store: Store, command: str, place: dict[str, Any], options: DepgpoOptions
    ) -> None:
        self._store = store
        self._options = options
        self._position: int = place["position"]
        groups = [place["group"]]
        every = command_facts(store, groups, options.whole_file)
        self._facts: dict[int, CommandFacts] = every[place["rollout"]]
        credited = command_credits(self._facts, beta=options.beta, variant=options.variant)
        self._credits: dict[int, CommandCredit] = {part.position: part for part in credited}
        rollouts = library.run(store, "rollouts", groups=groups).to_pylist()
        (rollout,) = (row for row in rollouts if row["rollout"] == place["rollout"])
        if self._position not in self._credits or not rollout["verified"]:
            reason = "it was not traced" if rollout["verified"] else "the verifier was not traced"
            raise CreditError(f"{command}: has no credit to explain: {reason}")
        self._matched = [
            row
            for row in library.run(store, "matched_resources", groups=groups).to_pylist()
            if row["rollout"] == place["rollout"] and row["position"] == self._position
        ]
        graph = dependency_graph(store, place["rollout"], whole_file=options.whole_file)
        positions = {key: data["position"] for key, data in graph.nodes(data=True)}
        self._graph: nx.DiGraph[int] = nx.relabel_nodes(graph, positions)
        self._reaching = writes_reaching_e(self._facts, options.variant)

    def write(self, command: str) -> list[Reason]:
        """Explain a write command."""
        facts, part = self._facts[self._position], self._credits[self._position]
        whole_file = self._options.whole_file
        fragments = library.run(
            self._store, "written_fragments", command=command, whole_file=whole_file
        ).to_pylist()
        rows = [self._fragment(facts, row) for row in fragments]
        for row in self._matched:
            adds = 0.0 if facts.records else 1 / len(self._matched)
            evidence = f"{row['kind']} {row['name']}"
            rows.append(Reason(row["kind"], evidence, self._to_e(), None, None, adds))
        rest = part.credit - sum(row.credit for row in rows)
        if self._options.variant in ("binary", "no_filter") and rest:
            rows.append(Reason(f"variant {self._options.variant}", "", "", None, None, rest))
        return rows

    def _fragment(self, facts: CommandFacts, row: dict[str, Any]) -> Reason:
        consumers: set[int] = set()
        if self._options.variant != "direct_only":
            consumers = facts.consumed.get(row["fragment"], (0, set()))[1] & self._reaching
        is_direct = row["fragment"] in facts.direct
        parts = ["direct"] * is_direct + ["indirect"] * bool(consumers)
        path = self._to_e() if is_direct else self._through(consumers) if consumers else ""
        credit = row["records"] / facts.records if parts else 0.0
        why = " and ".join(parts) or "unused"
        return Reason(why, _lines(row), path, row["records"], None, credit)

    def _to_e(self) -> str:
        return f"{self._name(self._position)} → E"

    def _through(self, consumers: set[int]) -> str:
        """Find the shortest chain of consumption to a write that reaches E directly."""
        ends = {
            position for position, facts in self._facts.items() if facts.direct or facts.is_matched
        }
        qualifying = nx.subgraph_view(
            self._graph, filter_edge=lambda a, b: self._graph.edges[a, b]["qualifies"]
        )
        chains = [
            nx.shortest_path(qualifying, consumer, end)
            for consumer in sorted(consumers)
            for end in sorted(ends)
            if nx.has_path(qualifying, consumer, end)
        ]
        chain = [self._position, *min(chains, key=len)]
        return " → ".join([*map(self._name, chain), "E"])

    def read(self) -> list[Reason]:
        """Explain a read command."""
        facts = self._facts[self._position]
        rows: list[Reason] = []
        for write, distance in sorted(facts.distances.items()):
            credit = self._options.beta**distance * self._credits[write].credit
            if self._options.variant == "no_read" or not credit:
                continue
            chain = nx.shortest_path(self._graph, self._position, write)
            evidence = "; ".join(
                ", ".join(self._graph.edges[edge]["evidence"]) for edge in nx.utils.pairwise(chain)
            )
            path = " → ".join(map(self._name, chain))
            rows.append(Reason("supports", evidence, path, None, distance, credit))
        return rows or [Reason("unused", "no write with credit depends on it", "", None, None, 0.0)]

    def _name(self, position: int) -> str:
        facts = self._facts[position]
        return f"{facts.step}/{facts.command}"


def _lines(row: dict[str, Any]) -> str:
    if row["first"] is None:
        return f"{row['path']} ({'removal' if row['removal'] else 'whole file'})"
    lines = (
        f"line {row['first']}"
        if row["first"] == row["last"]
        else f"lines {row['first']}-{row['last']}"
    )
    return f"{row['path']} {lines}"
