"""Memory of other processes, of other programs and of the host, as memory of a context."""

from __future__ import annotations

import ctypes
import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar, cast

from groundstate import _raw, ze
from groundstate.core.dtype import dtype
from groundstate.core.enums import ExternalMemoryType, MemoryType
from groundstate.core.handle import OwnedHandle, Resource
from groundstate.core.memory import Memory, Shape, shape_of
from groundstate.core.operand import borrow

if TYPE_CHECKING:
    from groundstate.core.context import Context
    from groundstate.core.device import Device
    from groundstate.core.operand import Operand

IpcStruct = TypeVar("IpcStruct", bound=_raw.Structure)


def ipc_struct(kind: type[IpcStruct], handle: bytes) -> IpcStruct:
    """The bytes of an IPC handle as the API takes them."""
    if len(handle) != ctypes.sizeof(kind):
        raise ValueError(f"an IPC handle has {ctypes.sizeof(kind)} bytes, not {len(handle)}")
    return kind.from_buffer_copy(handle)


class Sharing(OwnedHandle):
    """What a context does with memory that was not allocated in it."""

    @abstractmethod
    def choose_device(self, device: Device | None) -> Device:
        """The device that was meant: the one given, or the only one of the context."""

    def open_ipc(
        self,
        handle: bytes,
        shape: Shape | None = None,
        dtype: Any = "uint8",
        *,
        device: Device | None = None,
    ) -> Memory:
        """Opens memory of another process, from the bytes of its `Memory.ipc_handle()`.

        Without a shape it is all of it, in one row. It may be used until it is closed here,
        whatever the other process does.

        >>> import groundstate as gs
        >>> with gs.Context(gs.devices()[0]) as context:
        ...     memory = context.alloc_host(4)
        ...     again = context.open_ipc(memory.ipc_handle())
        ...     memory.numpy()[:] = 7
        ...     again.tolist()
        [7, 7, 7, 7]
        """
        chosen = self.choose_device(device)
        struct = ipc_struct(ze.ze_ipc_mem_handle_t, handle)
        address = self.api.create("zeMemOpenIpcHandle", self.handle, chosen.handle, struct, 0)
        close = ("zeMemCloseIpcHandle", (self.handle, address))
        resource = Resource(self.api, address, close, self.resource)
        return self._memory(resource, shape, dtype, chosen)

    def return_ipc(self, handle: bytes) -> None:
        """Tells the driver that a handle from `Memory.ipc_handle()` is not needed any more."""
        struct = ipc_struct(ze.ze_ipc_mem_handle_t, handle)
        self.api.call("zeMemPutIpcHandle", self.handle, struct)

    def import_fd(
        self,
        fd: int,
        shape: Shape,
        dtype: Any = "uint8",
        *,
        type: ExternalMemoryType = ExternalMemoryType.OPAQUE_FD,
        device: Device | None = None,
        host: bool = False,
    ) -> Memory:
        """Makes a file of memory, such as `os.memfd_create` gives, memory of a device or the host.

        The descriptor stays the caller's, who may close it.

        >>> import groundstate as gs, os
        >>> with gs.Context(gs.devices()[0]) as context:
        ...     fd = os.memfd_create("numbers")
        ...     written = os.write(fd, bytes(4096))
        ...     memory = context.import_fd(fd, 1024, "int32")
        ...     with gs.CommandList.immediate(context) as commands:
        ...         commands.fill(memory, 5)
        ...     os.pread(fd, 8, 0)
        ...     os.close(fd)
        b'\\x05\\x00\\x00\\x00\\x05\\x00\\x00\\x00'
        """
        request = ze.ze_external_memory_import_fd_t(flags=type, fd=fd)
        size_bytes = _size_bytes(shape, dtype)
        at = ctypes.addressof(request)
        if host:
            description: _raw.Structure = ze.ze_host_mem_alloc_desc_t(pNext=at)
            chosen, function = None, "zeMemAllocHost"
        else:
            description = ze.ze_device_mem_alloc_desc_t(pNext=at)
            chosen, function = self.choose_device(device), "zeMemAllocDevice"
        where = () if chosen is None else (chosen.handle,)
        address = self.api.create(
            function, self.handle, ctypes.byref(description), size_bytes, 0, *where
        )
        free = ("zeMemFree", (self.handle, address))
        resource = Resource(self.api, address, free, self.resource)
        return self._memory(resource, shape, dtype, chosen)

    def import_host(
        self, buffer: Operand, shape: Shape | None = None, dtype: Any = "uint8"
    ) -> Memory:
        """Makes memory of the program, which has to be whole pages, memory of the context.

        It stays where it is, and what it belongs to is kept alive. `mmap.mmap(-1, size)` has whole
        pages.

        >>> import groundstate as gs, mmap
        >>> with gs.Context(gs.devices()[0]) as context:
        ...     pages = mmap.mmap(-1, mmap.PAGESIZE)
        ...     memory = context.import_host(pages)
        ...     with gs.CommandList.immediate(context) as commands:
        ...         commands.fill(memory, b"page")
        ...     pages[:8]
        b'pagepage'
        """
        borrowed = borrow(buffer, writable=True)
        asked = None if shape is None else _size_bytes(shape, dtype)
        size_bytes = borrowed.size(asked, "the buffer")
        request = ze.ze_external_memmap_sysmem_ext_desc_t(
            pSystemMemory=borrowed.address, size=size_bytes
        )
        description = ze.ze_host_mem_alloc_desc_t(pNext=ctypes.addressof(request))
        address = self.api.create(
            "zeMemAllocHost", self.handle, ctypes.byref(description), size_bytes, 0
        )
        free = ("zeMemFree", (self.handle, address))
        resource = Resource(self.api, address, free, (self.resource, borrowed.owner))
        return self._memory(resource, shape, dtype, None)

    def _memory(
        self, resource: Resource, size: Shape | None, element_type: Any, device: Device | None
    ) -> Memory:
        """Memory that the driver knows, seen as elements; it knows its size and its kind."""
        there = ctypes.c_size_t()
        where = (self.handle, resource.value)
        self.api.call("zeMemGetAddressRange", *where, None, ctypes.byref(there))
        properties = ze.ze_memory_allocation_properties_t()
        self.api.call("zeMemGetAllocProperties", *where, ctypes.byref(properties), None)
        element = dtype(element_type)
        shape = shape_of(there.value // element.itemsize_bytes if size is None else size)
        if math.prod(shape) * element.itemsize_bytes > there.value:
            raise ValueError(
                f"{shape} elements of {element.name} are more than the {there.value} bytes of the "
                "memory"
            )
        kind = MemoryType(properties.type)
        owner = device if kind == MemoryType.DEVICE else None
        return Memory(cast("Context", self), resource, kind, shape, element, owner)


def _size_bytes(shape: Shape, element_type: Any) -> int:
    return math.prod(shape_of(shape)) * dtype(element_type).itemsize_bytes
