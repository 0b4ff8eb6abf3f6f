"""Power supplies: batteries and adapters."""

from __future__ import annotations

from groundstate import zes
from groundstate.driver.api import handler
from groundstate.driver.sysman import kinds
from groundstate.driver.sysman.handles import enumerate_parts, part_of
from groundstate.driver.sysman.parts import PowerSupply
from groundstate.driver.sysman.structs import known_int32, write_place


@handler
def zesDeviceEnumPsus(hDevice: int, pCount: int, phPsu: int) -> None:
    enumerate_parts(pCount, phPsu, kinds.watched(hDevice).supplies(), "zes_psu_handle_t")


@handler
def zesPsuGetProperties(hPsu: int, pProperties: int) -> None:
    supply = part_of(hPsu, PowerSupply)
    properties = zes.zes_psu_properties_t.from_address(pProperties)
    write_place(properties, supply)
    properties.haveFan = supply.has_fan
    properties.ampLimit = known_int32(supply.limit_milliamperes)


@handler
def zesPsuGetState(hPsu: int, pState: int) -> None:
    supply = part_of(hPsu, PowerSupply)
    state = zes.zes_psu_state_t.from_address(pState)
    state.voltStatus = supply.voltage_status()
    state.fanFailed = False
    state.temperature = known_int32(supply.celsius())
    state.current = known_int32(supply.milliamperes())
