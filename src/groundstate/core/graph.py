"""Graphs: what immediate lists were given while they recorded, to be run later and often."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from groundstate import ze
from groundstate.core.api import NULL, check
from groundstate.core.handle import InFlight, OwnedHandle, Resource

if TYPE_CHECKING:
    from groundstate.core.command_list import CommandList
    from groundstate.core.commands import Events
    from groundstate.core.context import Context
    from groundstate.core.event import Event

_Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_recording: dict[int, Graph] = {}
"""The graphs that are being recorded, by their handles."""


class Graph(OwnedHandle):
    """Commands that were recorded instead of run. `CommandList.capture` makes one.

    A list that waits for an event of a recorded command is recorded, too, until the capture ends;
    the list that it was forked from has to wait for an event of it before that.

    >>> import groundstate as gs
    >>> with gs.Context(gs.devices()[0]) as context:
    ...     memory = context.alloc_host(4)
    ...     commands = gs.CommandList.immediate(context, in_order=True)
    ...     commands.fill(memory, 0)
    ...     with commands.capture() as graph:
    ...         commands.fill(memory, 7)
    ...     commands.synchronize()
    ...     print(memory.tolist())
    ...     replay = graph.instantiate()
    ...     replay(commands)
    ...     commands.synchronize()
    ...     memory.tolist()
    [0, 0, 0, 0]
    [7, 7, 7, 7]
    """

    def __init__(self, context: Context) -> None:
        """Makes an empty graph, to be recorded by `record`."""
        self.context = context
        self.recorded = InFlight()
        self.recorded.next_look = sys.maxsize  # kept as long as the graph can run
        self._lists: list[tuple[CommandList, InFlight]] = []
        handle = context.api.create("zeGraphCreateExt", context.handle, None)
        destroy = ("zeGraphDestroyExt", (handle,))
        self._resource = Resource(context.api, handle, destroy, (context.resource, self.recorded))

    def _describe(self) -> str:
        return "being recorded" if self.handle in _recording else ""

    @contextlib.contextmanager
    def record(self, commands: CommandList) -> Iterator[Graph]:
        """Records what an immediate list is given in a `with` block."""
        api, handle = self.api, self.handle
        api.call("zeCommandListBeginCaptureIntoGraphExt", commands.handle, handle, None)
        _recording[handle] = self
        self.include(commands)
        try:
            yield self
        except BaseException:
            self._end(commands)
            raise
        result = self._end(commands)
        check(result, "zeCommandListEndGraphCaptureExt", api)

    def _end(self, commands: CommandList) -> int:
        """Ends the capture. The lists keep for themselves again what they use."""
        del _recording[self.handle]
        for each, before in self._lists:
            each.recorded = before
        self._lists.clear()
        same = ctypes.c_void_p()
        ended = self.api.raw(
            "zeCommandListEndGraphCaptureExt", commands.handle, None, ctypes.byref(same)
        )
        return int(ended)

    def include(self, commands: CommandList) -> None:
        """Keeps what a list uses, from here on, for as long as the graph."""
        if commands.recorded is not self.recorded:
            self.recorded.add(commands.recorded.objects.values())
            self._lists.append((commands, commands.recorded))
            commands.recorded = self.recorded

    @property
    def is_empty(self) -> bool:
        """True if nothing was recorded. Raises `InvalidGraph` if the recording failed."""
        result = self.api.raw("zeGraphIsEmptyExt", self.handle)
        if result not in (ze.ZE_RESULT_QUERY_TRUE, ze.ZE_RESULT_QUERY_FALSE):
            check(result, "zeGraphIsEmptyExt", self.api)
        return bool(result == ze.ZE_RESULT_QUERY_TRUE)

    def instantiate(self) -> ExecutableGraph:
        """Something that can be run. There may be several, which then may run side by side."""
        return ExecutableGraph(self)

    def dump(self, path: str | os.PathLike[str], *, detailed: bool = True) -> None:
        """Writes a picture of the graph for Graphviz: `dot -Tsvg graph.dot -o graph.svg`."""
        modes = (
            ze.ZE_RECORD_REPLAY_GRAPH_EXT_DUMP_MODE_SIMPLE,
            ze.ZE_RECORD_REPLAY_GRAPH_EXT_DUMP_MODE_DETAILED,
        )
        description = ze.ze_record_replay_graph_ext_dump_desc_t(mode=modes[detailed])
        self.api.call(
            "zeGraphDumpContentsExt", self.handle, os.fsencode(path), ctypes.byref(description)
        )

    def dot(self, *, detailed: bool = True) -> str:
        """What `dump` writes, as a string."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "graph.dot"
            self.dump(path, detailed=detailed)
            return path.read_text(encoding="utf-8", errors="replace")

    def when_destroyed(self, function: Callable[[], object]) -> None:
        """Calls a function when the driver destroys the graph, after all who can run it."""

        def call(_: int) -> None:
            function()

        callback = _Callback(call)
        self.recorded.add((callback,))
        resource = self.resource
        resource.api.call_direct(
            "zeGraphSetDestructionCallbackExt", resource.argument, callback, NULL, NULL
        )


class ExecutableGraph(OwnedHandle):
    """A graph that can be run, again and again: calling it does that.

    Its runs come one after the other, also from different lists.
    """

    def __init__(self, source: Graph) -> None:
        self.source = source
        handle = source.api.create("zeGraphInstantiateExt", source.handle, None)
        destroy = ("zeExecutableGraphDestroyExt", (handle,))
        self._resource = Resource(source.api, handle, destroy, source.resource)

    def __call__(
        self, commands: CommandList, *, signal: Event | None = None, wait: Events = ()
    ) -> None:
        """Appends a run to an immediate list like the one that recorded the graph."""
        commands._append_graph(self.resource, signal, wait)


def follow_captures(commands: CommandList) -> None:
    """Notices that a list is recorded because it waits for an event of a graph."""
    if not _recording or not commands.is_immediate:
        return
    found = ctypes.c_void_p()
    resource = commands.resource
    resource.api.raw("zeCommandListGetGraphExt", resource.value, ctypes.byref(found))
    graph = _recording.get(found.value or 0)
    if graph is not None:
        graph.include(commands)
