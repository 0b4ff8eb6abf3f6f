"""Kernels: functions of a module that run on a device, once for each work-item."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any

from groundstate import ze
from groundstate.core.api import check
from groundstate.core.command_list import CommandList
from groundstate.core.command_queue import CommandQueue
from groundstate.core.enums import CacheConfig, IndirectAccess
from groundstate.core.handle import OwnedHandle, Resource
from groundstate.core.kernel_arguments import Argument, Encoder, UntypedArgument
from groundstate.core.kernel_state import Extent, KernelState, extent
from groundstate.core.memory import Memory
from groundstate.core.properties import Properties

if TYPE_CHECKING:
    from groundstate.core.commands import Events
    from groundstate.core.context import Context
    from groundstate.core.event import Event
    from groundstate.core.module import Module

_NOT_GIVEN: Any = object()


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
        if not hasattr(module, "signatures"):
            raise TypeError(f"a kernel is one of a Module: gs.Module(opencl=...)[{name!r}]")
        self.name = name
        self.context, self.device = module.context, module.device
        self._signatures = module.signatures  # not the module, which keeps its kernels
        description = ze.ze_kernel_desc_t(pKernelName=name.encode())
        api = module.api
        handle = api.create("zeKernelCreate", module.handle, ctypes.byref(description))
        self._resource = Resource(api, handle, ("zeKernelDestroy", (handle,)), module.resource)
        self._state = KernelState()

    def close(self) -> None:
        """Lets go of the driver's kernel."""
        super().close()
        last, self._state.last = self._state.last, None
        if last is not None:
            last.forget()

    def _describe(self) -> str:
        return self.signature

    @property
    def signature(self) -> str:
        """Name and arguments as the source declares them, as far as that is known.

        >>> import groundstate as gs
        >>> source = "kernel void add(global int *a, int by) { *a += by; }"
        >>> gs.Module(opencl=source)["add"].signature
        'add(global int* a, int by)'
        """
        if self._signatures is None:
            count = len(self.arguments)
            return f"{self.name}({count} argument{'s' * (count != 1)})"
        return f"{self.name}({', '.join(each.declaration for each in self.arguments)})"

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """What the kernel takes; names and types are known for modules made from SPIR-V."""
        if self._signatures is not None:
            return self._signatures.arguments(self.name)
        count = self.properties.num_arguments
        return tuple(UntypedArgument(self.name, each) for each in range(count))

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
        return self._state.group

    @group_size.setter
    def group_size(self, size: Extent) -> None:
        with self._state.lock:
            self._state.set_group(self.resource, size)

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

    def set_cache_config(self, config: CacheConfig) -> None:
        """Says what the kernel would rather have much of: local memory, or cache for its data."""
        self.api.call("zeKernelSetCacheConfig", self.handle, config)

    def set_indirect_access(self, access: IndirectAccess) -> None:
        """Says which memory the kernel reaches through pointers that are not its arguments."""
        self.api.call("zeKernelSetIndirectAccess", self.handle, access)

    @property
    def max_cooperative_groups(self) -> int:
        """How many groups can run at the same time, and so wait for each other."""
        count = ctypes.c_uint32()
        function = "zeKernelSuggestMaxCooperativeGroupCount"
        self.api.call(function, self.handle, ctypes.byref(count))
        return count.value

    # --- Launching --------------------------------------------------------------------------------

    def launch(
        self,
        *arguments: Any,
        global_size: Extent,
        group_size: Extent | None = None,
        on: CommandList | CommandQueue | None = None,
        offset: Extent = 0,
        cooperative: bool = False,
        signal: Event | None = None,
        wait: Events = (),
    ) -> None:
        """Launches the kernel for so many work-items.

        Without `on`, it runs on the default list of this thread and has run when this returns; on a
        list or a queue it is submitted, as by calling the kernel. The size of a group is chosen so
        that groups divide the work-items; one that is given has to.

        >>> import groundstate as gs
        >>> source = "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }"
        >>> numbers = gs.array([1, 2, 3], "int32")
        >>> gs.Module(opencl=source)["twice"].launch(numbers, global_size=3)
        >>> numbers.tolist()
        [2, 4, 6]
        """
        if len(arguments) != len(self.arguments):
            raise self._wrong_number(len(arguments), f"write {self._call_by_size()}")
        if on is not None and not isinstance(on, CommandList | CommandQueue):
            raise TypeError(f"on= takes a command list or a queue, not {on!r:.60}")
        groups, group = self._divided(global_size, group_size)
        target = self.context.default_list(self.device) if on is None else on
        self(
            target,
            groups,
            group,
            *arguments,
            offset=offset,
            cooperative=cooperative,
            signal=signal,
            wait=wait,
        )
        if on is None:
            assert isinstance(target, CommandList)
            target.synchronize()

    def _divided(
        self, global_size: Extent, group_size: Extent | None
    ) -> tuple[tuple[int, ...], tuple[int, int, int]]:
        """How many groups of which size so many work-items are."""
        items = extent(global_size, what="global_size")
        if 0 in items:
            raise ValueError(f"global_size is at least 1 along each axis, not {global_size!r}")
        if group_size is not None:
            group = extent(group_size, what="group_size")
        else:
            group = self._required_group_size() or self._fitting_group_size(items)
        if 0 in group or any(all_ % each for all_, each in zip(items, group, strict=True)):
            raise _indivisible(items, group, is_required=group_size is None)
        return tuple(all_ // each for all_, each in zip(items, group, strict=True)), group

    def _required_group_size(self) -> tuple[int, int, int] | None:
        facts = self.properties
        required = (
            facts.required_group_size_x,
            facts.required_group_size_y,
            facts.required_group_size_z,
        )
        return required if all(required) else None

    def _fitting_group_size(self, items: tuple[int, int, int]) -> tuple[int, int, int]:
        x, y, z = map(math.gcd, self.suggest_group_size(items), items)
        return x, y, z

    def __call__(
        self,
        target: CommandList | CommandQueue = _NOT_GIVEN,
        grid: Extent | Memory = _NOT_GIVEN,
        group: Extent | None = _NOT_GIVEN,
        *arguments: Any,
        offset: Extent = 0,
        cooperative: bool = False,
        signal: Event | None = None,
        wait: Events = (),
    ) -> None:
        """Launches so many groups of the kernel: appends it to a list, or runs it on a queue.

        `launch` takes the number of work-items instead, and needs no list.

        `grid` is the number of work-groups and `group` the number of work-items in each, as a
        number or as up to three; a `grid` in memory (three `uint32`) is read by the device when the
        launch begins. Without a `group`, the one that was set last is used, or a default. The
        arguments are Python numbers, NumPy scalars, memory, arrays, `Local` for local
        memory, bytes or a NumPy record for a structure; they are checked against the kernel's
        types. `offset` is added to the global ids.
        """
        resource, state = self._resource or self.resource, self._state
        last = state.last
        if (
            last is not None
            and signal is None
            and wait is _NO_EVENTS
            and offset is state.offset_given
            and not cooperative
            and type(target) is CommandList
            and target.named is None
            and (list_ := target._resource) is not None
        ):
            recorded = target.recorded
            kept = recorded.objects
            result = last.repeat(last.place, list_.value, grid, group, arguments, kept, last.kept)
            if result > 0:
                check(result, "zeCommandListAppendLaunchKernel", resource.api)
            if result == 0:
                if len(kept) >= recorded.next_look:
                    target._look()
                return
        encoder = state.encoder or self._make_encoder()
        if len(arguments) != encoder.count or group is _NOT_GIVEN:
            raise self._wrong_call(target, len(arguments))
        commands = target if isinstance(target, CommandList) else self._list_for(target)
        named = commands.named
        kept = commands.recorded.objects
        kept[id(resource)] = resource
        encoded = encoder.encode(arguments, kept)
        with state.lock:
            if group is not state.group_given and group is not None:
                state.set_group(resource, group)
            if offset is not state.offset_given:
                state.set_offset(resource, offset)
            is_repeated = encoded == state.encoded
            if not is_repeated:
                state.set_arguments(resource, self.arguments, encoded)
            if isinstance(grid, Memory):
                commands._launch_indirect(resource.argument, grid, cooperative, signal, wait)
            else:
                if grid is not state.grid_given:
                    state.set_grid(grid)
                commands._launch(resource.argument, state.counts, cooperative, signal, wait)
                if is_repeated and group is state.group_given and state.last is None:
                    state.remember(resource, arguments)
        if named is not None:
            named.kernel, commands.named = self, None
        if commands is not target:
            assert isinstance(target, CommandQueue)
            target.execute(commands)
            target.give_back(commands)

    def _make_encoder(self) -> Encoder:
        arguments = self.arguments
        if not self.device.memory_access.shared_system:
            is_allocation = partial(_is_allocation, self.context)  # not of the kernel: no cycle
            arguments = tuple(each.limited(is_allocation) for each in arguments)
        self._state.encoder = encoder = Encoder(arguments)
        return encoder

    def _wrong_call(self, target: object, given: int) -> TypeError:
        if not isinstance(target, CommandList | CommandQueue):
            return self._no_list(target)
        return self._wrong_number(given, f"write {self._call_by_groups()}")

    def _wrong_number(self, given: int, advice: str) -> TypeError:
        names = ", ".join(each.declaration for each in self.arguments if each.declaration)
        plural = "s" * (len(self.arguments) != 1)
        return TypeError(
            f"kernel {self.name!r} takes {len(self.arguments)} argument{plural}"
            f"{names and f' ({names})'}, not {given}: {advice}"
        )

    def _no_list(self, target: object) -> TypeError:
        found = "nothing" if target is _NOT_GIVEN else f"{target!r:.60}"
        return TypeError(
            f"kernel {self.name!r} is called with a command list or a queue first, not with "
            f"{found}: write {self._call_by_groups()}, or {self._call_by_size()}, which needs no "
            "list"
        )

    def _call_by_groups(self) -> str:
        places = ["commands", "groups", "group_size", *self._argument_names()]
        return f"{self.name}({', '.join(places)})"

    def _call_by_size(self) -> str:
        return f"{self.name}.launch({', '.join([*self._argument_names(), 'global_size=...'])})"

    def _argument_names(self) -> list[str]:
        return [each.name or f"argument{each.index}" for each in self.arguments]

    def _list_for(self, queue: CommandQueue) -> CommandList:
        if not isinstance(queue, CommandQueue):
            raise self._no_list(queue)
        return queue.take_list()


_NO_EVENTS: Events = ()


def _is_allocation(context: Context, address: int) -> bool:
    """Whether an address is of memory that was allocated in a context, or imported there."""
    properties = ze.ze_memory_allocation_properties_t()
    place = ctypes.byref(properties)
    context.api.call("zeMemGetAllocProperties", context.handle, address, place, None)
    return bool(properties.type != ze.ZE_MEMORY_TYPE_UNKNOWN)


def _indivisible(
    items: tuple[int, int, int], group: tuple[int, int, int], *, is_required: bool
) -> ValueError:
    if 0 in group:
        return ValueError(f"group_size is at least 1 along each axis, not {_shown(group)}")
    whole = _shown(tuple(-(-all_ // each) * each for all_, each in zip(items, group, strict=True)))
    advice = f"launch {whole}, and let the kernel return early in those that are too many"
    if is_required:
        advice = f"the kernel requires groups of this size; {advice}"
    else:
        advice += ", or leave out group_size="
    return ValueError(
        f"{_shown(items)} work-items are no whole groups of {_shown(group)}: {advice}"
    )


def _shown(size: tuple[int, ...]) -> str:
    """A size along three axes, as `4 x 2`; the axes at the end along which it is 1 are left out."""
    last = max((axis for axis, length in enumerate(size) if length != 1), default=0)
    return " x ".join(map(str, size[: last + 1]))
