"""Command lists: commands recorded for later, or run as they are appended."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from groundstate import ze
from groundstate.core.api import (
    NOT_READY,
    NULL,
    ZERO,
    ZERO_SIZE,
    address,
    check,
    handle_array,
    number,
)
from groundstate.core.command_queue import queue_description
from groundstate.core.commands import Commands, Events
from groundstate.core.default_context import context_or_default
from groundstate.core.enums import QueueMode, QueuePriority
from groundstate.core.graph import Graph, follow_captures
from groundstate.core.handle import InFlight, Resource
from groundstate.core.mutable_command import MutableCommand
from groundstate.core.operand import borrow

if TYPE_CHECKING:
    from groundstate.core.context import Context
    from groundstate.core.device import Device
    from groundstate.core.event import Event
    from groundstate.core.kernel import Kernel
    from groundstate.core.memory import Memory


_LAUNCH = "zeCommandListAppendLaunchKernel"
_LAUNCH_INDIRECT = "zeCommandListAppendLaunchKernelIndirect"
_LAUNCH_COOPERATIVE = "zeCommandListAppendLaunchCooperativeKernel"


class CommandList(Commands):
    """Commands for a device.

    A list made with `CommandList(...)` is recorded and then run by a queue, as often as wanted. One
    made with `CommandList.immediate(...)` runs each command as it is appended; leaving a `with`
    block waits until all have run.

    >>> import groundstate as gs
    >>> with gs.Context(gs.devices()[0]) as context:
    ...     source, target = context.alloc_host(4), context.alloc_host(4)
    ...     with gs.CommandList.immediate(context, in_order=True) as commands:
    ...         commands.fill(source, 9)
    ...         commands.copy(target, source)
    ...     target.tolist()
    [9, 9, 9, 9]
    """

    def __init__(
        self,
        context: Context | None = None,
        device: Device | None = None,
        *,
        ordinal: int = 0,
        in_order: bool = False,
        relaxed_ordering: bool = False,
        maximize_throughput: bool = False,
        explicit_only: bool = False,
        copy_offload: bool = False,
        cloneable: bool = False,
        mutable: bool = False,
    ) -> None:
        """Makes a list to be recorded, for queues of the group `ordinal`.

        `in_order` runs the commands one after the other; without it, only barriers and events say
        what has to come first. The commands of a `mutable` list can be changed between two runs:
        see `next_command`. Without a context it is a list of `default_context()`.
        """
        context = context_or_default(context)
        flags = (
            in_order * ze.ZE_COMMAND_LIST_FLAG_IN_ORDER
            | relaxed_ordering * ze.ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING
            | maximize_throughput * ze.ZE_COMMAND_LIST_FLAG_MAXIMIZE_THROUGHPUT
            | explicit_only * ze.ZE_COMMAND_LIST_FLAG_EXPLICIT_ONLY
            | copy_offload * ze.ZE_COMMAND_LIST_FLAG_COPY_OFFLOAD_HINT
            | cloneable * ze.ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE
        )
        changes = ze.ze_mutable_command_list_exp_desc_t()
        description = ze.ze_command_list_desc_t(
            commandQueueGroupOrdinal=ordinal,
            flags=flags,
            pNext=ctypes.addressof(changes) if mutable else None,
        )
        chosen = context.choose_device(device)
        handle = context.api.create(
            "zeCommandListCreate", context.handle, chosen.handle, ctypes.byref(description)
        )
        self._start(context, chosen, ordinal, handle, is_immediate=False)

    @classmethod
    def immediate(
        cls,
        context: Context | None = None,
        device: Device | None = None,
        *,
        ordinal: int = 0,
        index: int = 0,
        mode: QueueMode = QueueMode.DEFAULT,
        priority: QueuePriority = QueuePriority.NORMAL,
        in_order: bool = False,
        copy_offload: bool = False,
    ) -> CommandList:
        """Makes a list that runs each command as it is appended; see above for the context."""
        context = context_or_default(context)
        description = queue_description(
            ordinal, index, mode, priority, in_order=in_order, copy_offload=copy_offload
        )
        chosen = context.choose_device(device)
        handle = context.api.create(
            "zeCommandListCreateImmediate", context.handle, chosen.handle, ctypes.byref(description)
        )
        made = cls.__new__(cls)
        made._start(context, chosen, ordinal, handle, is_immediate=True)
        return made

    def _start(
        self, context: Context, device: Device, ordinal: int, handle: int, *, is_immediate: bool
    ) -> None:
        self.context = context
        self.device = device
        self.ordinal = ordinal
        self.is_immediate = is_immediate
        self.is_finished = False
        self.recorded = InFlight()
        self.named: MutableCommand | None = None
        """The name of the command that will be appended next, if it was given one."""
        destroy = ("zeCommandListDestroy", (handle,))
        keeps = (context.resource, self.recorded)
        wait = "zeCommandListHostSynchronize" if is_immediate else None
        self._resource = Resource(context.api, handle, destroy, keeps, wait=wait)

    def _describe(self) -> str:
        state = "immediate" if self.is_immediate else "finished" if self.is_finished else "open"
        return f"{state}, group {self.ordinal} of device {self.device.label} {self.device.name!r}"

    def _keep(self, things: Iterable[object]) -> None:
        self.recorded.add(things)
        self.named = None
        follow_captures(self)
        self._look()

    def _look(self) -> None:
        """If much was kept for an immediate list, looks whether it is still needed."""
        if self.is_immediate and self.recorded.is_large():
            _ = self.is_idle

    def _launch(
        self, kernel: Any, counts: Any, cooperative: bool, signal: Event | None, wait: Events
    ) -> None:
        """Appends a launch; the kernel and the number of groups are prepared arguments."""
        if cooperative or signal is not None or wait != ():
            function = _LAUNCH_COOPERATIVE if cooperative else _LAUNCH
            self._append(function, (kernel, counts), signal, wait)
            return
        resource = self._resource or self.resource
        append = resource.api.direct.zeCommandListAppendLaunchKernel
        result = append(resource.argument, kernel, counts, NULL, ZERO, NULL)
        if result:
            check(result, _LAUNCH, resource.api)
        if len(self.recorded.objects) >= self.recorded.next_look:
            self._look()

    def _launch_indirect(
        self, kernel: Any, counts: Memory, cooperative: bool, signal: Event | None, wait: Events
    ) -> None:
        """Appends a launch whose number of groups the device reads from memory."""
        if cooperative:
            raise ValueError("a cooperative launch takes its number of groups as numbers")
        where = borrow(counts)
        where.require(ctypes.sizeof(ze.ze_group_count_t), "the memory with the number of groups")
        prepared = (kernel, address(where.address))
        self._append(_LAUNCH_INDIRECT, prepared, signal, wait, (where.owner,))

    # --- Recorded lists ---------------------------------------------------------------------------

    def finish(self) -> None:
        """Ends the recording. `CommandQueue.execute` does it if need be; twice does no harm."""
        if not self.is_finished and not self.is_immediate:
            resource = self.resource
            resource.api.call_direct("zeCommandListClose", resource.argument)
            self.is_finished = True

    def reset(self) -> None:
        """Forgets all commands, so that the list can be recorded anew."""
        resource = self.resource
        resource.api.call_direct("zeCommandListReset", resource.argument)
        self.is_finished = False
        self.named = None
        if not self.is_immediate:
            self.recorded = InFlight()
            resource.keeps = (self.context.resource, self.recorded)

    def clone(self) -> CommandList:
        """A copy of a finished list that was made with `cloneable`."""
        self.finish()
        handle = self.api.create("zeCommandListCreateCloneExp", self.handle)
        copy = type(self).__new__(type(self))
        copy._start(self.context, self.device, self.ordinal, handle, is_immediate=False)
        copy.is_finished = True
        copy.recorded.add((self.recorded,))
        return copy

    def next_command(self, *kernels: Kernel) -> MutableCommand:
        """A name for the command that is appended next to a mutable list, to change it later.

        If it is a launch, it may later launch one of `kernels` instead.
        """
        self.named = MutableCommand(self, kernels)
        self.recorded.add(kernel.resource for kernel in kernels)
        return self.named

    # --- Immediate lists --------------------------------------------------------------------------

    def execute(self, *lists: CommandList, signal: Event | None = None, wait: Events = ()) -> None:
        """Runs recorded lists from this immediate one, as if their commands were appended here."""
        if not lists:
            raise ValueError("execute takes at least one command list")
        for commands in lists:
            commands.finish()
        handles = handle_array([commands.handle for commands in lists])
        uses = [use for commands in lists for use in (commands.resource, commands.recorded)]
        function = "zeCommandListImmediateAppendCommandListsExp"
        self._append(function, (number(len(lists)), handles), signal, wait, uses)

    def capture(self) -> AbstractContextManager[Graph]:
        """Records what an immediate list is given in a `with` block into a graph: see `Graph`."""
        return Graph(self.context).record(self)

    def _append_graph(self, graph: Resource, signal: Event | None, wait: Events) -> None:
        """Appends a run of an executable graph."""
        function = "zeCommandListAppendGraphExt"
        self._append(function, (graph.argument, NULL), signal, wait, (graph,))

    @property
    def is_idle(self) -> bool:
        """True if every command of an immediate list has run; asks without waiting."""
        resource = self.resource
        taken, idle = self.recorded.take(), False
        try:
            idle = resource.api.is_ready(
                "zeCommandListHostSynchronize", resource.argument, ZERO_SIZE
            )
        finally:
            if not idle:
                self.recorded.put_back(taken)
        return idle

    def synchronize(self, timeout: float | None = None) -> None:
        """Waits until every command of an immediate list has run.

        The timeout is in seconds; without one the wait lasts for ever. `TimeoutError` is raised
        when the time has passed. Ctrl-C interrupts.
        """
        if not self.is_immediate:
            raise TypeError(
                "only an immediate list can be waited for; wait for the queue that runs this one, "
                "or for a fence or an event"
            )
        resource, recorded = self._resource or self.resource, self.recorded
        api = resource.api
        built_in, result = api.built_in, NOT_READY
        taken = recorded.take()
        try:
            if built_in is not None and timeout is None:
                result = built_in.wait_for_list(resource.value)
                if not result:
                    return
            if result == NOT_READY:
                api.wait("zeCommandListHostSynchronize", resource.argument, timeout, "the list")
            else:
                check(result, "zeCommandListHostSynchronize", api)
        except BaseException:
            self.recorded.put_back(taken)
            raise

    def _finish(self) -> None:
        if self.is_immediate:
            self.synchronize()
