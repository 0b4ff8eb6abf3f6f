"""Contexts: what memory, queues, lists and events are made in."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from groundstate import _raw, ze
from groundstate.core.api import handle_array
from groundstate.core.content import Content
from groundstate.core.default_list import DefaultLists
from groundstate.core.device import Device
from groundstate.core.driver import Driver
from groundstate.core.dtype import dtype
from groundstate.core.enums import ExternalMemoryType, MemoryType
from groundstate.core.handle import Resource
from groundstate.core.image import Image
from groundstate.core.memory import Memory, Shape, shape_of
from groundstate.core.operand import borrow
from groundstate.core.sharing import Sharing

if TYPE_CHECKING:
    from groundstate.core.command_list import CommandList
    from groundstate.core.operand import Operand


class Context(Sharing):
    """What memory, queues, lists and events are made in: they work together if they share it.

    A context is made for all devices of a driver, or for some of them.

    >>> import groundstate as gs
    >>> with gs.Context(gs.drivers()[0]) as context:
    ...     len(context.devices) == len(gs.drivers()[0].devices)
    True
    """

    def __init__(self, owner: Driver | Device | Iterable[Device]) -> None:
        """Makes a context for a driver with all its devices, for a device, or for several."""
        description = ze.ze_context_desc_t()
        function = "zeContextCreate"
        chosen: tuple[object, ...] = ()
        if isinstance(owner, Driver):
            self.driver, self.devices = owner, owner.devices
        else:
            self.devices = (owner,) if isinstance(owner, Device) else tuple(owner)
            self.driver = _common_driver(self.devices)
            handles = handle_array([device.handle for device in self.devices])
            function, chosen = "zeContextCreateEx", (len(self.devices), handles)
        api, driver = self.driver.api, self.driver.handle
        handle = api.create(function, driver, ctypes.byref(description), *chosen)
        keeps = self.driver.resource
        self._resource = Resource(api, handle, ("zeContextDestroy", (handle,)), keeps)
        self._default_lists = DefaultLists()

    def _describe(self) -> str:
        labels = ", ".join(device.label for device in self.devices)
        return f"of device{'s' * (len(self.devices) != 1)} {labels}"

    def close(self) -> None:
        """Lets go of the context. Kernels that still run in it are stopped, and what was made in it
        cannot be used any more then; a `with` block that ends well lets them run to their end."""
        if not self.closed:
            self._stop()
        self._finish()

    def _finish(self) -> None:
        self._default_lists = DefaultLists()
        super().close()

    def _stop(self) -> None:
        """Stops kernels, if the driver is one that can."""
        try:
            stop = self.api.library.find("gs_context_stop")
        except _raw.MissingFunctionError:
            return
        stop(self.resource.argument)

    def choose_device(self, device: Device | None) -> Device:
        """The device that was meant: the one given, or the only one of the context."""
        if device is not None:
            return device
        if len(self.devices) == 1:
            return self.devices[0]
        raise ValueError(
            f"this context has {len(self.devices)} devices: say which one, with device="
        )

    def default_list(self, device: Device | None = None) -> CommandList:
        """The immediate list on which a thread runs what it gives no other list: in order.

        Each thread has its own. It is closed with the context, or when the thread ends.

        >>> import groundstate as gs
        >>> with gs.Context(gs.devices()[0]) as context:
        ...     memory, commands = context.alloc_shared(3), context.default_list()
        ...     commands.fill(memory, 8)
        ...     commands.synchronize()
        ...     memory.tolist()
        [8, 8, 8]
        """
        return self._default_lists.of(self, self.choose_device(device))

    # --- Memory -----------------------------------------------------------------------------------

    def alloc_host(
        self,
        shape: Shape,
        dtype: Any = "uint8",
        *,
        alignment_bytes: int = 0,
        cached: bool | None = None,
        export: ExternalMemoryType | None = None,
    ) -> Memory:
        """Memory of the host that every device of the context can use.

        The shape is a number of elements, or several numbers for several dimensions. `export` is as
        for device memory.

        >>> import groundstate as gs
        >>> with gs.Context(gs.devices()[0]) as context:
        ...     context.alloc_host(1000, "float64").size_bytes
        8000
        """
        host = ze.ze_host_mem_alloc_desc_t(flags=_bias("ZE_HOST_MEM_ALLOC_FLAG", cached))
        wish = ze.ze_external_memory_export_desc_t(flags=export or 0)
        if export is not None:
            host.pNext = ctypes.addressof(wish)
        descriptions = (ctypes.byref(host),)
        return self._alloc(MemoryType.HOST, shape, dtype, descriptions, alignment_bytes, None)

    def alloc_device(
        self,
        shape: Shape,
        dtype: Any = "uint8",
        *,
        device: Device | None = None,
        ordinal: int = 0,
        alignment_bytes: int = 0,
        cached: bool | None = None,
        export: ExternalMemoryType | None = None,
    ) -> Memory:
        """Memory of a device; the host reaches it by copying with a command list.

        `ordinal` chooses one of `Device.memories`. `export` says as what the memory is going to be
        exported; some drivers want to know.
        """
        local = ze.ze_device_mem_alloc_desc_t(
            flags=_bias("ZE_DEVICE_MEM_ALLOC_FLAG", cached), ordinal=ordinal
        )
        wish = ze.ze_external_memory_export_desc_t(flags=export or 0)
        if export is not None:
            local.pNext = ctypes.addressof(wish)
        chosen = self.choose_device(device)
        descriptions = (ctypes.byref(local),)
        return self._alloc(MemoryType.DEVICE, shape, dtype, descriptions, alignment_bytes, chosen)

    def alloc_shared(
        self,
        shape: Shape,
        dtype: Any = "uint8",
        *,
        device: Device | None = None,
        ordinal: int = 0,
        alignment_bytes: int = 0,
        cached: bool | None = None,
    ) -> Memory:
        """Memory that host and device both use at the same address."""
        local = ze.ze_device_mem_alloc_desc_t(
            flags=_bias("ZE_DEVICE_MEM_ALLOC_FLAG", cached), ordinal=ordinal
        )
        host = ze.ze_host_mem_alloc_desc_t(flags=_bias("ZE_HOST_MEM_ALLOC_FLAG", cached))
        chosen = self.choose_device(device)
        descriptions = (ctypes.byref(local), ctypes.byref(host))
        return self._alloc(MemoryType.SHARED, shape, dtype, descriptions, alignment_bytes, chosen)

    def array(self, data: Any, dtype: Any = None, *, device: Device | None = None) -> Memory:
        """Shared memory with a copy of an array, of numbers in lists, or of bytes.

        The elements are of the array's own type, or are converted to `dtype`. Lists of lists,
        and records, need NumPy.

        >>> import groundstate as gs, numpy
        >>> with gs.Context(gs.devices()[0]) as context:
        ...     context.array(numpy.arange(6).reshape(2, 3), "float32").tolist()
        [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
        """
        content = Content(data, dtype)
        memory = self.alloc_shared(content.shape, content.dtype, device=device)
        content.write(memory)
        return memory

    def _alloc(
        self,
        kind: MemoryType,
        size: Shape,
        element_type: Any,
        descriptions: tuple[object, ...],
        alignment: int,
        device: Device | None,
    ) -> Memory:
        element, shape = dtype(element_type), shape_of(size)
        size_bytes = math.prod(shape) * element.itemsize_bytes
        where = () if device is None else (device.handle,)
        address = self.api.create(
            f"zeMemAlloc{kind.name.capitalize()}",
            self.handle,
            *descriptions,
            size_bytes,
            alignment,
            *where,
        )
        destroy = ("zeMemFree", (self.handle, address))
        resource = Resource(self.api, address, destroy, self.resource)
        return Memory(self, resource, kind, shape, element, device)

    def make_resident(self, thing: Operand | Image, device: Device | None = None) -> None:
        """Keeps memory or an image where the device reaches it at once, until `evict`.

        Shared memory then counts as memory of the device; `OutOfDeviceMemory` says that it is full.
        """
        self._residency("Make{}Resident", thing, device)

    def evict(self, thing: Operand | Image, device: Device | None = None) -> None:
        """Takes back `make_resident`. The device can still use it."""
        self._residency("Evict{}", thing, device)

    def _residency(self, name: str, thing: Operand | Image, device: Device | None) -> None:
        where = self.choose_device(device).handle
        if isinstance(thing, Image):
            function = f"zeContext{name.format('Image')}"
            self.api.call(function, self.handle, where, thing.handle)
            return
        borrowed = borrow(thing)
        size = borrowed.size(None, "what is to be resident")
        function = f"zeContext{name.format('Memory')}"
        self.api.call(function, self.handle, where, borrowed.address, size)

    # --- State ------------------------------------------------------------------------------------

    def system_barrier(self, device: Device | None = None) -> None:
        """Makes what the device wrote to memory of the host visible to it."""
        self.api.call("zeContextSystemBarrier", self.handle, self.choose_device(device).handle)

    def check_status(self) -> None:
        """Raises `DeviceLost`, or what else is wrong, if the context cannot be used any more."""
        self.api.call("zeContextGetStatus", self.handle)


def _common_driver(devices: tuple[Device, ...]) -> Driver:
    if not devices:
        raise ValueError("a context needs at least one device")
    if any(device.driver is not devices[0].driver for device in devices):
        raise ValueError("the devices of a context are all of one driver")
    return devices[0].driver


def _bias(prefix: str, cached: bool | None) -> int:
    """The flag that asks for cached or uncached memory; None leaves it to the driver."""
    if cached is None:
        return 0
    return int(getattr(ze, f"{prefix}_BIAS_{'CACHED' if cached else 'UNCACHED'}"))
