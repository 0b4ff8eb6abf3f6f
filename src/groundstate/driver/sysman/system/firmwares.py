"""The firmware that the CPUs run: their microcode, and the machine's BIOS."""

from __future__ import annotations

import re

from groundstate.driver.sysman.parts import Description, Firmware
from groundstate.driver.sysman.system.files import Files
from groundstate.driver.sysman.system.places import Place, Places

_DMI = "sys/class/dmi/id"
_HIDDEN = "0xffffffff"
"""The microcode of virtual machines whose host does not tell."""


def firmwares(files: Files, places: Places) -> list[Firmware]:
    """The microcode of each package, then the BIOS, as far as they are known."""
    found = [
        Firmware(name="microcode", version=version, subdevice=place.subdevice)
        for place in places.packages
        if (version := _microcode(files, place))
    ]
    if version := files.text(f"{_DMI}/bios_version"):
        found.append(Firmware(name="BIOS", version=version))
    return found


def _microcode(files: Files, place: Place) -> str | None:
    """All CPUs of a package run the same."""
    version = files.text(f"sys/devices/system/cpu/cpu{place.cpus[0]}/microcode/version")
    if not version:
        text = files.text("proc/cpuinfo") or ""
        match = re.search(r"^microcode\s*: (\S+)$", text, re.MULTILINE)
        version = match[1] if match else None
    return None if version == _HIDDEN else version


def description(files: Files, model: str, vendor: str) -> Description:
    """The names of the machine, as far as this user may read them."""
    return Description(
        serial_number=files.text(f"{_DMI}/product_serial") or "",
        board_number=files.text(f"{_DMI}/board_serial") or "",
        brand=files.text(f"{_DMI}/sys_vendor") or "",
        model=model,
        vendor=vendor,
    )
