"""Firmware: what a device runs by itself, such as the microcode of a CPU."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property

from groundstate.core.sysman.part import Part, PartProperties


@dataclass(frozen=True, slots=True)
class FirmwareProperties(PartProperties):
    """What a firmware is; what nobody knows is None."""

    STRUCT = "zes_firmware_properties_t"

    can_control: bool
    name: str | None
    version: str | None


class Firmware(Part[FirmwareProperties]):
    """A firmware of a device."""

    ENUMERATE = "zesDeviceEnumFirmwares"
    DESCRIBE = "zesFirmwareGetProperties"
    FACTS = FirmwareProperties

    def _describe(self) -> str:
        return f"{self.name} {self.version}"

    @cached_property
    def name(self) -> str | None:
        """What it is called."""
        return self.properties.name

    @cached_property
    def version(self) -> str | None:
        """Its version."""
        return self.properties.version

    def flash(self, image: bytes) -> None:
        """Replaces it."""
        self.api.call("zesFirmwareFlash", self.handle, image, len(image))

    @property
    def flash_percent(self) -> int | None:
        """How much of it was replaced so far."""
        percent: int | None = self._number(ctypes.c_uint32, "zesFirmwareGetFlashProgress")
        return percent
