"""Graphs: what immediate lists were given while they captured, and what runs it later."""

from __future__ import annotations

from dataclasses import dataclass, field

from groundstate.capture.describe import NamedCall
from groundstate.capture.stream.formats import Phase
from groundstate.capture.structure.commands import Command
from groundstate.capture.structure.kernels import argument, listed


@dataclass(frozen=True)
class Captured:
    """A capture that has ended: the records of its calls, and the handle of its graph."""

    graph: int
    began: int
    ended: int
    appends: tuple[int, ...]


@dataclass(eq=False)
class Capture:
    """A capture under way: the lists that take part, what they were given, its events."""

    began: int
    lists: set[int]
    commands: list[Command] = field(default_factory=list)
    events: set[int] = field(default_factory=set)


class Graphs:
    """The captures, graphs and executable graphs that the calls seen so far made."""

    def __init__(self) -> None:
        self.captured: list[Captured] = []
        self._captures: dict[int, Capture] = {}  # by list
        self._graphs: dict[int, tuple[Command, ...]] = {}  # by graph or executable graph
        self._into: dict[int, int] = {}  # the graph that a list captures into

    def see(self, call: NamedCall) -> None:
        """Takes in a call that succeeded and appended nothing."""
        if call.name in (
            "zeCommandListBeginGraphCaptureExt",
            "zeCommandListBeginCaptureIntoGraphExt",
        ):
            first = argument(call, "hCommandList")
            self._captures[first] = Capture(call.number, {first})
            self._into[first] = argument(call, "hGraph")
        elif call.name == "zeCommandListEndGraphCaptureExt":
            self._finish(call)
        elif call.name == "zeGraphInstantiateExt":
            for handle in listed(call, "phExecutableGraph", Phase.AFTER):
                self._graphs[handle] = self._graphs.get(argument(call, "hGraph"), ())

    def commands_of(self, graph: int) -> tuple[Command, ...]:
        """What a graph holds."""
        return self._graphs.get(graph, ())

    def takes(self, handle: int, call: NamedCall, command: Command) -> bool:
        """Whether a list captures, and so hands its command to a graph instead of its queue."""
        if not self._captures:
            return False
        waits = listed(call, "phWaitEvents", Phase.BEFORE) or listed(call, "phEvents", Phase.BEFORE)
        capture = self._captures.get(handle) or self._forked(handle, waits)
        if capture is None:
            return False
        capture.commands.append(command)
        signal = argument(call, "hSignalEvent") or argument(call, "hEvent")
        if signal:
            capture.events.add(signal)
        return True

    def _forked(self, handle: int, waits: list[int]) -> Capture | None:
        """The capture that a list joins by waiting for one of its events."""
        for capture in self._captures.values():
            if any(event in capture.events for event in waits):
                capture.lists.add(handle)
                self._captures[handle] = capture
                return capture
        return None

    def _finish(self, call: NamedCall) -> None:
        first = argument(call, "hCommandList")
        capture = self._captures.get(first)
        if capture is None:
            return
        for handle in capture.lists:
            self._captures.pop(handle, None)
        into = self._into.pop(first, 0)
        for handle in {into, *listed(call, "phGraph", Phase.AFTER)} - {0}:
            self._graphs[handle] = tuple(capture.commands)
            appends = tuple(command.call for command in capture.commands)
            self.captured.append(Captured(handle, capture.began, call.number, appends))
