"""The fabric: each device and sub-device is a vertex, and the memory they share links all of them.

Two vertices have one edge, unless one is a part of the other. An edge gets its handle when somebody
first asks for it.
"""

from __future__ import annotations

from groundstate import ze
from groundstate.driver import platform, speed
from groundstate.driver.api import answer_list, handler, write_bytes, write_pointer, write_text
from groundstate.driver.platform import Device, identity

EDGE_MODEL = "system memory"


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


# --- Edges --------------------------------------------------------------------------------------


class Edge:
    """What links two devices that are not parts of each other, in the order of their places."""

    def __init__(self, handle: int, first: Device, second: Device) -> None:
        self.handle = handle
        self.first = first
        self.second = second

    @property
    def uuid(self) -> bytes:
        """16 bytes that stay the same for these two places of this machine."""
        return identity("edge", self.first.uuid.hex(), self.second.uuid.hex())


def _edge(one: Device, other: Device) -> Edge:
    """The edge between two devices, made once, whoever asks at the same time."""
    here = platform.current()
    first, second = sorted((one, other), key=lambda device: device.part.path)
    key = (first.vertex, second.vertex)
    if key not in here.edges:
        made = Edge(here.native.fabric_edge_new(), first, second)
        here.by_edge[made.handle] = made
        here.edges.setdefault(key, made)
    return here.edges[key]


def _is_part(device: Device, whole: Device) -> bool:
    return device is whole or device.parent is whole


@handler
def zeFabricEdgeGetExp(hVertexA: int, hVertexB: int, pCount: int, phEdges: int) -> None:
    one, other = _device(hVertexA), _device(hVertexB)
    linked = not _is_part(one, other) and not _is_part(other, one)
    linked = linked and one.gpu is None and other.gpu is None
    answer_list(pCount, phEdges, [_edge(one, other).handle] if linked else [])


@handler
def zeFabricEdgeGetVerticesExp(hEdge: int, phVertexA: int, phVertexB: int) -> None:
    edge = platform.current().by_edge[hEdge]
    write_pointer(phVertexA, edge.first.vertex)
    write_pointer(phVertexB, edge.second.vertex)


@handler
def zeFabricEdgeGetPropertiesExp(hEdge: int, pEdgeProperties: int) -> None:
    """Both directions go through the same memory, so they share its bandwidth."""
    edge = platform.current().by_edge[hEdge]
    measured = speed.between(edge.first, edge.second)
    properties = ze.ze_fabric_edge_exp_properties_t.from_address(pEdgeProperties)
    write_bytes(properties.uuid.id, edge.uuid)
    write_text(properties, "model", EDGE_MODEL)
    properties.bandwidth, properties.bandwidthUnit = speed.bandwidth(measured.copy)
    properties.latency, properties.latencyUnit = speed.latency(measured.latency)
    properties.duplexity = ze.ZE_FABRIC_EDGE_EXP_DUPLEXITY_HALF_DUPLEX
