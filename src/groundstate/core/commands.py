"""The commands that a command list can hold: copies, fills, barriers, events, timestamps."""

from __future__ import annotations

import ctypes
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from groundstate import ze
from groundstate.core.api import NULL, ZERO, address, check, handle_array, number, size
from groundstate.core.enums import Advice
from groundstate.core.event import Event
from groundstate.core.image_commands import ImageCommands
from groundstate.core.memory import Memory
from groundstate.core.operand import (
    Borrowed,
    borrow,
    pattern_bytes,
    require_same_elements,
    row_bytes,
    slice_bytes,
)
from groundstate.core.semaphore import SemaphoreCommands

if TYPE_CHECKING:
    from groundstate.core.context import Context
    from groundstate.core.device import Device
    from groundstate.core.operand import Operand

Events = Event | Iterable[Event]

_HostFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@dataclass(frozen=True)
class Region:
    """A box: in memory, `x` and `width` count bytes, the others rows and slices; in images, texels.

    >>> Region(x=4, width=8, height=2)
    Region(x=4, y=0, z=0, width=8, height=2, depth=1)
    """

    x: int = 0
    y: int = 0
    z: int = 0
    width: int = 1
    height: int = 1
    depth: int = 1

    def _struct(self) -> ze.ze_copy_region_t:
        return ze.ze_copy_region_t(self.x, self.y, self.z, self.width, self.height, self.depth)


class Commands(ImageCommands, SemaphoreCommands):
    """What can be appended to a command list.

    Every command takes `wait`, an event or several that have to happen before it runs, and
    `signal`, an event that happens when it is done. Memory, NumPy arrays and other buffers are kept
    alive until the command has run; for a bare address that is the caller's job.
    """

    context: Context
    device: Device

    def _append(
        self,
        function: str,
        prepared: tuple[Any, ...],
        signal: Event | None,
        wait: Events,
        uses: Iterable[object] = (),
    ) -> None:
        """Appends a command, whose arguments are prepared ones, and keeps what it uses."""
        resource = self.resource
        call = getattr(resource.api.direct, function)
        if signal is None and wait == ():
            result = call(resource.argument, *prepared, NULL, ZERO, NULL)
        else:
            waits = tuple(wait) if isinstance(wait, Iterable) else (wait,)
            for event in waits if signal is None else (signal, *waits):
                if not isinstance(event, Event):
                    raise TypeError(f"signal= and wait= take events, not {event!r}")
            result = call(
                resource.argument,
                *prepared,
                signal.resource.argument if signal is not None else NULL,
                number(len(waits)),
                handle_array([event.handle for event in waits]),
            )
            uses = (*uses, signal and signal.resource, *(event.resource for event in waits))
        if result:
            check(result, function, resource.api)
        self._keep(uses)

    @abstractmethod
    def _keep(self, things: Iterable[object]) -> None:
        """Keeps objects until the commands that use them have run."""

    # --- Copies and fills -------------------------------------------------------------------------

    def copy(
        self,
        destination: Operand,
        source: Operand,
        size_bytes: int | None = None,
        *,
        signal: Event | None = None,
        wait: Events = (),
    ) -> None:
        """Copies bytes: as many as the source has, or as many as are asked for.

        >>> import groundstate as gs
        >>> with gs.Context(gs.devices()[0]) as context:
        ...     memory = context.alloc_host(5)
        ...     with gs.CommandList.immediate(context) as commands:
        ...         commands.copy(memory, b"hello")
        ...     memory.tobytes()
        b'hello'
        """
        require_same_elements(destination, source)
        to, of = borrow(destination, writable=True), borrow(source)
        count = of.size(size_bytes, "the source")
        to.require(count, "the destination")
        function = "zeCommandListAppendMemoryCopy"
        prepared: tuple[Any, ...] = (address(to.address), address(of.address), size(count))
        if isinstance(source, Memory) and source.context is not self.context:
            function = "zeCommandListAppendMemoryCopyFromContext"
            prepared = (prepared[0], source.context.resource.argument, *prepared[1:])
        self._append(function, prepared, signal, wait, (to.owner, of.owner))

    def fill(
        self,
        destination: Operand,
        pattern: Any,
        size_bytes: int | None = None,
        *,
        signal: Event | None = None,
        wait: Events = (),
    ) -> None:
        """Fills memory with a pattern: bytes, or a number that becomes one element of the memory.

        >>> import groundstate as gs
        >>> with gs.Context(gs.devices()[0]) as context:
        ...     memory = context.alloc_host(3, "float32")
        ...     with gs.CommandList.immediate(context) as commands:
        ...         commands.fill(memory, 0.5)
        ...     memory.tolist()
        [0.5, 0.5, 0.5]
        """
        to = borrow(destination, writable=True)
        content = pattern_bytes(pattern, destination)
        count = to.size(size_bytes, "the destination")
        prepared = (address(to.address), content, size(len(content)), size(count))
        self._append("zeCommandListAppendMemoryFill", prepared, signal, wait, (to.owner,))

    def copy_region(
        self,
        destination: Operand,
        source: Operand,
        region: Region,
        *,
        source_origin: Sequence[int] = (0, 0, 0),
        destination_pitch_bytes: int | None = None,
        source_pitch_bytes: int | None = None,
        destination_slice_bytes: int | None = None,
        source_slice_bytes: int | None = None,
        signal: Event | None = None,
        wait: Events = (),
    ) -> None:
        """Copies a box of rows: to `region` of the destination, from `source_origin` on.

        A pitch is the number of bytes from one row to the next. It is known for memory and arrays
        of two and more dimensions; for others, rows follow each other without a gap.

        >>> import groundstate as gs
        >>> with gs.Context(gs.devices()[0]) as context:
        ...     board, stone = context.alloc_host((3, 4)), context.alloc_host((2, 2))
        ...     with gs.CommandList.immediate(context, in_order=True) as commands:
        ...         commands.fill(board, 0)
        ...         commands.fill(stone, 1)
        ...         commands.copy_region(board, stone, gs.Region(x=1, y=1, width=2, height=2))
        ...     board.tolist()
        [[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0]]
        """
        require_same_elements(destination, source)
        to = _Layout(
            destination, region, destination_pitch_bytes, destination_slice_bytes, writable=True
        )
        x, y, z = (*source_origin, 0, 0, 0)[:3]
        taken = Region(x, y, z, region.width, region.height, region.depth)
        of = _Layout(source, taken, source_pitch_bytes, source_slice_bytes, writable=False)
        to.check("the destination")
        of.check("the source")
        self._append(
            "zeCommandListAppendMemoryCopyRegion",
            to.prepared() + of.prepared(),
            signal,
            wait,
            (to.borrowed.owner, of.borrowed.owner),
        )

    def prefetch(self, memory: Operand, size_bytes: int | None = None) -> None:
        """Tells the device that it will need this memory soon."""
        borrowed = borrow(memory)
        count = borrowed.size(size_bytes, "the memory")
        self.api.call("zeCommandListAppendMemoryPrefetch", self.handle, borrowed.address, count)
        self._keep((borrowed.owner,))

    def advise(
        self,
        memory: Operand,
        advice: Advice,
        size_bytes: int | None = None,
        *,
        device: Device | None = None,
    ) -> None:
        """Tells the driver how memory is going to be used."""
        borrowed = borrow(memory)
        count = borrowed.size(size_bytes, "the memory")
        where = (device or self.device).handle
        self.api.call(
            "zeCommandListAppendMemAdvise", self.handle, where, borrowed.address, count, advice
        )
        self._keep((borrowed.owner,))

    # --- Order ------------------------------------------------------------------------------------

    def barrier(
        self,
        *memories: Operand,
        signal: Event | None = None,
        wait: Events = (),
    ) -> None:
        """Lets nothing after it start before everything before it is done.

        With memories, only what was written to those has to be visible afterwards.
        """
        if not memories:
            self._append("zeCommandListAppendBarrier", (), signal, wait)
            return
        ranges = [borrow(memory) for memory in memories]
        sizes = [each.size(None, "the memory") for each in ranges]
        prepared = (
            number(len(ranges)),
            (ctypes.c_size_t * len(ranges))(*sizes),
            handle_array([each.address for each in ranges]),
        )
        owners = [each.owner for each in ranges]
        self._append("zeCommandListAppendMemoryRangesBarrier", prepared, signal, wait, owners)

    def signal(self, event: Event) -> None:
        """Makes an event happen when everything before it is done."""
        self.api.call("zeCommandListAppendSignalEvent", self.handle, event.handle)
        self._keep((event.resource,))

    def wait(self, *events: Event) -> None:
        """Lets the commands after it wait until these events have happened."""
        handles = handle_array([event.handle for event in events])
        self.api.call("zeCommandListAppendWaitOnEvents", self.handle, len(events), handles)
        self._keep([event.resource for event in events])

    def reset_event(self, event: Event) -> None:
        """Makes an event not have happened, on the device."""
        self.api.call("zeCommandListAppendEventReset", self.handle, event.handle)
        self._keep((event.resource,))

    def host_function(
        self,
        function: Callable[[], object],
        *,
        signal: Event | None = None,
        wait: Events = (),
    ) -> None:
        """Calls a Python function when everything before it is done, on a thread of the driver.

        What it returns is ignored; an exception in it is printed and otherwise ignored.

        >>> import groundstate as gs
        >>> seen = []
        >>> with gs.Context(gs.devices()[0]) as context:
        ...     with gs.CommandList.immediate(context, in_order=True) as commands:
        ...         commands.host_function(lambda: seen.append("done"))
        >>> seen
        ['done']
        """

        def call(_: int) -> None:
            function()

        callback = _HostFunction(call)
        self._append(
            "zeCommandListAppendHostFunction", (callback, NULL, NULL), signal, wait, (callback,)
        )

    # --- Time -------------------------------------------------------------------------------------

    def write_timestamp(
        self, destination: Operand, *, signal: Event | None = None, wait: Events = ()
    ) -> None:
        """Writes the clock of the device, in ticks, to eight bytes of memory."""
        to = borrow(destination, writable=True)
        to.require(8, "the destination")
        function = "zeCommandListAppendWriteGlobalTimestamp"
        self._append(function, (address(to.address),), signal, wait, (to.owner,))

    def query_timestamps(
        self,
        events: Sequence[Event],
        destination: Operand,
        *,
        offsets_bytes: Sequence[int] | None = None,
        signal: Event | None = None,
        wait: Events = (),
    ) -> None:
        """Writes the timestamps of events to memory; `Timestamps.read` reads them there."""
        to = borrow(destination, writable=True)
        offsets = None
        each = ctypes.sizeof(ze.ze_kernel_timestamp_result_t)
        places = offsets_bytes if offsets_bytes is not None else range(0, each * len(events), each)
        to.require(max(places, default=0) + each, "the destination")
        if offsets_bytes is not None:
            offsets = (ctypes.c_size_t * len(offsets_bytes))(*offsets_bytes)
        handles = handle_array([event.handle for event in events])
        self._append(
            "zeCommandListAppendQueryKernelTimestamps",
            (number(len(events)), handles, address(to.address), offsets),
            signal,
            wait,
            (to.owner, *(event.resource for event in events)),
        )


class _Layout:
    """One side of a region copy."""

    def __init__(
        self,
        thing: Operand,
        region: Region,
        pitch: int | None,
        slice_pitch: int | None,
        *,
        writable: bool,
    ) -> None:
        self.borrowed: Borrowed = borrow(thing, writable=writable)
        self.region = region
        self.pitch = pitch if pitch is not None else row_bytes(thing) or region.x + region.width
        rows = region.y + region.height
        self.slice_pitch = slice_pitch
        if slice_pitch is None:
            self.slice_pitch = slice_bytes(thing) or self.pitch * rows

    def check(self, what: str) -> None:
        """Raises ValueError if the region reaches beyond the memory."""
        last = self.region
        assert self.slice_pitch is not None
        end = (last.z + last.depth - 1) * self.slice_pitch
        end += (last.y + last.height - 1) * self.pitch + last.x + last.width
        self.borrowed.require(end, what)

    def prepared(self) -> tuple[Any, ...]:
        """Address, region, pitch and slice pitch, as the API takes them."""
        assert self.slice_pitch is not None
        region = ctypes.byref(self.region._struct())
        return address(self.borrowed.address), region, number(self.pitch), number(self.slice_pitch)
