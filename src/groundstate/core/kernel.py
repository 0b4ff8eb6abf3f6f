"""Kernels: functions of a module that run on a device, once for each work-item."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from groundstate import ze
from groundstate.core.command_list import CommandList
from groundstate.core.handle import OwnedHandle, Resource
from groundstate.core.kernel_arguments import Argument, arguments_in
from groundstate.core.properties import Properties

if TYPE_CHECKING:
    from groundstate.core.command_queue import CommandQueue
    from groundstate.core.commands import Events
    from groundstate.core.event import Event
    from groundstate.core.module import Module

Extent = int | Sequence[int]
"""Along x, or along x and y, or all three."""


@dataclass(frozen=True)
class KernelProperties(Properties):
    """What a kernel needs, and what it was compiled for."""

    STRUCT = "ze_kernel_properties_t"

    num_arguments: Annotated[int, "numKernelArgs"]
    required_group_size_x: int
    required_group_size_y: int
    required_group_size_z: int
    required_num_sub_groups: int
    required_sub_group_size: Annotated[int, "requiredSubgroupSize"]
    max_sub_group_size: Annotated[int, "maxSubgroupSize"]
    max_num_sub_groups: Annotated[int, "maxNumSubgroups"]
    local_memory_bytes: Annotated[int, "localMemSize"]
    private_memory_bytes: Annotated[int, "privateMemSize"]
    spill_memory_bytes: Annotated[int, "spillMemSize"]
    uuid: bytes

    def __post_init__(self) -> None:
        raw: Any = self.uuid
        object.__setattr__(self, "uuid", bytes(raw.kid) + bytes(raw.mid))


def extent(size: Extent) -> tuple[int, int, int]:
    """A size along three axes; those that are not given are 1.

    >>> extent(5), extent((4, 2))
    ((5, 1, 1), (4, 2, 1))
    """
    given = (size,) if isinstance(size, int) else tuple(size)
    if not 1 <= len(given) <= 3:
        raise ValueError(f"a size has one to three numbers, not {len(given)}")
    x, y, z = (*given, 1, 1)[:3]
    return int(x), int(y), int(z)


class Kernel(OwnedHandle):
    """A function of a module. Calling it launches it.

    >>> import groundstate as gs
    >>> source = "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }"
    >>> with gs.Context(gs.devices()[0]) as context:
    ...     memory = context.alloc_shared(8, "int32")
    ...     kernel = gs.Module(context, opencl=source)["twice"]
    ...     with gs.CommandList.immediate(context, in_order=True) as commands:
    ...         commands.fill(memory, 21)
    ...         kernel(commands, 2, 4, memory)
    ...     memory.tolist()
    [42, 42, 42, 42, 42, 42, 42, 42]
    """

    def __init__(self, module: Module, name: str) -> None:
        self.name = name
        self._spirv = module.spirv  # not the module, which keeps its kernels
        description = ze.ze_kernel_desc_t(pKernelName=name.encode())
        api = module.api
        handle = api.create("zeKernelCreate", module.handle, ctypes.byref(description))
        self._resource = Resource(api, handle, ("zeKernelDestroy", (handle,)), module.resource)
        self._group: tuple[int, int, int] | None = None
        self._offset = (0, 0, 0)

    def _describe(self) -> str:
        return self.name

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """What the kernel takes; names and types are known for modules made from SPIR-V."""
        if self._spirv is not None:
            return arguments_in(self._spirv, self.name)
        count = self.properties.num_arguments
        return tuple(Argument(self.name, index, "", "", None) for index in range(count))

    @cached_property
    def properties(self) -> KernelProperties:
        """What the kernel needs, and what it was compiled for."""
        struct = KernelProperties.struct()
        return KernelProperties.read(self.api.struct(struct, "zeKernelGetProperties", self.handle))

    @property
    def source_attributes(self) -> str:
        """The attributes in the kernel's source, such as `reqd_work_group_size(8,8,1)`."""
        size = ctypes.c_uint32()
        self.api.call("zeKernelGetSourceAttributes", self.handle, ctypes.byref(size), None)
        text = ctypes.create_string_buffer(max(1, size.value))
        pointer = ctypes.c_void_p(ctypes.addressof(text))
        self.api.call(
            "zeKernelGetSourceAttributes", self.handle, ctypes.byref(size), ctypes.byref(pointer)
        )
        return text.value.decode(errors="replace")

    # --- Group sizes ------------------------------------------------------------------------------

    @property
    def group_size(self) -> tuple[int, int, int] | None:
        """The work-items of a group along each axis; None until it is set."""
        return self._group

    @group_size.setter
    def group_size(self, size: Extent) -> None:
        wanted = extent(size)
        if wanted != self._group:
            self.api.call("zeKernelSetGroupSize", self.handle, *wanted)
            self._group = wanted

    def suggest_group_size(self, global_size: Extent) -> tuple[int, int, int]:
        """A good group size for so many work-items, which it divides.

        >>> import groundstate as gs
        >>> with gs.Context(gs.devices()[0]) as context:
        ...     kernel = gs.Module(context, opencl="kernel void f() {}")["f"]
        ...     kernel.suggest_group_size((1024, 1024))
        (256, 1, 1)
        """
        x, y, z = ctypes.c_uint32(), ctypes.c_uint32(), ctypes.c_uint32()
        self.api.call(
            "zeKernelSuggestGroupSize",
            self.handle,
            *extent(global_size),
            ctypes.byref(x),
            ctypes.byref(y),
            ctypes.byref(z),
        )
        return x.value, y.value, z.value

    @property
    def max_cooperative_groups(self) -> int:
        """How many groups can run at the same time, and so wait for each other."""
        count = ctypes.c_uint32()
        function = "zeKernelSuggestMaxCooperativeGroupCount"
        self.api.call(function, self.handle, ctypes.byref(count))
        return count.value

    # --- Launching --------------------------------------------------------------------------------

    def set_arguments(self, *values: Any) -> list[object]:
        """Sets all arguments; returns what must stay alive until the kernel has run."""
        if len(values) != len(self.arguments):
            names = ", ".join(f"{each.type} {each.name}".strip() for each in self.arguments)
            raise TypeError(
                f"kernel {self.name!r} takes {len(self.arguments)} arguments"
                f"{names and f' ({names})'}, not {len(values)}"
            )
        resource, owners = self.resource, []
        for argument, value in zip(self.arguments, values, strict=True):
            size, content, owner = argument.encode(value)
            pointer = ctypes.byref(content) if isinstance(content, ctypes._SimpleCData) else content
            resource.api.call(
                "zeKernelSetArgumentValue", resource.value, argument.index, size, pointer
            )
            if owner is not None:
                owners.append(owner)
        return owners

    def __call__(
        self,
        target: CommandList | CommandQueue,
        grid: Extent,
        group: Extent | None,
        *arguments: Any,
        offset: Extent = (0, 0, 0),
        cooperative: bool = False,
        signal: Event | None = None,
        wait: Events = (),
    ) -> None:
        """Launches the kernel: appends it to a list, or runs it on a queue.

        `grid` is the number of work-groups and `group` the number of work-items in each, as a
        number or as up to three. Without a `group`, the one that was set last is used, or a
        default. The arguments are Python numbers, NumPy scalars, memory, arrays, `Local` for local
        memory, bytes for a structure; they are checked against the kernel's types.
        """
        owners = self.set_arguments(*arguments)
        if group is not None:
            self.group_size = group
        self._set_offset(offset)
        count = ze.ze_group_count_t(*extent(grid))
        function = (
            "zeCommandListAppendLaunchCooperativeKernel"
            if cooperative
            else "zeCommandListAppendLaunchKernel"
        )
        uses = (self.resource, *owners)
        commands = target if isinstance(target, CommandList) else _list_for(target)
        commands._append(function, (self.handle, ctypes.byref(count)), signal, wait, *uses)
        if commands is not target:
            assert not isinstance(target, CommandList)
            target.execute(commands)

    def _set_offset(self, offset: Extent) -> None:
        wanted = (offset, 0, 0) if isinstance(offset, int) else (*offset, 0, 0, 0)[:3]
        if tuple(wanted) != self._offset:
            self.api.call("zeKernelSetGlobalOffsetExp", self.handle, *wanted)
            self._offset = (int(wanted[0]), int(wanted[1]), int(wanted[2]))


def _list_for(queue: CommandQueue) -> CommandList:
    return CommandList(queue.context, queue.device, ordinal=queue.ordinal)
