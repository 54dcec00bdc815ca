"""One recorded command, and what the rollout format says of it.

Background processes may add to a command until the session ends.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..accesses import merged
from .contents import Change, Contents
from .line_diff import Ranges
from .processes import Touched
from .roots import WorkRoots
from .tracer import Tracer

_TABLE_OF_PORTS = re.compile(r"/proc/(?:self/|\d+/)?net/(?:tcp|udp)6?$")


@dataclass(frozen=True)
class Result:
    """What a command did, as its caller sees it."""

    stdout: str
    stderr: str
    exit_code: int | None
    """As a shell counts: 128 and the signal that ended it. None: it ended a terminal's shell."""
    duration_s: float
    timed_out: bool = False


@dataclass
class RecordedCommand:
    """What is known of one command, beside what its calls tell."""

    number: int
    text: str
    cwd: str
    started_at: float
    """Unix time."""
    result: Result = Result("", "", None, 0.0)
    ended: float | None = None
    """On the monotonic clock, in seconds."""
    writes: dict[str, Ranges | None] = field(default_factory=dict[str, "Ranges | None"])
    deletes: set[str] = field(default_factory=set[str])
    whole: dict[str, str] = field(default_factory=dict[str, str])
    """Files written without line ranges, and why."""
    opened: set[int] = field(default_factory=set[int])
    started: set[str] = field(default_factory=set[str])
    reasons: set[str] = field(default_factory=set[str])
    """Why the record may be incomplete."""
    left_out: dict[str, int] = field(default_factory=dict[str, int])
    """Bytes of stdout and stderr that are not kept."""

    def take(self, name: str, change: Change) -> None:
        """Take in what became of a file under a name."""
        if change.is_deleted:
            self.writes.pop(name, None)
            self.whole.pop(name, None)
            self.deletes.add(name)
            return
        self.deletes.discard(name)
        before = self.writes.get(name, [])
        if change.lines is None or before is None:
            self.writes[name] = None
            self.whole[name] = change.reason or self.whole[name]
        else:
            self.writes[name] = merged([*before, *change.lines])


@dataclass(frozen=True)
class Scope:
    """What every record of a session is made with."""

    tracer: Tracer
    roots: WorkRoots
    contents: Contents

    @property
    def is_traced(self) -> bool:
        """Whether calls are known; else only files, ports and processes are."""
        return self.tracer.level != "sweep"

    def command(self, command: RecordedCommand, touched: Touched) -> dict[str, Any]:
        """Return a command of the rollout format."""
        result = command.result
        record: dict[str, Any] = {
            "text": as_text(command.text),
            "cwd": as_text(command.cwd),
            "stdout": result.stdout,
            "stderr": result.stderr,
            "started_at": command.started_at,
            "duration_s": result.duration_s,
        }
        if result.exit_code is not None:
            record["exit_code"] = result.exit_code
        if self.is_traced:
            reads = self._reads(touched)
            record["reads"] = _texts(reads)
            record["probes"] = _texts(self._kept(touched.probes) - reads)
        record["writes"] = [
            {"path": as_text(name)} | ({"lines": [list(part) for part in lines]} if lines else {})
            for name, lines in sorted(command.writes.items())
        ]
        record["deletes"] = _texts(command.deletes)
        opened = touched.opened | command.opened
        record["ports"] = {"opened": sorted(opened), "used": sorted(touched.used)}
        record["processes"] = {
            "started": sorted(command.started),
            "inspected": sorted(touched.inspected),
        }
        record["metadata"] = {"fidelity": self.fidelity(command, touched)}
        return record

    def verifier(
        self, command: RecordedCommand, touched: Touched, opened: Iterable[int], shadowed: set[str]
    ) -> dict[str, Any]:
        """Return the verifier of the rollout format; `opened` are the ports of all commands."""
        reads = self._reads(touched)
        looks_at_all_ports = any(map(_TABLE_OF_PORTS.match, touched.reads))
        return {
            "command": as_text(command.text),
            "reads": _texts(reads),
            "probes": _texts(self._kept(touched.probes) - reads),
            "writes": _texts({*command.writes, *command.deletes}),
            "shadowed": _texts(shadowed),
            "ports": sorted({*touched.used, *(opened if looks_at_all_ports else ())}),
            "processes": sorted(touched.inspected),
        }

    def about(self, verifier: dict[str, Any] | None, between: set[str]) -> dict[str, Any]:
        """Say how a session was recorded: its verifier's fidelity, and what was nobody's change."""
        about: dict[str, Any] = {
            "level": self.tracer.level,
            "strace": self.tracer.version,
            "work_roots": [as_text(root) for root in self.roots.given],
        }
        if verifier:
            about["verifier"] = verifier
        if between:
            about["changed_between_commands"] = _texts(between)
        return about

    def fidelity(self, command: RecordedCommand, touched: Touched) -> dict[str, Any]:
        """Say how far a record can be trusted: the level, and reasons for doubt."""
        reasons = command.reasons | touched.reasons
        if not self.contents.is_swept:
            reasons.add("too_many_files_to_sweep")
        found: dict[str, Any] = {"level": self.tracer.level, "reasons": sorted(reasons)}
        if command.whole:
            found["whole_file"] = {
                as_text(name): why for name, why in sorted(command.whole.items())
            }
        if command.left_out:
            found["bytes_left_out"] = command.left_out
        return found

    def _reads(self, touched: Touched) -> set[str]:
        reads = self._kept(touched.files_read)
        interpreters = map(self.contents.interpreter, touched.executed)
        return reads | self._kept(filter(None, interpreters))

    def _kept(self, names: Iterable[str]) -> set[str]:
        return {self.roots.as_given(name) for name in names if self.roots.keeps(name)}


def as_text(name: str) -> str:
    """Return a name as valid text: bytes that are not UTF-8 become backslash, x and two digits."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _texts(names: Iterable[str]) -> list[str]:
    return sorted(map(as_text, names))
