"""The fabric: each device and sub-device is a vertex, and memory that all share needs no edges.

An edge is a physical link with a design bandwidth. No such link lies between parts of one machine,
so there are none, and every question for edges is answered with an empty list.
"""

from __future__ import annotations

from groundstate import ze
from groundstate.driver import platform
from groundstate.driver.api import answer_list, handler, write_bytes, write_pointer, write_u32
from groundstate.driver.platform import Device


def _device(vertex: int) -> Device:
    return platform.current().by_vertex[vertex]


@handler
def zeFabricVertexGetExp(hDriver: int, pCount: int, phVertices: int) -> None:
    vertices = [device.vertex for device in platform.current().devices]
    answer_list(pCount, phVertices, vertices)


@handler
def zeFabricVertexGetSubVerticesExp(hVertex: int, pCount: int, phSubvertices: int) -> None:
    vertices = [device.vertex for device in _device(hVertex).subdevices]
    answer_list(pCount, phSubvertices, vertices)


@handler
def zeFabricVertexGetPropertiesExp(hVertex: int, pVertexProperties: int) -> None:
    device = _device(hVertex)
    properties = ze.ze_fabric_vertex_exp_properties_t.from_address(pVertexProperties)
    write_bytes(properties.uuid.id, device.uuid)
    properties.type = (
        ze.ZE_FABRIC_VERTEX_EXP_TYPE_DEVICE
        if device.parent is None
        else ze.ZE_FABRIC_VERTEX_EXP_TYPE_SUBDEVICE
    )
    properties.remote = False
    address = properties.address
    address.domain, address.bus, address.device, address.function = device.pci_address


@handler
def zeFabricVertexGetDeviceExp(hVertex: int, phDevice: int) -> None:
    write_pointer(phDevice, _device(hVertex).handle)


@handler
def zeDeviceGetFabricVertexExp(hDevice: int, phVertex: int) -> None:
    write_pointer(phVertex, platform.device(hDevice).vertex)


@handler
def zeFabricEdgeGetExp(hVertexA: int, hVertexB: int, pCount: int, phEdges: int) -> None:
    write_u32(pCount, 0)
