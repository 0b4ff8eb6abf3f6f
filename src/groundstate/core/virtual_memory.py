"""Virtual memory: addresses that are reserved first and given pages later."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from groundstate import ze
from groundstate.core.dtype import dtype
from groundstate.core.enums import Access, MemoryType
from groundstate.core.handle import OwnedHandle, Resource
from groundstate.core.memory import Memory, Shape, shape_of

if TYPE_CHECKING:
    from groundstate.core.context import Context
    from groundstate.core.device import Device


def page_bytes(context: Context, size_bytes: int, device: Device | None = None) -> int:
    """The page size to which addresses and sizes of so large a range have to be aligned."""
    answer = ctypes.c_size_t()
    chosen = context.choose_device(device)
    context.api.call(
        "zeVirtualMemQueryPageSize",
        context.handle,
        chosen.handle,
        size_bytes,
        ctypes.byref(answer),
    )
    return answer.value


def round_up(size_bytes: int, to: int) -> int:
    """The next multiple."""
    return -(-size_bytes // to) * to


class PhysicalMemory(OwnedHandle):
    """Pages without an address; `VirtualMemory.map` gives them one.

    The size is rounded up to whole pages. With `on_host` they are pages of the host.
    """

    def __init__(
        self,
        context: Context,
        size_bytes: int,
        device: Device | None = None,
        *,
        on_host: bool = False,
    ) -> None:
        self.context = context
        self.device = context.choose_device(device)
        self.on_host = on_host
        self.size_bytes = round_up(size_bytes, page_bytes(context, size_bytes, self.device))
        place = (
            ze.ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST
            if on_host
            else ze.ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE
        )
        description = ze.ze_physical_mem_desc_t(flags=place, size=self.size_bytes)
        api = context.api
        handle = api.create(
            "zePhysicalMemCreate", context.handle, self.device.handle, ctypes.byref(description)
        )
        destroy = ("zePhysicalMemDestroy", (context.handle, handle))
        self._resource = Resource(api, handle, destroy, context.resource)

    def _describe(self) -> str:
        return f"{self.size_bytes} bytes on the {'host' if self.on_host else 'device'}"


@dataclass(frozen=True)
class _Mapping:
    """Pages at their place in a range, taken out when this is gone."""

    resource: Resource
    physical: PhysicalMemory


class VirtualMemory(OwnedHandle):
    """A range of addresses that has pages only where some were mapped.

    Commands work on ranges of it, which `part` returns.

    >>> import groundstate as gs
    >>> with gs.Context(gs.devices()[0]) as context:
    ...     with gs.VirtualMemory(context, 1 << 20) as space:
    ...         pages = gs.PhysicalMemory(context, space.page_bytes)
    ...         space.map(pages)
    ...         with gs.CommandList.immediate(context) as commands:
    ...             commands.fill(space.part(0, 16), 5)
    ...         space.access(0)[0].name
    'READWRITE'
    """

    def __init__(
        self,
        context: Context,
        size_bytes: int,
        device: Device | None = None,
        *,
        start: int | None = None,
    ) -> None:
        """Reserves a range, at `start` if that is possible. The size is rounded up to pages."""
        self.context = context
        self.device = context.choose_device(device)
        self.page_bytes = page_bytes(context, size_bytes, self.device)
        self.size_bytes = round_up(size_bytes, self.page_bytes)
        self._mapped: dict[int, _Mapping] = {}
        api = context.api
        address = api.create("zeVirtualMemReserve", context.handle, start, self.size_bytes)
        destroy = ("zeVirtualMemFree", (context.handle, address, self.size_bytes))
        self._resource = Resource(api, address, destroy, context.resource)

    @property
    def address(self) -> int:
        """The first address of the range."""
        return self.handle

    def _describe(self) -> str:
        return f"{self.size_bytes} bytes, {len(self._mapped)} mapped pieces"

    def map(
        self,
        physical: PhysicalMemory,
        offset_bytes: int = 0,
        *,
        size_bytes: int | None = None,
        physical_offset_bytes: int = 0,
        access: Access = Access.READWRITE,
    ) -> None:
        """Puts pages at a place of the range: all of them, or as many as are asked for."""
        size = physical.size_bytes - physical_offset_bytes if size_bytes is None else size_bytes
        address = self._place(offset_bytes, size)
        self.api.call(
            "zeVirtualMemMap",
            self.context.handle,
            address,
            size,
            physical.handle,
            physical_offset_bytes,
            access,
        )
        destroy = ("zeVirtualMemUnmap", (self.context.handle, address, size))
        keeps = (self.resource, physical.resource)
        resource = Resource(self.api, address, destroy, keeps)
        self._mapped[offset_bytes] = _Mapping(resource, physical)

    def unmap(self, offset_bytes: int = 0) -> None:
        """Takes out what was mapped at a place, once nothing uses it any more."""
        self.resource  # noqa: B018  a closed range has nothing mapped
        try:
            del self._mapped[offset_bytes]
        except KeyError:
            raise ValueError(f"nothing was mapped at offset {offset_bytes}") from None

    def set_access(self, access: Access, offset_bytes: int, size_bytes: int) -> None:
        """Says what may be done with a part of the range."""
        address = self._place(offset_bytes, size_bytes)
        self.api.call(
            "zeVirtualMemSetAccessAttribute", self.context.handle, address, size_bytes, access
        )

    def access(self, offset_bytes: int, size_bytes: int | None = None) -> tuple[Access, int]:
        """What may be done at a place, and for how many bytes from there the answer is the same."""
        size = self.size_bytes - offset_bytes if size_bytes is None else size_bytes
        answer, reach = ctypes.c_uint32(), ctypes.c_size_t()
        self.api.call(
            "zeVirtualMemGetAccessAttribute",
            self.context.handle,
            self._place(offset_bytes, size),
            size,
            ctypes.byref(answer),
            ctypes.byref(reach),
        )
        return Access(answer.value), reach.value

    def part(self, offset_bytes: int, shape: Shape, kind: Any = "uint8") -> Memory:
        """A mapped piece as memory for commands, with a shape and a type of elements."""
        element, wanted = dtype(kind), shape_of(shape)
        mapping = self._mapping_at(offset_bytes)
        where = MemoryType.HOST if mapping.physical.on_host else MemoryType.DEVICE
        piece = Memory(
            self.context,
            mapping.resource,
            where,
            wanted,
            element,
            self.device,
            self.address + offset_bytes - mapping.resource.value,
        )
        self._place(offset_bytes, piece.size_bytes)
        return piece

    def _mapping_at(self, offset_bytes: int) -> _Mapping:
        starts = [start for start in self._mapped if start <= offset_bytes]
        if not starts:
            raise ValueError(f"nothing is mapped at offset {offset_bytes}: call map first")
        return self._mapped[max(starts)]

    def _place(self, offset_bytes: int, size_bytes: int) -> int:
        """The address of a part of the range."""
        if offset_bytes < 0 or size_bytes < 0 or offset_bytes + size_bytes > self.size_bytes:
            raise ValueError(
                f"{size_bytes} bytes at offset {offset_bytes} reach beyond the range of "
                f"{self.size_bytes} bytes"
            )
        return self.address + offset_bytes

    def close(self) -> None:
        """Takes out all pages and gives the addresses back, once nothing uses them any more."""
        self._mapped = {}
        super().close()
