"""System management of drivers: initialisation, and which drivers, devices and extensions exist."""

from __future__ import annotations

from groundstate import ze, zes
from groundstate.driver import platform
from groundstate.driver.api import (
    Failure,
    answer_list,
    answer_structs,
    handler,
    read_text,
    write_bool,
    write_pointer,
    write_text,
    write_u32,
)
from groundstate.driver.sysman import kinds
from groundstate.driver.sysman.functions import NOUNS

VERSION = 0x10000
"""ZE_MAKE_VERSION(1, 0): no extension of system management has had another."""

EXTENSIONS = {
    zes.ZES_POWER_LIMITS_EXT_NAME: ("zesPowerGetLimitsExt", "zesPowerSetLimitsExt"),
    zes.ZES_ENGINE_ACTIVITY_EXT_NAME: ("zesEngineGetActivityExt",),
    zes.ZES_RAS_GET_STATE_EXP_NAME: ("zesRasGetStateExp", "zesRasClearStateExp"),
    zes.ZES_POWER_DOMAIN_PROPERTIES_EXP_NAME: ("zesPowerGetProperties",),
    zes.ZES_SYSMAN_DEVICE_MAPPING_EXP_NAME: (
        "zesDeviceGetSubDevicePropertiesExp",
        "zesDriverGetDeviceByUuidExp",
    ),
    zes.ZES_DEVICE_ECC_DEFAULT_PROPERTIES_EXT_NAME: ("zesDeviceGetEccState",),
    zes.ZES_DEVICE_EXT_STATE_NAME: ("zesDeviceGetState",),
    zes.ZES_OEM_SERIAL_ID_EXT_NAME: ("zesDeviceGetProperties",),
}
"""The functions that belong to an extension, or that fill its structs."""


@handler
def zesInit(flags: int) -> None:
    """Everything that there is to do was done when the driver started."""


@handler
def zesDriverGet(pCount: int, phDrivers: int) -> None:
    answer_list(pCount, phDrivers, [platform.current().driver])


@handler
def zesDriverGetExtensionProperties(hDriver: int, pCount: int, pExtensionProperties: int) -> None:
    structure = zes.zes_driver_extension_properties_t
    answer_structs(pCount, pExtensionProperties, structure, advertised(), _write_extension)


def advertised() -> list[str]:
    """The extensions whose functions are all there."""
    return [name for name, functions in EXTENSIONS.items() if NOUNS.keys() >= set(functions)]


def _write_extension(properties: zes.zes_driver_extension_properties_t, name: str) -> None:
    write_text(properties, "name", name)
    properties.version = VERSION


@handler
def zesDriverGetExtensionFunctionAddress(hDriver: int, name: int, ppFunctionAddress: int) -> None:
    wanted = read_text(name)
    address = platform.current().native.function_address(wanted)
    write_pointer(ppFunctionAddress, address)
    if address == 0:
        result = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
        raise Failure(result, f"this driver has no function {wanted!r}")


# --- Devices ------------------------------------------------------------------------------------


@handler
def zesDeviceGet(hDriver: int, pCount: int, phDevices: int) -> None:
    answer_list(pCount, phDevices, list(kinds.devices()))


@handler
def zesDriverGetDeviceByUuidExp(
    hDriver: int, uuid: int, phDevice: int, onSubdevice: int, subdeviceId: int
) -> None:
    wanted = bytes(zes.zes_uuid_t.from_address(uuid).id)
    for handle, device in kinds.devices().items():
        own, parts = kinds.uuid_of(handle), list(device.subdevices())
        if wanted != own and wanted not in parts:
            continue
        write_pointer(phDevice, handle)
        write_bool(onSubdevice, wanted != own)
        write_u32(subdeviceId, 0 if wanted == own else parts.index(wanted))
        return
    raise Failure(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"no device has the UUID {wanted.hex()}")
