"""Events: how commands and the host tell each other that something has happened."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from groundstate import ze
from groundstate.core.api import handle_array
from groundstate.core.default_context import context_or_default
from groundstate.core.device import Device, Timer
from groundstate.core.enums import EventScope
from groundstate.core.handle import OwnedHandle, Resource
from groundstate.core.sharing import ipc_struct

if TYPE_CHECKING:
    from groundstate.core.context import Context
    from groundstate.core.memory import Memory


@dataclass(frozen=True)
class Timestamps:
    """When a command began and ended, in ticks of the device's clock.

    >>> timer = Timer(resolution_ns=2, valid_bits=64, kernel_valid_bits=64)
    >>> Timestamps(start=100, end=160, context_start=100, context_end=160, timer=timer).duration_ns
    120
    """

    start: int
    end: int
    context_start: int
    """As `start`, on a clock that stands still while other contexts use the device."""
    context_end: int
    timer: Timer

    @property
    def duration_ns(self) -> int:
        """The time the command took, in nanoseconds."""
        return self.timer.nanoseconds(self.start, self.end, kernel=True)

    @property
    def context_duration_ns(self) -> int:
        """The time the command took without that in which other contexts used the device."""
        return self.timer.nanoseconds(self.context_start, self.context_end, kernel=True)

    @classmethod
    def of_struct(cls, stamps: ze.ze_kernel_timestamp_result_t, timer: Timer) -> Self:
        """Timestamps as the API has them."""
        overall, context = stamps.global_, stamps.context
        return cls(
            overall.kernelStart, overall.kernelEnd, context.kernelStart, context.kernelEnd, timer
        )

    @classmethod
    def read(cls, memory: Memory, device: Device) -> list[Self]:
        """The timestamps that `CommandList.query_timestamps` has written to host memory."""
        kind = ze.ze_kernel_timestamp_result_t
        content = memory.tobytes()
        count = len(content) // ctypes.sizeof(kind)
        stamps = (kind * count).from_buffer_copy(content)
        return [cls.of_struct(each, device.timer) for each in stamps]


class _Place:
    """A place in a pool, taken for as long as this exists."""

    __slots__ = ("__weakref__", "index")

    def __init__(self, index: int) -> None:
        self.index = index


class EventPool(OwnedHandle):
    """A fixed number of places for events, with what their events have in common.

    `timestamps` makes each event note when its command began and ended. `mapped_timestamps` does
    the same on the clock of the host.

    >>> import groundstate as gs
    >>> with gs.Context(gs.devices()[0]) as context, gs.EventPool(context, 2) as pool:
    ...     event = pool.event()
    ...     event.signal()
    ...     event.is_signaled
    True
    """

    def __init__(
        self,
        context: Context,
        count: int,
        *,
        timestamps: bool = False,
        mapped_timestamps: bool = False,
        host_visible: bool = True,
        ipc: bool = False,
        devices: Iterable[Device] | None = None,
    ) -> None:
        chosen_devices = context.devices if devices is None else tuple(devices)
        flags = (
            host_visible * ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE
            | ipc * ze.ZE_EVENT_POOL_FLAG_IPC
            | timestamps * ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP
            | mapped_timestamps * ze.ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP
        )
        description = ze.ze_event_pool_desc_t(flags=flags, count=count)
        chosen = [] if devices is None else [device.handle for device in chosen_devices]
        handle = context.api.create(
            "zeEventPoolCreate",
            context.handle,
            ctypes.byref(description),
            len(chosen),
            handle_array(chosen),
        )
        destroy = ("zeEventPoolDestroy", (handle,))
        resource = Resource(context.api, handle, destroy, context.resource)
        self._start(context, count, chosen_devices, resource)

    @classmethod
    def open_ipc(cls, context: Context, handle: bytes, count: int) -> Self:
        """Opens a pool of another process, made with `ipc=True`, from its `ipc_handle()`.

        The number of events is not in the handle. An event at the same place is the same event in
        both processes.

        >>> import groundstate as gs
        >>> with gs.Context(gs.devices()[0]) as context:
        ...     pool = gs.EventPool(context, 4, ipc=True)
        ...     there = gs.EventPool.open_ipc(context, pool.ipc_handle(), 4)
        ...     pool.event(2).signal()
        ...     there.event(2).is_signaled
        True
        """
        struct = ipc_struct(ze.ze_ipc_event_pool_handle_t, handle)
        opened = context.api.create("zeEventPoolOpenIpcHandle", context.handle, struct)
        pool = cls.__new__(cls)
        close = ("zeEventPoolCloseIpcHandle", (opened,))
        pool._start(
            context, count, context.devices, Resource(context.api, opened, close, context.resource)
        )
        return pool

    def _start(
        self, context: Context, count: int, devices: tuple[Device, ...], resource: Resource
    ) -> None:
        self.context = context
        self.count = count
        self.devices = devices
        self._resource = resource
        self._taken: weakref.WeakValueDictionary[int, _Place] = weakref.WeakValueDictionary()

    def ipc_handle(self) -> bytes:
        """What another process needs to open the pool: for a pool made with `ipc=True`."""
        kind = ze.ze_ipc_event_pool_handle_t
        return bytes(self.api.struct(kind, "zeEventPoolGetIpcHandle", self.handle))

    def _describe(self) -> str:
        return f"of {self.count} events"

    def event(
        self,
        index: int | None = None,
        *,
        signal_scope: EventScope = EventScope.HOST,
        wait_scope: EventScope = EventScope.HOST,
    ) -> Event:
        """A new event at a place of the pool, the first free one if none is named."""
        place = self._take(index)
        description = ze.ze_event_desc_t(index=place.index, signal=signal_scope, wait=wait_scope)
        handle = self.api.create("zeEventCreate", self.handle, ctypes.byref(description))
        keeps = (self.resource, place)
        resource = Resource(self.api, handle, ("zeEventDestroy", (handle,)), keeps)
        return Event(self.context, resource, self.devices[0], pool=self, index=place.index)

    def _take(self, index: int | None) -> _Place:
        if index is None:
            free = (each for each in range(self.count) if each not in self._taken)
            index = next(free, None)
            if index is None:
                raise ValueError(f"all {self.count} places of the pool have an event: close one")
        elif index in self._taken:
            raise ValueError(f"place {index} of the pool has an event already")
        place = _Place(index)
        self._taken[index] = place
        return place


class Event(OwnedHandle):
    """Something that happens once: a command signals it, and others or the host wait for it.

    Events come from `EventPool.event` or, without a pool, from `Event.counter_based`.
    """

    def __init__(
        self,
        context: Context,
        resource: Resource,
        device: Device,
        *,
        pool: EventPool | None = None,
        index: int | None = None,
    ) -> None:
        self.context = context
        self.device = device
        self.pool = pool
        self.index = index
        self._resource = resource

    @classmethod
    def counter_based(
        cls,
        context: Context | None = None,
        device: Device | None = None,
        *,
        for_immediate: bool = True,
        for_regular: bool = True,
        timestamps: bool = False,
        host_timestamps: bool = False,
        host_visible: bool = True,
        ipc: bool = False,
        graph_external: bool = False,
        signal_scope: EventScope = EventScope.HOST,
        wait_scope: EventScope = EventScope.HOST,
    ) -> Event:
        """An event that follows the progress of in-order lists, and so never needs a reset.

        It stands for the command that it was last given to as its signal. `for_immediate` and
        `for_regular` say with which lists it will be used. With `graph_external` an event that a
        graph signals or waits for stands for its latest run, outside the graph, too.

        >>> import groundstate as gs
        >>> with gs.Context(gs.devices()[0]) as context:
        ...     commands = gs.CommandList.immediate(context, in_order=True)
        ...     done = gs.Event.counter_based(context)
        ...     commands.barrier(signal=done)
        ...     done.wait()
        ...     done.is_signaled
        True
        """
        context = context_or_default(context)
        chosen = context.choose_device(device)
        flags = (
            for_immediate * ze.ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE
            | for_regular * ze.ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE
            | host_visible * ze.ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE
            | ipc * ze.ZE_EVENT_COUNTER_BASED_FLAG_IPC
            | graph_external * ze.ZE_EVENT_COUNTER_BASED_FLAG_GRAPH_EXTERNAL
            | timestamps * ze.ZE_EVENT_COUNTER_BASED_FLAG_DEVICE_TIMESTAMP
            | host_timestamps * ze.ZE_EVENT_COUNTER_BASED_FLAG_HOST_TIMESTAMP
        )
        description = ze.ze_event_counter_based_desc_t(
            flags=flags, signal=signal_scope, wait=wait_scope
        )
        api = context.api
        handle = api.create(
            "zeEventCounterBasedCreate", context.handle, chosen.handle, ctypes.byref(description)
        )
        resource = Resource(api, handle, ("zeEventDestroy", (handle,)), context.resource)
        return cls(context, resource, chosen)

    @classmethod
    def open_ipc(cls, context: Context, handle: bytes, device: Device | None = None) -> Event:
        """Opens a counter-based event of another process, made with `ipc=True`."""
        struct = ipc_struct(ze.ze_ipc_event_counter_based_handle_t, handle)
        opened = context.api.create("zeEventCounterBasedOpenIpcHandle", context.handle, struct)
        close = ("zeEventCounterBasedCloseIpcHandle", (opened,))
        resource = Resource(context.api, opened, close, context.resource)
        return cls(context, resource, context.choose_device(device))

    def ipc_handle(self) -> bytes:
        """What another process needs to open the event: a counter-based one with `ipc=True`."""
        kind = ze.ze_ipc_event_counter_based_handle_t
        return bytes(self.api.struct(kind, "zeEventCounterBasedGetIpcHandle", self.handle))

    @property
    def is_counter_based(self) -> bool:
        """True if the event follows the progress of lists instead of being set and reset."""
        return self.pool is None

    def _describe(self) -> str:
        return "counter-based" if self.pool is None else f"at place {self.index} of its pool"

    @property
    def is_signaled(self) -> bool:
        """True if it has happened; asks without waiting."""
        resource = self.resource
        return resource.api.is_ready("zeEventQueryStatus", resource.argument)

    def wait(self, timeout: float | None = None) -> None:
        """Waits until it happens.

        The timeout is in seconds; without one the wait lasts for ever. `TimeoutError` is raised
        when the time has passed. Ctrl-C interrupts.
        """
        resource = self.resource
        resource.api.wait("zeEventHostSynchronize", resource.argument, timeout, "the event")

    def signal(self) -> None:
        """Makes it happen, from the host."""
        resource = self.resource
        resource.api.call_direct("zeEventHostSignal", resource.argument)

    def reset(self) -> None:
        """Makes it not have happened, so that it can be used again."""
        resource = self.resource
        resource.api.call_direct("zeEventHostReset", resource.argument)

    @property
    def timestamps(self) -> Timestamps:
        """When the command that signalled the event began and ended.

        Raises `NotReady` if it has not happened yet.
        """
        stamps = self.api.struct(
            ze.ze_kernel_timestamp_result_t, "zeEventQueryKernelTimestamp", self.handle
        )
        return Timestamps.of_struct(stamps, self.device.timer)
