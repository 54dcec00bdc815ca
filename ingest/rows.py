"""From one record to the rows of the graph."""

import json
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any

from ..graph.records import Command, Rollout, Step, Task, Verifier
from ..graph.store import Rows, node_row
from .accesses import Accesses, of_command, of_verifier
from .dependencies import dependencies
from .ownership import POLICY_NAMES, Fragment, replay
from .paths import PathFilter
from .values import Extractor, TypedValue


@dataclass(frozen=True)
class RolloutFacts:
    """What the rows of a rollout hold beside its record."""

    group: str
    slot: int
    success: bool | None
    task_values: Set[TypedValue]
    digest: str


def task_row(task: Task, values: Iterable[str], digest: str) -> tuple[Any, ...]:
    """Return the row of a Task node; `values` are the typed values of its description."""
    known = {"type", "id", "description", "benchmark", "metadata"}
    rest = task.model_dump(mode="json", exclude=known, exclude_unset=True)
    return node_row(
        "Task",
        id=task.id,
        description=task.description,
        benchmark=task.benchmark,
        values=sorted(values),
        digest=digest,
        metadata=_metadata(task.metadata, rest),
    )


def bare_task_row(task: str) -> tuple[Any, ...]:
    """Return the row of a task that is known by its id alone."""
    return node_row("Task", id=task, values=[])


def add_rollout(
    rows: Rows,
    rollout: Rollout,
    facts: RolloutFacts,
    batch: str | None,
    keep: PathFilter,
    extract: Extractor,
) -> int:
    """Add the rows of one rollout, and return how many paths had to be dropped (D26).

    `batch` is the log's batch that holds its record.
    """
    graph = _RolloutRows(rows, rollout.id)
    steps = rollout.steps or []
    commands = [command for step in steps for command in step.commands or ()]
    accesses = [of_command(command, keep) for command in commands]
    verifier = of_verifier(rollout.verifier, keep) if rollout.verifier else None
    dropped = sum(part.dropped for part in (*accesses, *([verifier] if verifier else [])))
    graph.add_rollout(rollout, facts, batch, dropped)
    graph.add_steps(steps, accesses)
    for position, part in enumerate(accesses):
        graph.add_accesses(graph.commands[position], part)
    if rollout.verifier and verifier:
        graph.add_verifier(rollout.verifier, verifier)
    found = replay(accesses, verifier)
    graph.add_fragments(found.fragments)
    graph.add_resources()
    texts = [extract(command.text, command.cwd) for command in commands]
    outputs = [extract(command.stdout or "", command.cwd) for command in commands]
    feeds = graph.rows.edges["FEEDS", "Command", "Command"]
    for edge in dependencies(found.uses, texts, outputs, facts.task_values):
        feeds.append(
            (
                graph.commands[edge.source],
                graph.commands[edge.target],
                edge.kind,
                edge.evidence,
                POLICY_NAMES[edge.policies],
                POLICY_NAMES[edge.qualifies],
            )
        )
    return dropped


class _RolloutRows:
    """The rows of one rollout as they grow, with the keys that its parts were given."""

    def __init__(self, rows: Rows, rollout: str) -> None:
        self.rows = rows
        self.rollout = rollout
        self.commands: list[str] = []
        """Keys of the commands in execution order, the verifier's last."""
        self._resources: dict[tuple[str, str], str] = {}
        self._shadowed: set[str] = set()
        self._self_written: set[str] = set()

    def add_rollout(
        self, rollout: Rollout, facts: RolloutFacts, batch: str | None, dropped: int
    ) -> None:
        """Add the Rollout node and its task edge."""
        policy = rollout.policy
        self.rows.add(
            "Rollout",
            id=rollout.id,
            task=rollout.task,
            group=facts.group,
            slot=facts.slot,
            reward=rollout.reward,
            success=facts.success,
            truncated=rollout.truncated,
            policy=policy.name if policy else None,
            policy_version=policy.version if policy else None,
            temperature=policy.temperature if policy else None,
            verified=rollout.verifier is not None,
            dropped_paths=dropped,
            digest=facts.digest,
            batch=batch,
            metadata=_metadata(rollout.metadata, rollout.extras),
        )
        self.rows.edges["ATTEMPTS", "Rollout", "Task"].append((rollout.id, rollout.task))

    def add_steps(self, steps: Sequence[Step], accesses: Sequence[Accesses]) -> None:
        """Add the steps and their commands, in order."""
        edges = self.rows.edges
        for index, step in enumerate(steps):
            key = f"{self.rollout}/{index}"
            self.rows.add(
                "Step",
                id=key,
                position=index,
                observation=step.observation,
                response=step.response,
                action=step.action,
                reward=step.reward,
                valid=step.valid,
                loss_tokens=step.tokens.in_loss if step.tokens else None,
                metadata=_metadata(step.metadata, step.extras),
            )
            edges["HAS_STEP", "Rollout", "Step"].append((self.rollout, key))
            if index:
                edges["NEXT", "Step", "Step"].append((f"{self.rollout}/{index - 1}", key))
            for place, command in enumerate(step.commands or ()):
                position = len(self.commands)
                self._add_command(f"{key}/{place}", position, place, command, accesses[position])
                edges["RAN", "Step", "Command"].append((key, f"{key}/{place}"))

    def _add_command(
        self, key: str, position: int, place: int, command: Command, accesses: Accesses
    ) -> None:
        self.rows.add(
            "Command",
            id=key,
            position=position,
            place=place,
            role="agent",
            kind="write" if accesses.is_write else "read",
            traced=command.is_traced,
            records=accesses.records,
            text=command.text,
            cwd=command.cwd,
            exit_code=command.exit_code,
            stdout=command.stdout,
            stderr=command.stderr,
            duration_s=command.duration_s,
            started_at=command.started_at,
            metadata=_metadata(None, command.extras),
        )
        self.commands.append(key)

    def add_verifier(self, verifier: Verifier, accesses: Accesses) -> None:
        """Add the verifier's command, and mark which resources are not the agent's."""
        key = f"{self.rollout}/verifier"
        self.rows.add(
            "Command",
            id=key,
            position=len(self.commands),
            role="verifier",
            kind="read",
            traced=True,
            records=0,
            text=verifier.command,
            metadata=_metadata(None, verifier.extras),
        )
        self.rows.edges["VERIFIED_BY", "Rollout", "Command"].append((self.rollout, key))
        self.commands.append(key)
        self._shadowed, self._self_written = accesses.shadowed, accesses.whole
        self.add_accesses(key, accesses)

    def add_accesses(self, command: str, accesses: Accesses) -> None:
        """Add the edges from a command to the resources that it touched."""
        for kind, resource, names in (
            ("READ", "file", accesses.reads),
            ("PROBED", "file", accesses.probes),
            ("PROBED", "port", accesses.used),
            ("PROBED", "process", accesses.inspected),
            ("WROTE", "file", {*accesses.lines, *accesses.whole}),
            ("DELETED", "file", accesses.removed),
            ("OPENED", "port", accesses.opened),
            ("STARTED", "process", accesses.started),
        ):
            if names:
                edges = self.rows.edges[kind, "Command", "Resource"]
                edges += [(command, self._resource(resource, name)) for name in sorted(names)]

    def _resource(self, kind: str, name: str) -> str:
        key = self._resources.get((kind, name))
        if key is None:
            key = self._resources[kind, name] = f"{self.rollout}/r{len(self._resources)}"
        return key

    def add_fragments(self, fragments: Sequence[Fragment]) -> None:
        """Add the fragments with their writers, files and consumers."""
        nodes, edges = self.rows.nodes["Fragment"], self.rows.edges
        for number, piece in enumerate(fragments):
            key = f"{self.rollout}/f{number}"
            owned = POLICY_NAMES[piece.owned]
            nodes.append(
                (key, number, piece.first, piece.last, piece.records, piece.removal, owned)
            )
            edges["WROTE_LINES", "Command", "Fragment"].append((self.commands[piece.command], key))
            edges["IN", "Fragment", "Resource"].append((key, self._resource("file", piece.path)))
            for user, policies in piece.users.items():
                edges["USED_BY", "Fragment", "Command"].append(
                    (key, self.commands[user], POLICY_NAMES[policies])
                )

    def add_resources(self) -> None:
        """Add the resources that were named so far."""
        for (kind, name), key in self._resources.items():
            is_file = kind == "file"
            self.rows.nodes["Resource"].append(
                (
                    key,
                    kind,
                    name,
                    is_file and name in self._shadowed,
                    is_file and name in self._self_written,
                )
            )


def _metadata(given: dict[str, Any] | None, others: dict[str, Any]) -> str | None:
    """Return metadata and the keys beside it as JSON; a key of both gets an underscore."""
    merged = dict(given or {})
    for key, value in others.items():
        while key in merged:
            key += "_"
        merged[key] = value
    return json.dumps(merged, ensure_ascii=False) if merged else None
