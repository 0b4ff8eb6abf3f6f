"""Firmware: its names and versions. None of it is flashed through this driver."""

from __future__ import annotations

from groundstate import zes
from groundstate.driver.api import handler, write_text
from groundstate.driver.sysman import kinds
from groundstate.driver.sysman.handles import enumerate_parts, part_of
from groundstate.driver.sysman.parts import Firmware
from groundstate.driver.sysman.structs import write_place


@handler
def zesDeviceEnumFirmwares(hDevice: int, pCount: int, phFirmware: int) -> None:
    firmwares = kinds.watched(hDevice).firmwares()
    enumerate_parts(pCount, phFirmware, firmwares, "zes_firmware_handle_t")


@handler
def zesFirmwareGetProperties(hFirmware: int, pProperties: int) -> None:
    firmware = part_of(hFirmware, Firmware)
    properties = zes.zes_firmware_properties_t.from_address(pProperties)
    write_place(properties, firmware)
    properties.canControl = False
    write_text(properties, "name", firmware.name)
    write_text(properties, "version", firmware.version)
