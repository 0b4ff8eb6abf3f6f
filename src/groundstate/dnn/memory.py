"""Memory objects: a descriptor and where its elements are."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING

from groundstate import ze
from groundstate.dnn import native
from groundstate.dnn.descriptor import SIZES, Descriptor
from groundstate.dnn.errors import DnnError, invalid, require
from groundstate.dnn.types import FormatKind

if TYPE_CHECKING:
    from groundstate.dnn.engine import Engine
    from groundstate.dnn.stream import Stream

NONE = 0
ALLOCATE = (1 << 64) - 1
"""As a handle: the library is to allocate the memory."""

MOST_HANDLES = 16

_ON_DEVICE = int(ze.ZE_MEMORY_TYPE_DEVICE)
_UNKNOWN = int(ze.ZE_MEMORY_TYPE_UNKNOWN)


class Memory(native.Owner):
    """A tensor in memory of an engine.

    A handle is an address that the device can use, which stays the caller's, or `ALLOCATE`, or
    `NONE` for memory that is set later. Sparse tensors have several.
    """

    def __init__(
        self,
        engine: Engine,
        descriptor: Descriptor,
        handles: Sequence[int] | int = ALLOCATE,
        *,
        keeps: object = None,
    ) -> None:
        """`keeps` is whatever has to live as long: the owner of the memory."""
        require(not descriptor.is_any, "memory needs a layout: `any` is for primitives")
        require(not descriptor.has_runtime, "memory needs dimensions that are known")
        scalar = descriptor.kind == FormatKind.host_scalar
        require(not scalar, "a value of the host is made with `HostScalar`")
        self.engine, self.descriptor, self._keeps = engine, descriptor, keeps
        given = [handles] * descriptor.handles if isinstance(handles, int) else list(handles)
        require(len(given) > 0, "memory has at least one handle")
        require(len(given) <= MOST_HANDLES, f"memory has at most {MOST_HANDLES} handles")
        self._mapped: dict[int, ctypes.Array[ctypes.c_char]] = {}
        self.count = len(given)
        addresses = (ctypes.c_void_p * len(given))()
        owned = (ctypes.c_bool * len(given))()
        try:
            for index, handle in enumerate(given):
                addresses[index], owned[index] = self._usable(index, handle)
            functions = native.library()
            self._handle = native.made(
                functions.gs_memory_new(engine.native, len(given), addresses, owned)
            )
        except DnnError:
            for address, ours in zip(addresses, owned, strict=True):
                if ours:
                    engine.free(address or 0)
            raise

    @classmethod
    def view(cls, memory: Memory, descriptor: Descriptor) -> Memory:
        """The same memory under another descriptor."""
        handles = [memory.get_handle(index) for index in range(memory.count)]
        return cls(memory.engine, descriptor, handles, keeps=memory)

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions of the tensor."""
        return self.descriptor.dims

    def part(self, dims: Sequence[int], offsets: Sequence[int]) -> Memory:
        """A part of the tensor, in the same memory."""
        return Memory.view(self, self.descriptor.part(dims, offsets))

    def reshaped(self, *dims: int) -> Memory:
        """The same elements as a tensor of another shape, in the same memory."""
        return Memory.view(self, self.descriptor.reshaped(dims))

    def permuted(self, *permutation: int) -> Memory:
        """The same elements with dimension `d` moved to place `permutation[d]`."""
        return Memory.view(self, self.descriptor.permuted(permutation))

    def _usable(self, index: int, handle: int) -> tuple[int, bool]:
        """The address for a handle, and whether it is memory of our own."""
        if handle == ALLOCATE:
            return self.engine.allocate(self._size(index)), True
        if handle != NONE:
            check_usable(self.engine, handle)
        return handle, False

    def _size(self, index: int) -> int:
        extra = self.descriptor.offset * SIZES[self.descriptor.data_type] if index == 0 else 0
        return self.descriptor.size_bytes(index) + extra if not self.descriptor.is_zero else 0

    def get_handle(self, index: int = 0) -> int:
        """The address of a buffer."""
        require(0 <= index < self.count, f"there is no buffer {index}")
        return native.library().gs_memory_get(self.native, index) or NONE

    def set_handle(self, handle: int, index: int = 0) -> None:
        """Uses other memory, of the caller; what was allocated here is given back."""
        require(0 <= index < self.count, f"there is no buffer {index}")
        native.library().gs_memory_set(self.native, index, handle)

    # --- The host's view --------------------------------------------------------------------------

    def map(self, stream: Stream, index: int = 0) -> int:
        """An address at which the host can read and write the elements, until `unmap`."""
        address, size = self.get_handle(index), self._size(index)
        if address == NONE or size == 0:
            return 0
        if self.engine.memory_type(address) != _ON_DEVICE:
            return address
        copy = ctypes.create_string_buffer(size)
        stream.copy(ctypes.addressof(copy), address, size)
        stream.wait()
        self._mapped[ctypes.addressof(copy)] = copy
        return ctypes.addressof(copy)

    def unmap(self, stream: Stream, mapped: int, index: int = 0) -> None:
        """Ends a mapping: what the host wrote is in the memory afterwards."""
        address = self.get_handle(index)
        copy = self._mapped.pop(mapped, None)
        if copy is None:
            require(mapped in (0, address), "this address was not mapped")
            return
        stream.copy(address, mapped, len(copy))
        stream.wait()

    def write(self, stream: Stream, data: bytes, index: int = 0) -> None:
        """Fills the memory with bytes of the host."""
        size = self._size(index)
        require(len(data) <= size, f"{len(data)} bytes do not fit into {size}")
        if data:
            kept = ctypes.create_string_buffer(data, len(data))
            stream.copy(self.get_handle(index), ctypes.addressof(kept), len(data))
            stream.wait()

    def read(self, stream: Stream, index: int = 0) -> bytes:
        """The bytes of the memory."""
        size = self._size(index)
        if size == 0:
            return b""
        kept = ctypes.create_string_buffer(size)
        stream.copy(ctypes.addressof(kept), self.get_handle(index), size)
        stream.wait()
        return kept.raw

    def _release(self, handle: int) -> None:
        """Gives back what was allocated here."""
        native.library().gs_memory_free(handle)


class HostScalar(native.Owner):
    """One value of the host, passed to kernels when a primitive is executed."""

    def __init__(self, descriptor: Descriptor, value: bytes) -> None:
        require(descriptor.kind == FormatKind.host_scalar, "the descriptor is that of a tensor")
        size = SIZES[descriptor.data_type]
        require(len(value) == size, f"a {descriptor.data_type.name} has {size} bytes")
        self.descriptor = descriptor
        self._handle = native.made(native.library().gs_scalar_new(size, value))

    @property
    def value(self) -> bytes:
        """The value as bytes."""
        data = ctypes.create_string_buffer(8)
        size = native.library().gs_scalar_get(self.native, data)
        return data.raw[:size]

    @value.setter
    def value(self, value: bytes) -> None:
        native.library().gs_scalar_set(self.native, value)

    def _release(self, handle: int) -> None:
        """Lets go of the value."""
        native.library().gs_memory_free(handle)


def check_usable(engine: Engine, address: int) -> None:
    """Refuses memory that no driver allocated, if the device cannot use such."""
    if engine.memory_type(address) == _UNKNOWN and not engine.uses_system_memory:
        invalid("the device cannot use memory of the system: allocate it with Level Zero")
