"""Memory modules: how large, how full, how healthy."""

from __future__ import annotations

from groundstate import zes
from groundstate.driver.api import handler
from groundstate.driver.sysman import kinds
from groundstate.driver.sysman.handles import enumerate_parts, part_of
from groundstate.driver.sysman.parts import MemoryModule
from groundstate.driver.sysman.structs import known, write_place


@handler
def zesDeviceEnumMemoryModules(hDevice: int, pCount: int, phMemory: int) -> None:
    memories = kinds.watched(hDevice).memories()
    enumerate_parts(pCount, phMemory, memories, "zes_mem_handle_t")


@handler
def zesMemoryGetProperties(hMemory: int, pProperties: int) -> None:
    memory = part_of(hMemory, MemoryModule)
    properties = zes.zes_mem_properties_t.from_address(pProperties)
    properties.type = memory.type
    write_place(properties, memory)
    properties.location = memory.location
    properties.physicalSize = memory.physical_bytes or 0
    properties.busWidth = known(memory.bus_width_bits)
    properties.numChannels = known(memory.channels)


@handler
def zesMemoryGetState(hMemory: int, pState: int) -> None:
    now = part_of(hMemory, MemoryModule).state()
    state = zes.zes_mem_state_t.from_address(pState)
    state.health = now.health
    state.free = now.free_bytes
    state.size = now.size_bytes


@handler
def zesMemoryGetBandwidth(hMemory: int, pBandwidth: int) -> None:
    now = part_of(hMemory, MemoryModule).bandwidth()
    bandwidth = zes.zes_mem_bandwidth_t.from_address(pBandwidth)
    bandwidth.readCounter = now.read_bytes
    bandwidth.writeCounter = now.written_bytes
    bandwidth.maxBandwidth = now.limit_bytes_per_second
    bandwidth.timestamp = now.timestamp_us
