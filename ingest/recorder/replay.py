"""The calls of traced processes, replayed: which command touched which names.

Events come in; each call has its meaning by its name, in `file_calls` or `process_calls`. A child
may speak before its parent's call returns: what it says waits until then.
"""

import os
from collections.abc import Callable
from typing import Final

from .file_calls import FILE_CALLS
from .lineage import Lineage
from .process_calls import PROCESS_CALLS
from .processes import Process
from .strace_lines import (
    CREATES_PROCESS,
    Call,
    Ended,
    Event,
    Signalled,
    Unparsed,
    annotated,
    is_deleted,
)

_MEANINGS: Final[dict[str, Callable[[Lineage, Process, Call], None]]] = FILE_CALLS | PROCESS_CALLS


class Replay(Lineage):
    """Events of the session's tracers in, what each command touched out."""

    def apply(self, event: Event) -> None:
        """Take in one event."""
        match event:
            case Call():
                self._call(event)
            case Ended():
                self.end(event.pid)
            case Signalled():
                self._signal(event)
            case Unparsed():
                if self.window is not None:
                    self.of(self.window).reasons.add("unparsed_lines")

    def _call(self, call: Call) -> None:
        process = self.live.get(call.pid)
        if process is None:
            process = self.live[call.pid] = Process(call.pid, ["/"], None, waiting=[])
            self.orphans[call.pid] = process
        if process.waiting is not None:
            process.waiting.append(call)
        else:
            self._perform(process, call)

    def _perform(self, process: Process, call: Call) -> None:
        self.calls += 1
        self._sync_cwd(process, call)
        if call.name in CREATES_PROCESS:
            self._fork(process, call)
        elif meaning := _MEANINGS.get(call.name):
            meaning(self, process, call)

    def _sync_cwd(self, process: Process, call: Call) -> None:
        for argument in call.arguments[:3]:
            if argument.startswith(b"AT_FDCWD<"):
                path = annotated(argument)
                if path and not is_deleted(argument):
                    process.cwd[0] = os.fsdecode(path)
                return

    def _fork(self, parent: Process, call: Call) -> None:
        flags = b", ".join(call.arguments)
        if b"CLONE_UNTRACED" in flags:
            self.warn(parent, "untraced_child")
        if call.result is None:  # it ended on the way: a child that nobody told of is its own
            children = list(self.orphans.values())
        elif call.result > 0:
            child = self.orphans.get(call.result) or Process(call.result, ["/"], None)
            if child.pid not in self.orphans:
                self.live[child.pid] = child
            children = [child]
        else:
            return
        for child in children:
            self.orphans.pop(child.pid, None)
            self._adopt(parent, child, flags)

    def _adopt(self, parent: Process, child: Process, flags: bytes) -> None:
        child.cwd = parent.cwd if b"CLONE_FS" in flags else [parent.cwd[0]]
        child.is_thread = b"CLONE_THREAD" in flags
        child.program = parent.program
        child.command = self.window if parent.is_shell else parent.command
        child.held = set(parent.held)
        child.speaks_for_shell = parent.is_shell
        if child.command is not None and not child.is_thread:
            self.of(child.command).processes.append(child)
        waiting, child.waiting = child.waiting or [], None
        for call in waiting:
            self._perform(child, call)

    def _signal(self, event: Signalled) -> None:
        target, sender = self.live.get(event.pid), self.live.get(event.sender or -1)
        if target and sender and sender.pid != target.pid:
            self.inspect(sender, target)
