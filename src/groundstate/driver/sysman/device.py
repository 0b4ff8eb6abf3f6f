"""Devices as a whole: what they are, how they are, who uses them."""

from __future__ import annotations

import ctypes
import os
import time

from groundstate import ze, zes
from groundstate.driver import platform
from groundstate.driver.api import (
    Failure,
    answer_structs,
    chained,
    handler,
    read_u32,
    write_bytes,
    write_text,
)
from groundstate.driver.device import write_core
from groundstate.driver.sysman import kinds
from groundstate.driver.sysman.parts import Description, Process, Watched
from groundstate.extras import ProcessActivity
from groundstate.version import __version__

_HEADER = 16
"""The bytes of a struct's stype and pNext, which are the caller's."""

UNKNOWN = "unknown"
"""What the specification has in the place of a name that cannot be found out."""


@handler
def zesDeviceGetProperties(hDevice: int, pProperties: int) -> None:
    watched = kinds.watched(hDevice)
    properties = zes.zes_device_properties_t.from_address(pProperties)
    _write_core(properties.core, watched)
    _write_names(properties, watched.description)
    properties.numSubdevices = len(watched.subdevices())
    extended = chained(properties, zes.zes_device_ext_properties_t)
    if extended is not None:
        write_bytes(extended.uuid.id, bytes(properties.core.uuid.id))
        extended.type = properties.core.type
        extended.flags = properties.core.flags
    serial = chained(properties, zes.zes_oem_serial_id_ext_properties_t)
    if serial is not None:
        write_text(serial, "oemSerialId", watched.description.serial_number)
        serial.length = len(serial.oemSerialId)


def _write_core(core: ze.ze_device_properties_t, watched: Watched) -> None:
    """The core's own properties; of a device that the core has not got, what there is."""
    device = platform.current().by_handle.get(kinds.handle_of(watched))
    if device is not None:
        write_core(core, device)
        return
    description = watched.description
    ctypes.memset(ctypes.addressof(core) + _HEADER, 0, ctypes.sizeof(core) - _HEADER)
    core.type = description.type
    core.vendorId = description.vendor_id
    core.deviceId = description.device_id
    core.flags = description.flags
    core.coreClockRate = description.core_clock_mhz
    write_bytes(core.uuid.id, description.uuid)
    write_text(core, "name", description.name)


def _write_names(properties: zes.zes_device_properties_t, description: Description) -> None:
    for field, text in (
        ("serialNumber", description.serial_number),
        ("boardNumber", description.board_number),
        ("brandName", description.brand),
        ("modelName", description.model),
        ("vendorName", description.vendor),
        ("driverVersion", description.driver_version or __version__),
    ):
        write_text(properties, field, text or UNKNOWN)


@handler
def zesDeviceGetSubDevicePropertiesExp(hDevice: int, pCount: int, pSubdeviceProps: int) -> None:
    uuids = list(enumerate(kinds.watched(hDevice).subdevices()))
    structure = zes.zes_subdevice_exp_properties_t
    answer_structs(pCount, pSubdeviceProps, structure, uuids, _write_subdevice)


def _write_subdevice(
    properties: zes.zes_subdevice_exp_properties_t, subdevice: tuple[int, bytes]
) -> None:
    properties.subdeviceId = subdevice[0]
    write_bytes(properties.uuid.id, subdevice[1])


# --- State ------------------------------------------------------------------------------------


@handler
def zesDeviceGetState(hDevice: int, pState: int) -> None:
    reasons = kinds.watched(hDevice).reset_reasons()
    state = zes.zes_device_state_t.from_address(pState)
    state.reset = reasons
    state.repaired = zes.ZES_REPAIR_STATUS_UNSUPPORTED
    extended = chained(state, zes.zes_device_ext_state_t)
    if extended is not None:
        extended.flags = (
            zes.ZES_DEVICE_STATE_EXT_FLAG_WEDGED
            if reasons & zes.ZES_RESET_REASON_FLAG_WEDGED
            else zes.ZES_DEVICE_STATE_EXT_FLAG_NORMAL
        )


@handler
def zesDeviceReset(hDevice: int, force: int) -> None:
    _reset(hDevice, bool(force))


@handler
def zesDeviceResetExt(hDevice: int, pProperties: int) -> None:
    properties = zes.zes_reset_properties_t.from_address(pProperties)
    if not zes.ZES_RESET_TYPE_WARM <= properties.resetType <= zes.ZES_RESET_TYPE_FLR:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ENUMERATION,
            f"resetType {properties.resetType:#x} is no kind of reset: WARM, COLD or FLR",
        )
    _reset(hDevice, bool(properties.force))


def _reset(hDevice: int, force: bool) -> None:
    device = kinds.watched(hDevice)
    own = os.getpid()
    users = [] if force else device.processes()
    users = [each for each in users if each.pid != own or device.is_used_here()]
    if users:
        raise Failure(
            ze.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
            f"{len(users)} processes use the device, among them {users[0].pid}: end them first",
        )
    device.reset()


# --- Processes --------------------------------------------------------------------------------


@handler
def zesDeviceProcessesGetState(hDevice: int, pCount: int, pProcesses: int) -> None:
    processes = kinds.watched(hDevice).processes()
    room = read_u32(pCount)
    answer_structs(pCount, pProcesses, zes.zes_process_state_t, processes, _write_process)
    if pProcesses and 0 < room < len(processes):
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_SIZE,
            f"there are {len(processes)} processes, and room for {room}; ask for the count again",
        )


def _write_process(state: zes.zes_process_state_t, process: Process) -> None:
    state.processId = process.pid
    state.memSize = process.memory_bytes
    state.sharedSize = process.shared_bytes
    state.engines = process.engines
    activity = chained(state, ProcessActivity)
    if activity is not None and process.busy_us is not None:
        activity.activeTime = process.busy_us
        activity.timestamp = time.monotonic_ns() // 1000
