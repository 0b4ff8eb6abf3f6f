"""Memory that a device can use: host, device and shared allocations, and parts of them."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, Literal, cast

from groundstate import ze
from groundstate.core import dlpack
from groundstate.core.dtype import DType, dtype
from groundstate.core.enums import ExternalMemoryType, MemoryType
from groundstate.core.handle import OwnedHandle, Resource
from groundstate.core.last_arguments import LastArguments, tell_watchers

if TYPE_CHECKING:
    import numpy
    from typing_extensions import CapsuleType

    from groundstate.core.context import Context
    from groundstate.core.device import Device

Shape = int | Sequence[int]

_MEMORYVIEW_FORMATS = frozenset("?bBhHiIqQfd")


def shape_of(size: Shape) -> tuple[int, ...]:
    """A size or a shape, as a shape."""
    try:
        shape = tuple(map(index, size if isinstance(size, Iterable) else (size,)))
    except TypeError:
        raise TypeError(f"a shape is a whole number or several of them, not {size!r:.60}") from None
    if any(length < 0 for length in shape):
        raise ValueError(f"a shape has no negative lengths: {shape}")
    return shape


@dataclass(frozen=True)
class AllocationProperties:
    """What the driver knows of an allocation."""

    type: MemoryType
    id: int
    """A number that no other allocation of the driver has had."""
    page_bytes: int
    device: Device | None


class Memory(OwnedHandle):
    """Memory that a device can use, seen as an array of elements.

    It is made by `Context.alloc_host`, `alloc_device` and `alloc_shared`. NumPy reads and writes
    host and shared memory without a copy. Slicing gives a part that shares the memory. The memory
    goes back when this is closed and no part, array or running command uses it any more.

    >>> import groundstate as gs
    >>> with gs.Context(gs.devices()[0]) as context:
    ...     memory = context.alloc_shared((2, 3), "float32")
    ...     array = memory.numpy()
    ...     array[:] = 1.5
    ...     memory.tolist()
    [[1.5, 1.5, 1.5], [1.5, 1.5, 1.5]]
    """

    def __init__(
        self,
        context: Context,
        resource: Resource,
        kind: MemoryType,
        shape: tuple[int, ...],
        element: DType,
        device: Device | None,
        offset_bytes: int = 0,
    ) -> None:
        self.context = context
        self.device = device
        self.type = kind
        self.shape = shape
        self.dtype = element
        self.size_bytes = math.prod(shape) * element.itemsize_bytes
        self.offset_bytes = offset_bytes
        self._resource = resource
        self.watchers: set[Callable[[], LastArguments | None]] = set()
        """Weak references to launches that know this by its id."""

    def close(self) -> None:
        """Lets go of the memory, which goes back when nothing uses it any more."""
        super().close()
        if self.watchers:
            tell_watchers(self.watchers)

    def __del__(self) -> None:
        if self.watchers:
            tell_watchers(self.watchers)

    def _describe(self) -> str:
        return f"{self.type.name.lower()} {self.dtype.name} {self.shape}"

    # --- Where and how large ----------------------------------------------------------------------

    @property
    def handle(self) -> int:
        """The address, which is all that the C API knows of memory."""
        return self.resource.value + self.offset_bytes

    @property
    def address(self) -> int:
        """The address of the first element."""
        return self.handle

    @property
    def row_bytes(self) -> int:
        """The bytes from one row to the next; a shape of one dimension is one row."""
        return math.prod(self.shape[-1:]) * self.dtype.itemsize_bytes

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("memory of no dimensions has no length")
        return self.shape[0]

    @property
    def is_host_accessible(self) -> bool:
        """True if the host can read and write the memory: host and shared allocations."""
        return self.type != MemoryType.DEVICE

    def allocation_properties(self, context: Context | None = None) -> AllocationProperties:
        """Asks the driver about the allocation; or what another context knows of it: nothing."""
        asked = self.context if context is None else context
        properties = ze.ze_memory_allocation_properties_t()
        device = ctypes.c_void_p()
        self.api.call(
            "zeMemGetAllocProperties",
            asked.handle,
            self.address,
            ctypes.byref(properties),
            ctypes.byref(device),
        )
        owner = asked.driver._known([device.value])[0] if device.value else None
        return AllocationProperties(
            MemoryType(properties.type), properties.id, properties.pageSize, owner
        )

    # --- Sharing ----------------------------------------------------------------------------------

    def ipc_handle(self) -> bytes:
        """What another process needs to open the memory, with `Context.open_ipc`.

        The bytes may be sent in any way; they are good for processes of the same user, as long as
        this memory exists. Host and device allocations have them, parts of an allocation do not.
        """
        kind = ze.ze_ipc_mem_handle_t
        return bytes(self.api.struct(kind, "zeMemGetIpcHandle", self.context.handle, self.address))

    def export_fd(self, type: ExternalMemoryType = ExternalMemoryType.OPAQUE_FD) -> int:
        """A file descriptor for the memory, which anybody can map; the caller closes it.

        >>> import groundstate as gs, os
        >>> with gs.Context(gs.devices()[0]) as context:
        ...     memory = context.alloc_device(4096)
        ...     with gs.CommandList.immediate(context) as commands:
        ...         commands.fill(memory, b"out.")
        ...     fd = memory.export_fd()
        ...     os.pread(fd, 8, 0)
        ...     os.close(fd)
        b'out.out.'
        """
        request = ze.ze_external_memory_export_fd_t(flags=type, fd=-1)
        properties = ze.ze_memory_allocation_properties_t(pNext=ctypes.addressof(request))
        where = (self.context.handle, self.address)
        self.api.call("zeMemGetAllocProperties", *where, ctypes.byref(properties), None)
        return int(request.fd)

    # --- Parts ------------------------------------------------------------------------------------

    def __getitem__(self, place: int | slice) -> Memory:
        """A part along the first dimension, which shares the memory.

        >>> import groundstate as gs
        >>> with gs.Context(gs.devices()[0]) as context:
        ...     context.alloc_host((4, 8), "int32")[1:3].shape
        (2, 8)
        """
        if not self.shape:
            raise IndexError("memory of no dimensions has no parts")
        step = math.prod(self.shape[1:]) * self.dtype.itemsize_bytes
        if isinstance(place, slice):
            start, stop, stride = place.indices(self.shape[0])
            if stride != 1:
                raise ValueError("a part of memory is one piece: slices take no step")
            return self._part((max(0, stop - start), *self.shape[1:]), start * step)
        return self._part(self.shape[1:], range(self.shape[0])[place] * step)

    def _part(self, shape: tuple[int, ...], offset: int) -> Memory:
        return self._view(shape, self.dtype, self.offset_bytes + offset)

    def _view(self, shape: tuple[int, ...], element: DType, offset: int) -> Memory:
        return Memory(self.context, self.resource, self.type, shape, element, self.device, offset)

    def view(self, kind: Any, shape: Shape | None = None) -> Memory:
        """The same memory as elements of another type; without a shape, in one row.

        >>> import groundstate as gs
        >>> with gs.Context(gs.devices()[0]) as context:
        ...     context.alloc_host(16).view("uint32").shape
        (4,)
        """
        element = dtype(kind)
        new = shape_of(self.size_bytes // element.itemsize_bytes if shape is None else shape)
        if math.prod(new) * element.itemsize_bytes != self.size_bytes:
            raise ValueError(f"{self.size_bytes} bytes are not {new} elements of {element.name}")
        return self._view(new, element, self.offset_bytes)

    # --- What the host sees -----------------------------------------------------------------------

    def _require_host(self) -> None:
        if not self.is_host_accessible:
            raise TypeError(
                "the host cannot read device memory; copy it to host memory with a command list, "
                "or allocate it with alloc_shared"
            )

    def __array__(
        self, dtype: Any = None, copy: bool | None = None
    ) -> numpy.ndarray[Any, numpy.dtype[Any]]:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(f"{self.dtype.name} cannot become {dtype} without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def numpy(self) -> numpy.ndarray[Any, numpy.dtype[Any]]:
        """The memory as a NumPy array, without a copy; the array keeps the memory alive."""
        try:
            import numpy
        except ImportError:
            raise ImportError("NumPy is not installed: pip install numpy") from None
        self._require_host()
        is_plain = self.dtype.format != ""
        interface = {
            "shape": self.shape,
            "typestr": self.dtype.typestr if is_plain else f"|V{self.dtype.itemsize_bytes}",
            "data": (self.address, False),
            "version": 3,
        }
        array = numpy.asarray(_Window(self.resource, interface))
        return array if is_plain else array.view(self.dtype.numpy_type())

    def buffer(self) -> memoryview[Any]:
        """The memory as a memoryview, without a copy and without NumPy.

        It is one of bytes for the types that a memoryview does not have: half, complex and records.
        """
        self._require_host()
        buffer = (ctypes.c_uint8 * self.size_bytes).from_address(self.address)
        buffer.owner = self.resource  # type: ignore[attr-defined]
        flat = memoryview(buffer).cast("B")
        if not self._fits_memoryview():
            return flat
        return flat.cast(cast(Literal["B"], self.dtype.format), self.shape)

    def _fits_memoryview(self) -> bool:
        return self.dtype.format in _MEMORYVIEW_FORMATS and math.prod(self.shape) > 0

    def __buffer__(self, flags: int) -> memoryview[Any]:
        # Python asks from 3.12 on. NumPy then turns to __array__, which knows all types.
        if self.size_bytes and not self._fits_memoryview():
            raise BufferError(f"a memoryview has no elements of type {self.dtype.name}")
        return self.buffer()

    def tobytes(self) -> bytes:
        """A copy of the memory."""
        self._require_host()
        return ctypes.string_at(self.address, self.size_bytes)

    def tolist(self) -> Any:
        """The elements as Python numbers, in nested lists."""
        return self.buffer().tolist() if self._fits_memoryview() else self.numpy().tolist()

    def __dlpack_device__(self) -> tuple[int, int]:
        if self.is_host_accessible:
            return dlpack.CPU, 0
        assert self.device is not None
        return dlpack.ONE_API, self.context.driver.devices.index(self.device)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType:
        """A DLPack capsule for this memory; the one who takes it keeps the memory alive."""
        here = self.__dlpack_device__()
        if copy or (dl_device is not None and tuple(dl_device) != here):
            raise BufferError("memory is handed out without a copy, and where it is")
        if self.dtype.dlpack_code is None:
            raise BufferError(
                'DLPack has no records; hand out the memory as bytes, with .view("uint8")'
            )
        export = dlpack.Export(self.address, self.shape, self.dtype, here, self.resource)
        return dlpack.capsule(export, versioned=max_version is not None and max_version[0] >= 1)


class _Window:
    """What a NumPy array has as its base: the allocation, not the object that can be closed."""

    __slots__ = ("__array_interface__", "_owner")

    def __init__(self, owner: Resource, interface: dict[str, Any]) -> None:
        self._owner = owner
        self.__array_interface__ = interface
