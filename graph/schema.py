"""The graph's one schema table: every label, edge type and property, for both engines.

The embedded engine's DDL, Neo4j's constraints, the Arrow types of what ingest writes, the list of
labels that a statement may name and the page `docs/graph.md` are all read off this table. Every
node has one key, the string `id`, stable across re-ingest:

    Rollout   R                     the record's id
    Step      R/2                   step 2 of rollout R
    Command   R/2/0, R/verifier     command 0 of step 2; the verifier's
    Resource  R/r12                 the twelfth resource that the rollout touched
    Fragment  R/f40                 its fortieth fragment
    State     T/HASH                a state of task T, by the hash of its key
    Predicate T/HASH                a progress predicate of task T, by the hash of its id
    Channel   T/HASH                a channel of task T's rubric, by the hash of its name
    Context   T/HASH                a context of task T, by the hash of all that it is made of
    State     T/success             where successful rollouts of T end whose last state is not known

The last part never holds a slash, so no two nodes of a label share a key, whatever a rollout's id
looks like. A property of type TEXT is capped at `TEXT_LIMIT` characters; where that cut it,
`NAME_length` and `NAME_sha256` tell of the whole text, which the rollout log keeps.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

import pyarrow as pa

SCHEMA_VERSION = 2
TEXT_LIMIT = 4096

Type = Literal["STRING", "INT64", "DOUBLE", "BOOLEAN", "STRING[]", "TEXT"]

ARROW: dict[str, pa.DataType] = {
    "STRING": pa.string(),
    "INT64": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "STRING[]": pa.list_(pa.string()),
}


@dataclass(frozen=True)
class Property:
    """A property of a node or an edge."""

    name: str
    type: Type
    about: str

    def columns(self) -> Iterator[tuple[str, str]]:
        """Yield (column, engine type): one, or three for a TEXT."""
        if self.type != "TEXT":
            yield self.name, self.type
            return
        yield self.name, "STRING"
        yield f"{self.name}_length", "INT64"
        yield f"{self.name}_sha256", "STRING"


@dataclass(frozen=True)
class Node:
    """A label; its key is the string `id`."""

    label: str
    about: str
    properties: tuple[Property, ...]
    indexed: str | None = None
    """A property that Neo4j keeps an index of; the embedded engine scans its column instead."""

    @property
    def columns(self) -> dict[str, str]:
        """Column to engine type, the key first."""
        return {"id": "STRING"} | _columns(self.properties)


@dataclass(frozen=True)
class Edge:
    """An edge type, and the labels that it joins."""

    type: str
    ends: tuple[tuple[str, str], ...]
    about: str
    properties: tuple[Property, ...] = ()

    @property
    def columns(self) -> dict[str, str]:
        """Column to engine type, the two ends' keys first."""
        return {"source": "STRING", "target": "STRING"} | _columns(self.properties)


def _columns(properties: tuple[Property, ...]) -> dict[str, str]:
    return {name: kind for prop in properties for name, kind in prop.columns()}


_METADATA = Property("metadata", "STRING", "JSON: metadata, and keys that the format does not name")
_WHOLE_FILE = "the `whole_file` policies (D1) under which it holds"

NODES: tuple[Node, ...] = (
    Node(
        "Task",
        "one problem instance",
        (
            Property("description", "TEXT", "the prompt that states the task"),
            Property("benchmark", "STRING", "such as terminal-bench@2.0"),
            Property("values", "STRING[]", "typed values in the description: no stdout evidence"),
            Property("rubric", "STRING", "JSON: progress channels and how they depend on another"),
            Property("digest", "STRING", "hash of the record; NULL: a bare task, known by its id"),
            _METADATA,
        ),
    ),
    Node(
        "Rollout",
        "one recorded attempt at a task",
        (
            Property("task", "STRING", "the task's id"),
            Property("group", "STRING", "the sibling rollouts that are compared"),
            Property("slot", "INT64", "position within the group"),
            Property("reward", "DOUBLE", "outcome reward; NULL: unscored"),
            Property("success", "BOOLEAN", "NULL: not known"),
            Property("truncated", "BOOLEAN", "ended by a limit of steps, tokens or time"),
            Property("policy", "STRING", "name of the policy that sampled it"),
            Property("policy_version", "INT64", "version of the weights that sampled it"),
            Property("temperature", "DOUBLE", "sampling temperature"),
            Property("verified", "BOOLEAN", "the verifier was traced"),
            Property("dropped_paths", "INT64", "relative paths with no known working directory"),
            Property("digest", "STRING", "hash of the record and of what its edges were made with"),
            Property("batch", "STRING", "the log's batch that holds its record"),
            _METADATA,
        ),
        indexed="group",
    ),
    Node(
        "Step",
        "one interaction of a rollout",
        (
            Property("position", "INT64", "position within the rollout"),
            Property("observation", "TEXT", "what the policy saw before acting"),
            Property("response", "TEXT", "what it generated"),
            Property("action", "TEXT", "the canonical action taken"),
            Property("reward", "DOUBLE", "the environment's reward for the step"),
            Property("valid", "BOOLEAN", "the environment accepted the action"),
            Property("annotated", "BOOLEAN", "which progress predicates it marked is known"),
            Property("progress", "STRING[]", "rubric channels reached before it; NULL: not known"),
            Property("reached", "STRING[]", "those that were reached at some time before it"),
            Property("loss_tokens", "INT64", "generated tokens in the loss; NULL: not known"),
            _METADATA,
        ),
    ),
    Node(
        "State",
        "a canonical environment state that the rollouts of a task share",
        (
            Property("task", "STRING", "the task's id"),
            Property("key", "TEXT", "equal keys are equal states; NULL: an end that is not known"),
        ),
    ),
    Node(
        "Predicate",
        "a progress predicate of a task",
        (
            Property("task", "STRING", "the task's id"),
            Property("name", "STRING", "the predicate's id in the task's record"),
        ),
    ),
    Node(
        "Channel",
        "a progress channel of a task's rubric",
        (
            Property("task", "STRING", "the task's id"),
            Property("name", "STRING", "its name in the rubric"),
            Property("required", "DOUBLE", "the value at which it counts as reached"),
        ),
    ),
    Node(
        "Context",
        "what decisions are matched by: a state summary, and the rubric's progress and frontier",
        (
            Property("task", "STRING", "the task's id"),
            Property("level", "STRING", "of the state summary: exact or coarse"),
            Property("state", "STRING", "JSON: the state summary"),
            Property("progress", "STRING[]", "C: the rubric's channels that are reached"),
            Property("frontier", "STRING[]", "F: those that could come next (MCGPO, Eq. 8)"),
        ),
    ),
    Node(
        "Command",
        "a shell command of a step, or the verifier's",
        (
            Property("position", "INT64", "execution order within the rollout"),
            Property("place", "INT64", "position within the step; NULL: the verifier's"),
            Property("role", "STRING", "agent or verifier"),
            Property(
                "kind", "STRING", "write: at least one record is left after filtering; or read"
            ),
            Property("traced", "BOOLEAN", "what it touched is known"),
            Property("inferred", "BOOLEAN", "that was inferred from its text, and not traced"),
            Property("records", "INT64", "tracked file records that it wrote: the size of W_c"),
            Property("text", "TEXT", "the command as typed"),
            Property("cwd", "STRING", "the working directory when it started"),
            Property("exit_code", "INT64", "its exit status"),
            Property("stdout", "TEXT", "what it printed"),
            Property("stderr", "TEXT", "what it printed on standard error"),
            Property("duration_s", "DOUBLE", "seconds"),
            Property("started_at", "DOUBLE", "Unix time"),
            _METADATA,
        ),
    ),
    Node(
        "Resource",
        "a file path, port or process that a rollout touched",
        (
            Property("kind", "STRING", "file, port or process"),
            Property("name", "STRING", "normalized path, port number or process name"),
        ),
    ),
    Node(
        "Fragment",
        "a maximal range of lines of one file that one command wrote and that share one fate",
        (
            Property("number", "INT64", "its number within the rollout"),
            Property("first", "INT64", "first line; NULL: the whole file"),
            Property("last", "INT64", "last line; NULL: the whole file"),
            Property("records", "INT64", "tracked records: lines, or 1 for the whole file"),
            Property("removal", "BOOLEAN", "the record of the file's removal"),
            Property("owned", "STRING[]", f"still its writer's when the agent ends: {_WHOLE_FILE}"),
        ),
    ),
    Node(
        "CreditRun",
        "computed credits",
        (
            Property("method", "STRING", "credit method"),
            Property("parameters", "STRING", "of the method, as JSON"),
            Property("groups", "STRING[]", "the groups asked for; empty: every group"),
            Property("code_version", "STRING", "rollgraph's version"),
            Property("query_sha256", "STRING", "hash of the query texts that it ran"),
            Property("created_at", "STRING", "ISO 8601, UTC"),
            Property("rollouts", "INT64", "rollouts credited"),
        ),
    ),
    Node(
        "Batch",
        "a batch of the rollout log that the graph holds",
        (Property("records", "INT64", "records in the batch"),),
    ),
    Node(
        "Schema",
        "the one node that tells which schema the database has",
        (Property("version", "INT64", "of the schema"),),
    ),
)

_TOUCHES = (("Command", "Resource"),)
_OF_VERIFIER = (
    Property("shadowed", "BOOLEAN", "of the verifier: marked as not the agent's; else NULL"),
    Property("self_written", "BOOLEAN", "of the verifier: it wrote the file itself; else NULL"),
)

EDGES: tuple[Edge, ...] = (
    Edge("ATTEMPTS", (("Rollout", "Task"),), "the rollout's task"),
    Edge("HAS_STEP", (("Rollout", "Step"),), "the rollout's steps"),
    Edge("NEXT", (("Step", "Step"),), "the step after"),
    Edge("RAN", (("Step", "Command"),), "the commands of a step"),
    Edge("FROM", (("Step", "State"),), "the state before the step"),
    Edge("TO", (("Step", "State"),), "the state after the step"),
    Edge(
        "LEADS_TO",
        (("State", "State"),),
        "one step's transition, from its FROM to its TO: the state graph's edges",
        (
            Property("step", "STRING", "the step's id"),
            Property("group", "STRING", "its rollout's group"),
            Property("succeeds", "BOOLEAN", "it is the last step of a successful rollout"),
        ),
    ),
    Edge("ENDED_IN", (("Rollout", "State"),), "the state after the last step"),
    Edge(
        "HAS_PREDICATE",
        (("Task", "Predicate"),),
        "the progress predicates that the task's record lists",
        (Property("weight", "DOUBLE", "the predicate's share of the potential"),),
    ),
    Edge("REQUIRES", (("Predicate", "Predicate"),), "the predicate builds on the other"),
    Edge("VERIFIED", (("Step", "Predicate"),), "the step verified the predicate"),
    Edge("INVALIDATED", (("Step", "Predicate"),), "the step broke the predicate"),
    Edge("REPAIRED", (("Step", "Predicate"),), "the step lifted a break of the predicate"),
    Edge("HAS_CHANNEL", (("Task", "Channel"),), "the channels of the task's rubric"),
    Edge("REQUIRES_EVER", (("Channel", "Channel"),), "the other has to have been reached before"),
    Edge("REQUIRES_CURRENT", (("Channel", "Channel"),), "the other has to be reached now"),
    Edge("BLOCKS", (("Channel", "Channel"),), "while it is reached, the other is stopped"),
    Edge("AT", (("Step", "Context"),), "the context that the step decided in, one for each level"),
    Edge("VERIFIED_BY", (("Rollout", "Command"),), "the verifier's command"),
    Edge("READ", _TOUCHES, "read the file's contents", _OF_VERIFIER),
    Edge(
        "PROBED",
        _TOUCHES,
        "tested for the file, used the port or inspected the process",
        _OF_VERIFIER,
    ),
    Edge("WROTE", _TOUCHES, "wrote the file"),
    Edge("DELETED", _TOUCHES, "removed the file"),
    Edge("OPENED", _TOUCHES, "opened the port"),
    Edge("STARTED", _TOUCHES, "started the process"),
    Edge("WROTE_LINES", (("Command", "Fragment"),), "owns what it wrote until it is overwritten"),
    Edge("IN", (("Fragment", "Resource"),), "the fragment's file"),
    Edge(
        "USED_BY",
        (("Fragment", "Command"),),
        "a later write command that qualifies as its consumer (DepGPO, A.3, conditions 1 to 4)",
        (Property("whole_file", "STRING[]", _WHOLE_FILE),),
    ),
    Edge(
        "FEEDS",
        (("Command", "Command"),),
        "the command dependency graph G (DepGPO, A.2)",
        (
            Property("kind", "STRING", "file, stdout or mixed"),
            Property("evidence", "STRING[]", "the lines that were read and the values reused"),
            Property("whole_file", "STRING[]", _WHOLE_FILE),
            Property(
                "qualifies", "STRING[]", "the policies under which it is an edge of G_E (A.3)"
            ),
        ),
    ),
    Edge(
        "PREFERRED",
        (("Step", "Step"),),
        "of a credit run: the step's action is preferred to the other's (MCGPO)",
        (
            Property("run", "STRING", "the credit run's id"),
            Property("level", "STRING", "of the context that they share: exact or coarse"),
            Property("fold", "INT64", "of the two rollouts: 0 or 1"),
            Property("contrast", "DOUBLE", "difference of the two actions' rates of success"),
            Property("support", "INT64", "rollouts of evidence for the action that has fewer"),
            Property("weight", "DOUBLE", "of the pair in the loss"),
        ),
    ),
    Edge(
        "CREDITED",
        (("CreditRun", "Rollout"), ("CreditRun", "Step"), ("CreditRun", "Command")),
        "a computed value",
        (
            Property("credit", "DOUBLE", "of a command or a step; NULL: none"),
            Property("factor", "DOUBLE", "of a step"),
            Property("weight", "DOUBLE", "of a step"),
            Property("advantage", "DOUBLE", "of a rollout or a step; NULL: never assigned"),
            Property(
                "fallback", "STRING", "of a rollout: why its weights are not the method's own"
            ),
            Property("direct", "INT64", "of a command: records that reach E directly"),
            Property("indirect", "INT64", "of a command: records that reach E through a consumer"),
            Property("reaches", "BOOLEAN", "of a command: it is connected to E"),
        ),
    ),
)

NODE: dict[str, Node] = {node.label: node for node in NODES}
EDGE: dict[str, Edge] = {edge.type: edge for edge in EDGES}


def embedded_ddl() -> list[str]:
    """Return the statements that make an empty embedded database."""
    statements: list[str] = []
    for node in NODES:
        columns = ", ".join(f"`{name}` {kind}" for name, kind in node.columns.items())
        statements.append(f"CREATE NODE TABLE `{node.label}` ({columns}, PRIMARY KEY (`id`))")
    for edge in EDGES:
        ends = [f"FROM `{source}` TO `{target}`" for source, target in edge.ends]
        columns = [f"`{name}` {kind}" for name, kind in _columns(edge.properties).items()]
        statements.append(f"CREATE REL TABLE `{edge.type}` ({', '.join(ends + columns)})")
    return statements


def neo4j_ddl() -> list[str]:
    """Return the statements that prepare a Neo4j database: keys and indexes."""
    statements = [
        f"CREATE CONSTRAINT rollgraph_{node.label.lower()}_id IF NOT EXISTS "
        f"FOR (n:`{node.label}`) REQUIRE n.id IS UNIQUE"
        for node in NODES
    ]
    statements += [
        f"CREATE INDEX rollgraph_{node.label.lower()}_{node.indexed} IF NOT EXISTS "
        f"FOR (n:`{node.label}`) ON (n.`{node.indexed}`)"
        for node in NODES
        if node.indexed
    ]
    return statements


def capped(text: str | None) -> tuple[str | None, int | None, str | None]:
    """Return the columns of a TEXT: text up to the limit, and of a longer one length and hash."""
    if text is None or len(text) <= TEXT_LIMIT:
        return text, None, None
    return text[:TEXT_LIMIT], len(text), sha256(text.encode()).hexdigest()
