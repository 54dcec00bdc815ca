"""The rollout file format, version 1, as typed models: the one place where it is written down.

A file is UTF-8 JSON Lines; a line is a `Task` or a `Rollout`, told apart by `"type"`. A missing
optional key means "not known", which differs from an empty list ("known to be none"). Positions
count from 0, line ranges are 1-based and inclusive, token spans are half-open. Numbers are finite.
Unknown keys are kept. The JSON Schema that the command line prints is made from these models.
"""

from collections.abc import Iterator
from math import isfinite
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
)
from pydantic import model_validator as validator
from pydantic_core import PydanticCustomError


def _finite(value: dict[str, Any]) -> dict[str, Any]:
    """Refuse a NaN or an infinity anywhere inside a free JSON object."""
    for where, number in _floats(value, ""):
        if not isfinite(number):
            found = f"expected finite numbers, found {number} at {where}"
            raise PydanticCustomError("not_finite", "{found}", {"found": found})
    return value


def _floats(value: object, where: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, float):
        yield where, value
    elif isinstance(value, dict):
        for key, item in cast("dict[str, object]", value).items():
            yield from _floats(item, f"{where}.{key}" if where else key)
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            yield from _floats(item, f"{where}[{index}]")


def _path(value: str) -> str:
    if not value or "\0" in value:
        found = "an empty string" if not value else "a NUL character"
        raise PydanticCustomError("path", "expected a path, found {found}", {"found": found})
    return value


MAX_LINE = 2**31 - 1


def _line_range(value: tuple[int, int]) -> tuple[int, int]:
    first, last = value
    if not 1 <= first <= last <= MAX_LINE:
        bounds = "1 <= first <= last" if last <= MAX_LINE else f"last <= {MAX_LINE}"
        raise PydanticCustomError(
            "line_range",
            "expected [first, last] with {bounds}, found [{first}, {last}]",
            {"bounds": bounds, "first": first, "last": last},
        )
    return value


Id = Annotated[str, Field(min_length=1, max_length=1_000)]
"""A server's index takes no longer ones."""
Integer = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Path = Annotated[str, AfterValidator(_path)]
LineRange = Annotated[tuple[Integer, Integer], AfterValidator(_line_range)]
Port = Annotated[int, Field(ge=1, le=65535)]
JsonObject = Annotated[dict[str, Any], AfterValidator(_finite)]
Edge = tuple[Id, Id]
Span = tuple[Integer, Integer]


class _Record(BaseModel):
    model_config = ConfigDict(
        extra="allow", strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    @validator(mode="after")
    def _extras_are_finite(self) -> Self:
        if self.model_extra:
            _finite(self.model_extra)
        return self

    @property
    def extras(self) -> dict[str, Any]:
        """The keys that the format does not name, as they came in."""
        return self.model_extra or {}


class Passage(_Record):
    """A paragraph that answers a subquestion, with the offsets of the answer's mentions."""

    page: str
    paragraph: Integer | str
    mentions: list[Span] | None = None
    """`[start, end)` character offsets of the answer within the paragraph."""


class Subquestion(_Record):
    """A node of a question's evidence graph."""

    id: Id
    requires: list[Id] | None = None
    """The subquestions that have to be answered first."""
    passages: list[Passage] | None = None


class Rubric(_Record):
    """Progress channels and how they depend on one another; an edge [a, b] reads "b needs a"."""

    channels: list[Id] | None = None
    """Where they are not given: every channel that an edge or `required` names."""
    requires_ever: list[Edge] | None = None
    """a has to have been reached at some time before."""
    requires_current: list[Edge] | None = None
    """a has to be reached now."""
    blocks: list[Edge] | None = None
    """An edge [a, b]: while a is present, b is stopped."""
    required: dict[Id, float] | None = None
    """The value at which a channel counts as reached; 1 where it is not given."""

    @validator(mode="after")
    def _channels_are_listed(self) -> Self:
        if self.channels is not None and (unlisted := sorted(self._named - set(self.channels))):
            found = f"expected that every channel is listed in channels, found {unlisted[0]}"
            raise PydanticCustomError("channels", "{found}", {"found": found})
        return self

    @property
    def _named(self) -> set[str]:
        edges = (self.requires_ever, self.requires_current, self.blocks)
        return {name for part in edges for edge in part or () for name in edge} | {
            *(self.required or ())
        }

    @property
    def names(self) -> list[str]:
        """The channels, sorted."""
        return sorted(self._named | set(self.channels or ()))


class Predicate(_Record):
    """A progress predicate of a task."""

    id: Id
    requires: list[Id] | None = None
    weight: float | None = None
    """Its share of the potential; 1 where it is not given."""


def _listed(predicates: list[Predicate]) -> list[Predicate]:
    ids = {predicate.id for predicate in predicates}
    if len(ids) < len(predicates):
        raise PydanticCustomError("predicates", "expected ids that differ, found one twice")
    for predicate in predicates:
        if unlisted := sorted(set(predicate.requires or ()) - ids):
            raise PydanticCustomError(
                "predicates",
                "expected that what {id} requires is listed too, found {unlisted}",
                {"id": predicate.id, "unlisted": unlisted[0]},
            )
    return predicates


class Task(_Record):
    """One problem instance."""

    type: Literal["task"]
    id: Id
    description: str | None = None
    """The prompt that states the task."""
    benchmark: str | None = None
    answers: list[str] | None = None
    """Reference answer aliases (question answering)."""
    subquestions: list[Subquestion] | None = None
    rubric: Rubric | None = None
    predicates: Annotated[list[Predicate], AfterValidator(_listed)] | None = None
    metadata: JsonObject | None = None


class Write(_Record):
    """A file that a command wrote."""

    path: Path
    lines: list[LineRange] | None = None
    """The new-side line ranges of the command's diff of the file; absent where none can be
    recovered (binary, oversized, created empty, only deletions, over the cap)."""


def _as_write(value: object) -> object:
    return {"path": value} if isinstance(value, str) else value


PathOrWrite = Annotated[Write, BeforeValidator(_as_write, json_schema_input_type=Path | Write)]


class Ports(_Record):
    """The network ports of a command."""

    opened: list[Port] | None = None
    used: list[Port] | None = None


class Processes(_Record):
    """The long-lived processes of a command."""

    started: list[Id] | None = None
    inspected: list[Id] | None = None


class Command(_Record):
    """A shell command that a step ran, with what it touched."""

    text: str
    """The command as typed."""
    cwd: Path | None = None
    """The absolute working directory when it started."""
    exit_code: Integer | None = None
    stdout: str | None = None
    stderr: str | None = None
    reads: list[Path] | None = None
    """Files whose contents it read."""
    probes: list[Path] | None = None
    """Files that it only tested for (existence, metadata)."""
    writes: list[Write] | None = None
    deletes: list[Path] | None = None
    """Removed files; a rename is a delete of the source and a write of the destination."""
    ports: Ports | None = None
    processes: Processes | None = None
    duration_s: float | None = None
    started_at: float | None = None
    """Unix time."""
    inferred: bool | None = None
    """What it touched was inferred from its text, and not traced."""
    metadata: JsonObject | None = None
    """Anything else, such as how far a recorder's record can be trusted."""

    @property
    def is_traced(self) -> bool:
        """Whether the recorder saw it: any list of what it touched is there, even empty."""
        touched = (
            self.reads, self.probes, self.writes, self.deletes, self.ports, self.processes,
        )  # fmt: skip
        return any(part is not None for part in touched)


class Document(_Record):
    """A retrieved chunk: characters [start, end) of a paragraph."""

    page: str | None = None
    paragraph: Integer | str | None = None
    start: Integer | None = None
    end: Integer | None = None
    title: str | None = None
    text: str | None = None


class Search(_Record):
    """A retrieval call."""

    query: str | None = None
    executed: bool | None = None
    documents: list[Document] | None = None
    query_span: Span | None = None
    """Token positions of the executed query within the step's response."""
    call_span: Span | None = None
    """Token positions of the whole tool call within the step's response."""


class State(_Record):
    """An environment state; equal keys are equal states of one task."""

    key: str | None = None
    exact: JsonObject | None = None
    coarse: JsonObject | None = None
    observation: str | None = None
    """Of the final state: what the policy would have seen next."""


class Marks(_Record):
    """The progress predicates that a step marked."""

    verified: list[Id] | None = None
    invalidated: list[Id] | None = None
    repaired: list[Id] | None = None


class Tokens(_Record):
    """The tokens of a generated response; the lists that are there have `count` members each."""

    count: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    ids: list[Integer] | None = None
    logprobs: list[float] | None = None
    mask: list[Literal[0, 1]] | None = None
    """1: the token enters the loss."""

    @validator(mode="after")
    def _lengths_agree(self) -> Self:
        lists = {"ids": self.ids, "logprobs": self.logprobs, "mask": self.mask}
        lengths = {name: len(value) for name, value in lists.items() if value is not None}
        if self.count is not None:
            lengths["count"] = self.count
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise PydanticCustomError("lengths", "expected equal lengths, found {f}", {"f": found})
        return self

    @property
    def in_loss(self) -> int | None:
        """How many tokens enter the loss; None: not known."""
        if self.mask is not None:
            return sum(self.mask)
        if self.count is not None:
            return self.count
        known = self.ids if self.ids is not None else self.logprobs
        return None if known is None else len(known)


class Step(_Record):
    """One interaction: what the policy saw, what it generated, what that did."""

    observation: str | None = None
    """What the policy saw before acting."""
    response: str | None = None
    """What it generated, verbatim."""
    action: str | None = None
    """The canonical action taken."""
    reward: float | None = None
    valid: bool | None = None
    """The environment accepted the action."""
    state: State | None = None
    """The state before the action."""
    progress: dict[str, float | bool] | None = None
    """Rubric channel to value, as it stands after this step."""
    predicates: Marks | None = None
    tokens: Tokens | None = None
    commands: list[Command] | None = None
    searches: list[Search] | None = None
    metadata: JsonObject | None = None


class Policy(_Record):
    """The policy that sampled a rollout."""

    name: str | None = None
    version: Integer | None = None
    temperature: float | None = None


class Verifier(_Record):
    """What the task's verifier inspected, and which files are its own or its harness's."""

    command: str | None = None
    reads: list[Path] | None = None
    probes: list[Path] | None = None
    writes: list[PathOrWrite] | None = None
    """Files that the verifier wrote itself: paths, or objects with a `path`."""
    shadowed: list[Path] | None = None
    """Paths that the recorder marked as not the agent's."""
    ports: list[Port] | None = None
    processes: list[Id] | None = None


class Rollout(_Record):
    """One recorded attempt at a task: ordered steps and an outcome."""

    type: Literal["rollout"]
    id: Id
    """Unique and stable: ingesting the same id again replaces the rollout."""
    task: Id
    group: Id | None = None
    """The sibling rollouts that are compared with one another; the task's id where not given."""
    slot: Integer | None = None
    """Position within the group; order of appearance where not given."""
    policy: Policy | None = None
    reward: float | None = None
    """Outcome reward; absent: unscored, which is not zero."""
    success: bool | None = None
    truncated: bool | None = None
    """Ended by a limit of steps, tokens or time."""
    steps: list[Step] | None = None
    final_state: State | None = None
    """The state after the last step."""
    verifier: Verifier | None = None
    """Absent: the verifier was not traced."""
    metadata: JsonObject | None = None


RECORD = TypeAdapter[Task | Rollout](Annotated[Task | Rollout, Field(discriminator="type")])
