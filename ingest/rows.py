"""From one record to the rows of the graph."""

import json
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any

from ..graph.records import Command, Rollout, Step, Task, Verifier
from ..graph.rows import Rows
from .accesses import Accesses, of_command, of_verifier
from .context_rows import ContextRows, RolloutContexts
from .dependencies import dependencies
from .ownership import POLICY_NAMES, Fragment, replay
from .paths import PathFilter
from .predicate_rows import PredicateRows
from .state_rows import StateRows
from .values import Extractor, TypedValue, resolved


@dataclass(frozen=True)
class RolloutFacts:
    """What the rows of a rollout hold beside its record."""

    group: str
    slot: int
    success: bool | None
    task_values: Set[TypedValue]
    states: Sequence[str | None]
    """The T + 1 state keys; None: not known."""
    contexts: RolloutContexts
    digest: str


def task_properties(task: Task, values: Iterable[str], digest: str) -> dict[str, Any]:
    """Return a Task node's properties; `values` are the typed values of its description."""
    known = {"type", "id", "description", "benchmark", "rubric", "metadata"}
    rest = task.model_dump(mode="json", exclude=known, exclude_unset=True)
    return {
        "id": task.id,
        "description": task.description,
        "benchmark": task.benchmark,
        "values": sorted(values),
        "rubric": task.rubric.model_dump_json(exclude_unset=True) if task.rubric else None,
        "digest": digest,
        "metadata": _metadata(task.metadata, rest),
    }


def add_rollout(
    rows: Rows,
    states: StateRows,
    predicates: PredicateRows,
    contexts: ContextRows,
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
    graph.add_steps(steps, accesses, facts.contexts)
    states.add(rollout.id, rollout.task, facts.group, facts.success, facts.states)
    predicates.add_marks(rollout)
    contexts.add_rollout(rollout, facts.contexts)
    for position, part in enumerate(accesses):
        graph.add_accesses(graph.commands[position], part)
    if rollout.verifier and verifier:
        graph.add_verifier(rollout.verifier, verifier)
    found = replay(accesses, verifier)
    graph.add_fragments(found.fragments)
    graph.add_resources()
    described = resolved(facts.task_values, {command.cwd for command in commands})
    texts = [extract(command.text, command.cwd) - described for command in commands]
    outputs = [extract(command.stdout or "", command.cwd) for command in commands]
    feeds = rows.between("FEEDS", "Command", "Command")
    for edge in dependencies(found.uses, texts, outputs):
        feeds.append(
            graph.commands[edge.source],
            graph.commands[edge.target],
            edge.kind,
            edge.evidence,
            POLICY_NAMES[edge.policies],
            POLICY_NAMES[edge.qualifies],
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
        self.rows.between("ATTEMPTS", "Rollout", "Task").append(rollout.id, rollout.task)

    def add_steps(
        self, steps: Sequence[Step], accesses: Sequence[Accesses], contexts: RolloutContexts
    ) -> None:
        """Add the steps and their commands, in order."""
        has_step = self.rows.between("HAS_STEP", "Rollout", "Step")
        then = self.rows.between("NEXT", "Step", "Step")
        ran = self.rows.between("RAN", "Step", "Command")
        for index, step in enumerate(steps):
            key = f"{self.rollout}/{index}"
            progress = contexts.progress[index]
            self.rows.add(
                "Step",
                id=key,
                position=index,
                observation=step.observation,
                response=step.response,
                action=step.action,
                reward=step.reward,
                valid=step.valid,
                annotated=step.predicates is not None,
                progress=sorted(progress.now) if progress else None,
                reached=sorted(progress.ever) if progress else None,
                loss_tokens=step.tokens.in_loss if step.tokens else None,
                metadata=_metadata(step.metadata, step.extras),
            )
            has_step.append(self.rollout, key)
            if index:
                then.append(f"{self.rollout}/{index - 1}", key)
            for place, command in enumerate(step.commands or ()):
                position = len(self.commands)
                self._add_command(f"{key}/{place}", position, place, command, accesses[position])
                ran.append(key, f"{key}/{place}")

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
            inferred=bool(command.inferred),
            records=accesses.records,
            text=command.text,
            cwd=command.cwd,
            exit_code=command.exit_code,
            stdout=command.stdout,
            stderr=command.stderr,
            duration_s=command.duration_s,
            started_at=command.started_at,
            metadata=_metadata(command.metadata, command.extras),
        )
        self.commands.append(key)

    def add_verifier(self, verifier: Verifier, accesses: Accesses) -> None:
        """Add the verifier's command and what it inspected."""
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
        self.rows.between("VERIFIED_BY", "Rollout", "Command").append(self.rollout, key)
        self.commands.append(key)
        self.add_accesses(key, accesses, is_verifier=True)

    def add_accesses(self, command: str, accesses: Accesses, *, is_verifier: bool = False) -> None:
        """Add the edges from a command to the resources that it touched."""
        for kind, resource, names in (
            ("READ", "file", accesses.reads),
            ("PROBED", "file", accesses.probes),
            ("PROBED", "port", accesses.used),
            ("PROBED", "process", accesses.inspected),
            ("WROTE", "file", accesses.lines.keys() | accesses.whole),
            ("DELETED", "file", accesses.removed),
            ("OPENED", "port", accesses.opened),
            ("STARTED", "process", accesses.started),
        ):
            touched = sorted(names)
            ends = ([command] * len(touched), [self._resource(resource, name) for name in touched])
            edges = self.rows.between(kind, "Command", "Resource")
            if kind not in ("READ", "PROBED"):
                edges.extend(*ends)
            elif not is_verifier:
                edges.extend(*ends, [None] * len(touched), [None] * len(touched))
            else:
                is_file = resource == "file"
                shadowed = [is_file and name in accesses.shadowed for name in touched]
                edges.extend(
                    *ends, shadowed, [is_file and name in accesses.whole for name in touched]
                )

    def _resource(self, kind: str, name: str) -> str:
        key = self._resources.get((kind, name))
        if key is None:
            key = self._resources[kind, name] = f"{self.rollout}/r{len(self._resources)}"
        return key

    def add_fragments(self, fragments: Sequence[Fragment]) -> None:
        """Add the fragments with their writers, files and consumers."""
        nodes = self.rows.of("Fragment")
        wrote = self.rows.between("WROTE_LINES", "Command", "Fragment")
        within = self.rows.between("IN", "Fragment", "Resource")
        used = self.rows.between("USED_BY", "Fragment", "Command")
        for number, piece in enumerate(fragments):
            key = f"{self.rollout}/f{number}"
            owned = POLICY_NAMES[piece.owned]
            nodes.append(key, number, piece.first, piece.last, piece.records, piece.removal, owned)
            wrote.append(self.commands[piece.command], key)
            within.append(key, self._resource("file", piece.path))
            for user, policies in piece.users.items():
                used.append(key, self.commands[user], POLICY_NAMES[policies])

    def add_resources(self) -> None:
        """Add the resources that were named so far."""
        kinds = [kind for kind, _ in self._resources]
        names = [name for _, name in self._resources]
        self.rows.of("Resource").extend(list(self._resources.values()), kinds, names)


def _metadata(given: dict[str, Any] | None, others: dict[str, Any]) -> str | None:
    """Return metadata and the keys beside it as JSON; a key of both gets an underscore."""
    merged = dict(given or {})
    for key, value in others.items():
        while key in merged:
            key += "_"
        merged[key] = value
    return json.dumps(merged, ensure_ascii=False) if merged else None
