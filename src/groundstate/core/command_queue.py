"""Command queues and fences: running command lists, and knowing when they are done."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from groundstate import ze
from groundstate.core.api import NULL, ZERO_SIZE, check, handle_array, number
from groundstate.core.default_context import context_or_default
from groundstate.core.enums import QueueMode, QueuePriority
from groundstate.core.handle import InFlight, OwnedHandle, Resource

if TYPE_CHECKING:
    from groundstate.core.command_list import CommandList
    from groundstate.core.context import Context
    from groundstate.core.device import Device


_MOST_SPARE = 16
"""How many lists a queue keeps for later."""


def queue_description(
    ordinal: int,
    index: int,
    mode: QueueMode,
    priority: QueuePriority,
    *,
    in_order: bool = False,
    explicit_only: bool = False,
    copy_offload: bool = False,
) -> ze.ze_command_queue_desc_t:
    """The options of a queue, or of the queue inside an immediate list, as the API takes them."""
    flags = (
        explicit_only * ze.ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY
        | in_order * ze.ZE_COMMAND_QUEUE_FLAG_IN_ORDER
        | copy_offload * ze.ZE_COMMAND_QUEUE_FLAG_COPY_OFFLOAD_HINT
    )
    return ze.ze_command_queue_desc_t(
        ordinal=ordinal, index=index, flags=flags, mode=mode, priority=priority
    )


class CommandQueue(OwnedHandle):
    """A queue of a device: it runs command lists one after the other.

    Leaving a `with` block waits until the queue has run everything.

    >>> import groundstate as gs
    >>> with gs.Context(gs.devices()[0]) as context:
    ...     memory = context.alloc_host(4)
    ...     commands = gs.CommandList(context)
    ...     commands.fill(memory, 7)
    ...     with gs.CommandQueue(context) as queue:
    ...         queue.execute(commands)
    ...     memory.tolist()
    [7, 7, 7, 7]
    """

    def __init__(
        self,
        context: Context | None = None,
        device: Device | None = None,
        *,
        ordinal: int = 0,
        index: int = 0,
        mode: QueueMode = QueueMode.DEFAULT,
        priority: QueuePriority = QueuePriority.NORMAL,
        in_order: bool = False,
        explicit_only: bool = False,
        copy_offload: bool = False,
    ) -> None:
        """Makes a queue of the group `ordinal` of `Device.queue_groups`.

        Without a context it is one of `default_context()`.
        """
        self.context = context = context_or_default(context)
        self.device = context.choose_device(device)
        self.ordinal = ordinal
        self.index = index
        description = queue_description(
            ordinal,
            index,
            mode,
            priority,
            in_order=in_order,
            explicit_only=explicit_only,
            copy_offload=copy_offload,
        )
        handle = context.api.create(
            "zeCommandQueueCreate", context.handle, self.device.handle, ctypes.byref(description)
        )
        self._in_flight = InFlight()
        self._given_back: list[CommandList] = []  # in flight
        self._spare: list[CommandList] = []
        destroy = ("zeCommandQueueDestroy", (handle,))
        keeps = (context.resource, self._in_flight)
        self._resource = Resource(
            context.api, handle, destroy, keeps, wait="zeCommandQueueSynchronize"
        )

    def _describe(self) -> str:
        return f"group {self.ordinal} of device {self.device.label} {self.device.name!r}"

    def close(self) -> None:
        """Lets go of the driver's object."""
        self._given_back, self._spare = [], []
        super().close()

    # --- Running lists ----------------------------------------------------------------------------

    def execute(self, *lists: CommandList, fence: Fence | None = None) -> None:
        """Submits lists to run in this order; returns at once. The fence is signaled at the end.

        A list that is still being recorded is finished first.
        """
        if not lists:
            raise ValueError("execute takes at least one command list")
        for commands in lists:
            commands.finish()
        resource = self.resource
        result = resource.api.direct.zeCommandQueueExecuteCommandLists(
            resource.argument,
            number(len(lists)),
            handle_array([commands.handle for commands in lists]),
            fence.resource.argument if fence is not None else NULL,
        )
        if result:
            check(result, "zeCommandQueueExecuteCommandLists", resource.api)
        for commands in lists:
            self._in_flight.add((commands.resource, commands.recorded))
        if self._in_flight.is_large():
            _ = self.is_idle

    def take_list(self) -> CommandList:
        """A list to record one thing in and execute: one that was given back and has run, or new.

        Making a list takes several times as long as launching a kernel.
        """
        from groundstate.core.command_list import CommandList

        if not self._spare:
            return CommandList(self.context, self.device, ordinal=self.ordinal)
        commands = self._spare.pop()
        commands.reset()
        return commands

    def give_back(self, commands: CommandList) -> None:
        """Takes a list from `take_list` back, once it was executed."""
        self._given_back.append(commands)

    # --- Waiting ----------------------------------------------------------------------------------

    @property
    def is_idle(self) -> bool:
        """True if everything that was submitted has run; asks without waiting."""
        resource, given_back = self.resource, len(self._given_back)
        taken = self._in_flight.take()
        idle = resource.api.is_ready("zeCommandQueueSynchronize", resource.argument, ZERO_SIZE)
        if idle:
            self._reuse(given_back)
        else:
            self._in_flight.put_back(taken)
        return idle

    def synchronize(self, timeout: float | None = None) -> None:
        """Waits until everything that was submitted has run.

        The timeout is in seconds; without one the wait lasts for ever. `TimeoutError` is raised
        when the time has passed. Ctrl-C interrupts.
        """
        resource, given_back = self.resource, len(self._given_back)
        taken = self._in_flight.take()
        try:
            resource.api.wait("zeCommandQueueSynchronize", resource.argument, timeout, "the queue")
        except BaseException:
            self._in_flight.put_back(taken)
            raise
        self._reuse(given_back)

    def _reuse(self, count: int) -> None:
        """The first so many lists that were given back have run."""
        if count:
            done, self._given_back = self._given_back[:count], self._given_back[count:]
            self._spare = (self._spare + done)[:_MOST_SPARE]

    def _finish(self) -> None:
        self.synchronize()


class Fence(OwnedHandle):
    """Tells the host that what was submitted to a queue has run.

    >>> import groundstate as gs
    >>> with gs.Context(gs.devices()[0]) as context:
    ...     queue, commands = gs.CommandQueue(context), gs.CommandList(context)
    ...     fence = gs.Fence(queue)
    ...     queue.execute(commands, fence=fence)
    ...     fence.wait()
    ...     fence.is_signaled
    True
    """

    def __init__(self, queue: CommandQueue, *, signaled: bool = False) -> None:
        self.queue = queue
        description = ze.ze_fence_desc_t(flags=signaled * ze.ZE_FENCE_FLAG_SIGNALED)
        api = queue.api
        handle = api.create("zeFenceCreate", queue.handle, ctypes.byref(description))
        self._resource = Resource(api, handle, ("zeFenceDestroy", (handle,)), queue.resource)

    @property
    def is_signaled(self) -> bool:
        """True if the work is done; asks without waiting."""
        resource = self.resource
        return resource.api.is_ready("zeFenceQueryStatus", resource.argument)

    def wait(self, timeout: float | None = None) -> None:
        """Waits until the work is done; as `Event.wait`."""
        resource = self.resource
        resource.api.wait("zeFenceHostSynchronize", resource.argument, timeout, "the fence")

    def reset(self) -> None:
        """Makes the fence ready for another submission."""
        self.api.call("zeFenceReset", self.handle)
