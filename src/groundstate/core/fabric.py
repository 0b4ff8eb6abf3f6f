"""The fabric: how devices are linked, as a graph of vertices and edges."""

from __future__ import annotations

import ctypes
from functools import cached_property
from typing import TYPE_CHECKING

from groundstate.core.errors import RemoteDevice, VertexIsNotDevice
from groundstate.core.handle import Handle, Resource
from groundstate.core.properties import FabricEdgeProperties, FabricVertexProperties

if TYPE_CHECKING:
    from groundstate.core.device import Device
    from groundstate.core.driver import Driver


class FabricVertex(Handle):
    """A place in the fabric: a device, a sub-device, or a switch.

    >>> import groundstate as gs
    >>> device = gs.devices()[0]
    >>> device.fabric_vertex.device is device
    True
    >>> device.fabric_vertex.properties.type.name
    'DEVICE'
    """

    def __init__(self, driver: Driver, handle: int) -> None:
        self.driver = driver
        self._resource = Resource(driver.api, handle, None, driver.resource)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FabricVertex) and self.handle == other.handle

    def __hash__(self) -> int:
        return hash(self.handle)

    def _describe(self) -> str:
        return f"of {self.device.name!r}" if self.device is not None else ""

    @cached_property
    def properties(self) -> FabricVertexProperties:
        """What the vertex is, and where."""
        kind = FabricVertexProperties
        name = "zeFabricVertexGetPropertiesExp"
        return kind.read(self.api.struct(kind.struct(), name, self.handle))

    @cached_property
    def device(self) -> Device | None:
        """The device or sub-device at this place; None for a switch, or on another machine."""
        try:
            handle = self.api.create("zeFabricVertexGetDeviceExp", self.handle)
        except (RemoteDevice, VertexIsNotDevice):
            return None
        return self.driver._known([handle])[0]

    @cached_property
    def sub_vertices(self) -> tuple[FabricVertex, ...]:
        """The places of the sub-devices."""
        found = self.api.handles("zeFabricVertexGetSubVerticesExp", self.handle)
        return tuple(FabricVertex(self.driver, handle) for handle in found)

    def edges_to(self, other: FabricVertex) -> tuple[FabricEdge, ...]:
        """The links between this place and another one."""
        found = self.api.handles("zeFabricEdgeGetExp", self.handle, other.handle)
        return tuple(FabricEdge(self.driver, handle) for handle in found)


class FabricEdge(Handle):
    """One link, or several that work as one, between two places in the fabric."""

    def __init__(self, driver: Driver, handle: int) -> None:
        self.driver = driver
        self._resource = Resource(driver.api, handle, None, driver.resource)

    def _describe(self) -> str:
        return self.properties.model

    @cached_property
    def vertices(self) -> tuple[FabricVertex, FabricVertex]:
        """The two places."""
        ends = ctypes.c_void_p(), ctypes.c_void_p()
        self.api.call("zeFabricEdgeGetVerticesExp", self.handle, *map(ctypes.byref, ends))
        first, second = (FabricVertex(self.driver, end.value or 0) for end in ends)
        return first, second

    @cached_property
    def properties(self) -> FabricEdgeProperties:
        """What the link is made of, and how fast it is."""
        kind = FabricEdgeProperties
        name = "zeFabricEdgeGetPropertiesExp"
        return kind.read(self.api.struct(kind.struct(), name, self.handle))
