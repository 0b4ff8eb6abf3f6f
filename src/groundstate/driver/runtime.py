"""The runtime interface (zer): devices by number; and runtime requirements of compiled objects.

The number of a device is its place in the list of zeDeviceGet. Sub-devices and, in the combined
hierarchy, root devices come after those.
"""

from __future__ import annotations

import ctypes

from groundstate import ze
from groundstate.driver import platform
from groundstate.driver.api import Failure, handler, read_u32, write_pointer


def _numbered() -> list[int]:
    here = platform.current()
    reported = [device.handle for device in here.devices]
    return reported + [handle for handle in here.by_handle if handle not in reported]


@handler
def zerTranslateDeviceHandleToIdentifier(hDevice: int) -> int:
    return _numbered().index(hDevice)


@handler
def zerTranslateIdentifierToDeviceHandle(identifier: int) -> int:
    handles = _numbered()
    if identifier >= len(handles):
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            f"there is no device {identifier}; devices are numbered from 0 to {len(handles) - 1}",
        )
    return handles[identifier]


REQUIREMENTS_KEY = ctypes.create_string_buffer(b"GROUNDSTATE.L0.CPU")
"""Handed out as a pointer, so it lives as long as the driver."""


@handler
def zeDeviceGetRuntimeRequirementsKey(hDevice: int, pKey: int) -> None:
    write_pointer(pKey, ctypes.addressof(REQUIREMENTS_KEY))


@handler
def zeDeviceGetRuntimeRequirements(
    hDevice: int, pObjDesc: int, pSize: int, pRequirements: int
) -> None:
    raise Failure(
        ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
        f"pObjDesc (stype {read_u32(pObjDesc):#x}) describes no object that has runtime "
        "requirements",
    )


@handler
def zeDeviceValidateRuntimeRequirements(hDevice: int, pRequirements: int, pOut: int) -> None:
    """This driver has given out no requirements, so any that it is shown are another driver's."""
    output = ze.ze_validate_runtime_requirements_output_t.from_address(pOut)
    output.result = ze.ZE_VALIDATE_RUNTIME_REQUIREMENTS_RESULT_NOT_APPLICABLE
