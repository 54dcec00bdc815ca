"""DepGPO: what each command contributed to what the verifier inspected (papers: A.3 and A.4).

The graph answers five questions for a whole batch at once (which records reach the read set E
directly, which commands match its ports and processes, which writes lead to which through
consumption, which records were consumed by whom, how far each read is from each write); what
follows here is arithmetic on the answers.

The variants are the ablations of the paper's Table 2 (D27): `binary` counts any positive
contribution as 1, `no_filter` every write as 1, `no_read` gives reads nothing, `direct_only` leaves
indirect contributions out.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any, Literal

from ..graph.store import Store
from . import library
from .batch import Batch
from .grpo import GrpoOptions, group_relative
from .results import CommandCredit, RolloutCredit, StepCredit
from .step_weights import DELTA_MIN, step_weights

Variant = Literal["full", "binary", "no_filter", "no_read", "direct_only"]
WholeFile = Literal["removal", "literal", "supersede"]

NO_VERIFIER = "no verifier record"
QUERIES = (
    "rollouts",
    "steps",
    "command_kinds",
    "direct_records",
    "matched_resources",
    "write_reach",
    "consumed_records",
    "read_distances",
)


@dataclass(frozen=True)
class DepgpoOptions(GrpoOptions):
    """Parameters of `depgpo`: those of the advantage that it redistributes, and its own."""

    beta: float = 0.5
    """Decay of read credit for each edge of distance, in (0, 1]."""
    whole_file: WholeFile = "removal"
    """Reading of WHOLE_FILE (D1): `removal`, `literal` or `supersede`."""
    variant: Variant = "full"
    """`full`, or an ablation of Table 2: `binary`, `no_filter`, `no_read`, `direct_only`."""
    delta_min: float = DELTA_MIN
    """Step credits that differ by no more in total fall back to unit factors."""


@dataclass
class CommandFacts:
    """What the graph says of one command; other commands are named by their positions."""

    step: int
    command: int
    """Position within the step."""
    position: int
    kind: str
    is_traced: bool
    records: int
    """|W_c|."""
    direct: dict[int, int] = field(default_factory=dict[int, int])
    """D_c: fragment to its records."""
    is_matched: bool = False
    """It opened a port or started a process that the verifier inspected."""
    leads_to: set[int] = field(default_factory=set[int])
    """Writes that it leads to through qualifying consumption."""
    consumed: dict[int, tuple[int, set[int]]] = field(
        default_factory=dict[int, tuple[int, set[int]]]
    )
    """Fragment to its records and qualifying consumers."""
    distances: dict[int, int] = field(default_factory=dict[int, int])
    """d_G: the writes that it supports, with the shortest distance."""


def command_facts(
    store: Store, groups: Sequence[str], whole_file: WholeFile
) -> dict[str, dict[int, CommandFacts]]:
    """Ask the graph about the commands of groups: rollout to position to facts."""
    facts: defaultdict[str, dict[int, CommandFacts]] = defaultdict(dict)

    def ask(query: str) -> list[dict[str, Any]]:
        given: dict[str, Any] = {"groups": list(groups)}
        if "whole_file" in library.load(query).parameters:
            given["whole_file"] = whole_file
        return library.run(store, query, **given).to_pylist()

    for row in ask("command_kinds"):
        facts[row["rollout"]][row["position"]] = CommandFacts(
            row["step"], row["command"], row["position"], row["kind"], row["traced"], row["records"]
        )
    for row in ask("direct_records"):
        facts[row["rollout"]][row["position"]].direct[row["fragment"]] = row["records"]
    for row in ask("matched_resources"):
        facts[row["rollout"]][row["position"]].is_matched = True
    for row in ask("write_reach"):
        facts[row["rollout"]][row["position"]].leads_to.add(row["consumer"])
    for row in ask("consumed_records"):
        consumed = facts[row["rollout"]][row["position"]].consumed
        consumed.setdefault(row["fragment"], (row["records"], set()))[1].add(row["consumer"])
    for row in ask("read_distances"):
        facts[row["rollout"]][row["position"]].distances[row["write"]] = row["distance"]
    return facts


def command_credits(
    commands: dict[int, CommandFacts], *, beta: float, variant: Variant
) -> list[CommandCredit]:
    """Turn what the graph says of one rollout's commands into their credits (Eq. 14, 15).

    `beta` in (0, 1] is the decay for each edge of distance. Commands that were not traced get none.
    """
    reaching = writes_reaching_e(commands, variant)
    writes = {
        position: _write_credit(facts, reaching, variant)
        for position, facts in commands.items()
        if facts.kind == "write"
    }
    found: list[CommandCredit] = []
    for position, facts in sorted(commands.items()):
        if not facts.is_traced:
            continue
        if position in writes:
            found.append(writes[position])
            continue
        terms = (
            beta**distance * writes[write].credit for write, distance in facts.distances.items()
        )
        found.append(
            CommandCredit(
                step=facts.step,
                command=facts.command,
                position=position,
                kind="read",
                credit=0.0 if variant == "no_read" else fsum(terms),
                records=0,
                direct=0,
                indirect=0,
                reaches=not reaching.isdisjoint(facts.distances),
            )
        )
    return found


def writes_reaching_e(commands: dict[int, CommandFacts], variant: Variant = "full") -> set[int]:
    """S_E: the positions of the writes with a path to the verifier's read set in G_E (A.3)."""
    ends = {position for position, facts in commands.items() if facts.direct or facts.is_matched}
    if variant == "direct_only":
        return ends
    return ends | {
        position for position, facts in commands.items() if not ends.isdisjoint(facts.leads_to)
    }


def _write_credit(facts: CommandFacts, reaching: set[int], variant: Variant) -> CommandCredit:
    indirect: dict[int, int] = {}
    if variant != "direct_only":
        indirect = {
            fragment: records
            for fragment, (records, consumers) in facts.consumed.items()
            if not reaching.isdisjoint(consumers)
        }
    if facts.records:
        contribution = sum({**facts.direct, **indirect}.values()) / facts.records
    else:
        contribution = float(facts.position in reaching)
    if variant == "no_filter" or (variant == "binary" and contribution > 0):
        contribution = 1.0
    return CommandCredit(
        step=facts.step,
        command=facts.command,
        position=facts.position,
        kind="write",
        credit=contribution,
        records=facts.records,
        direct=sum(facts.direct.values()),
        indirect=sum(indirect.values()),
        reaches=facts.position in reaching,
    )


def depgpo(batch: Batch, options: DepgpoOptions) -> list[RolloutCredit]:
    """Redistribute the group-relative advantage over the steps by their credit (A.5)."""
    advantages = group_relative(batch, options)
    facts = command_facts(batch.store, batch.groups, options.whole_file)
    credited: list[RolloutCredit] = []
    for row in batch.rollouts:
        rollout, tokens = row["rollout"], batch.loss_tokens[row["rollout"]]
        commands: list[CommandCredit] = []
        if row["verified"]:
            commands = command_credits(
                facts.get(rollout, {}), beta=options.beta, variant=options.variant
            )
        of_step: defaultdict[int, list[float]] = defaultdict(list)
        for command in commands:
            of_step[command.step].append(command.credit)
        of_steps = [fsum(of_step[step]) if step in of_step else None for step in range(len(tokens))]
        weights = step_weights(of_steps, tokens, delta_min=options.delta_min)
        fallback = weights.fallback if row["verified"] or not tokens else NO_VERIFIER
        advantage = advantages[rollout]
        steps = [
            StepCredit(step, credit, factor, weight, _product(weight, advantage))
            for step, (credit, factor, weight) in enumerate(
                zip(of_steps, weights.factors, weights.weights, strict=True)
            )
        ]
        credited.append(
            RolloutCredit(rollout, row["group"], "depgpo", advantage, fallback, commands, steps)
        )
    return credited


def _product(weight: float, advantage: float | None) -> float | None:
    return None if advantage is None else weight * advantage + 0.0  # no negative zero
