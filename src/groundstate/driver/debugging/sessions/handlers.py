"""The functions `zetDebug…`, as a debugger calls them."""

from __future__ import annotations

import ctypes
import os
from typing import Any

from groundstate import ze, zet
from groundstate.driver import native, platform
from groundstate.driver.api import (
    Failure,
    Handles,
    Unsupported,
    answer_structs,
    handler,
    write_pointer,
)
from groundstate.driver.debugging.connection import Message
from groundstate.driver.debugging.sessions.client import RemoteSession
from groundstate.driver.debugging.sessions.places import place_at
from groundstate.driver.debugging.sessions.registers import OF_DEVICE, VERSION, RegisterSet
from groundstate.driver.debugging.sessions.requests import PIECE
from groundstate.driver.platform import Device

KIND = "zet_debug_session_handle_t"
FOREVER = (1 << 64) - 1
LONGEST = 1 << 20
"""Seconds."""

_sessions: Handles[RemoteSession] = Handles(KIND)


def _debuggable(handle: int) -> Device:
    device = platform.device(handle)
    if device.gpu is not None:
        raise Unsupported("kernels of NVIDIA's GPUs cannot be debugged")
    return device


# --- Sessions -------------------------------------------------------------------------------------


@handler
def zetDeviceGetDebugProperties(hDevice: int, pDebugProperties: int) -> None:
    properties = zet.zet_device_debug_properties_t.from_address(pDebugProperties)
    is_gpu = platform.device(hDevice).gpu is not None
    properties.flags = 0 if is_gpu else zet.ZET_DEVICE_DEBUG_PROPERTY_FLAG_ATTACH


@handler
def zetDebugAttach(hDevice: int, config: int, phDebug: int) -> None:
    device = _debuggable(hDevice)
    pid = zet.zet_debug_config_t.from_address(config).pid
    if pid == os.getpid():
        raise Failure(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "a process cannot debug itself")
    session = RemoteSession(device, pid)
    try:
        handle = native.object_new(KIND)
    except MemoryError:
        session.close()
        raise
    _sessions[handle] = session
    write_pointer(phDebug, handle)


@handler
def zetDebugDetach(hDebug: int) -> None:
    session = _sessions.take(hDebug)
    native.object_end(hDebug)
    session.detach()


# --- Events ---------------------------------------------------------------------------------------


@handler
def zetDebugReadEvent(hDebug: int, timeout: int, event: int) -> int | None:
    seconds = None if timeout == FOREVER else min(timeout / 1000, LONGEST)
    found = _sessions[hDebug].next_event(seconds)
    if found is None:
        return int(ze.ZE_RESULT_NOT_READY)
    _write_event(zet.zet_debug_event_t.from_address(event), found)
    return None


def _write_event(event: zet.zet_debug_event_t, told: Message) -> None:
    ctypes.memset(ctypes.addressof(event), 0, ctypes.sizeof(event))
    event.type = told["type"]
    event.flags = told.get("flags", 0)
    info = event.info
    if "load" in told:
        info.module.format = zet.ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF
        info.module.moduleBegin, info.module.moduleEnd = told["begin"], told["end"]
        info.module.load = told["load"]
    elif "thread" in told:
        thread = info.thread.thread
        thread.slice, thread.subslice, thread.eu, thread.thread = told["thread"]
    elif "address" in told:
        info.page_fault.address, info.page_fault.mask = told["address"], told["mask"]
        info.page_fault.reason = told["reason"]
    elif "reason" in told:
        info.detached.reason = told["reason"]


@handler
def zetDebugAcknowledgeEvent(hDebug: int, event: int) -> None:
    told = zet.zet_debug_event_t.from_address(event)
    session = _sessions[hDebug]
    if told.type != zet.ZET_DEBUG_EVENT_TYPE_MODULE_LOAD:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "an event of this type needs no acknowledgement"
        )
    session.ask({"command": "acknowledge", "load": told.info.module.load})


# --- Threads --------------------------------------------------------------------------------------


@handler
def zetDebugInterrupt(hDebug: int, thread: int) -> None:
    _sessions[hDebug].interrupt(place_at(thread))


@handler
def zetDebugResume(hDebug: int, thread: int) -> None:
    _sessions[hDebug].ask({"command": "resume", "thread": place_at(thread)})


# --- Memory ---------------------------------------------------------------------------------------


@handler
def zetDebugReadMemory(hDebug: int, thread: int, desc: int, size: int, buffer: int) -> None:
    session, about = _sessions[hDebug], _range(thread, desc)
    for at in range(0, max(size, 1), PIECE):
        length = min(PIECE, size - at)
        piece = {"address": about["address"] + at, "size": length}
        answer = session.ask({"command": "read_memory", **about, **piece})
        _put(buffer + at, bytes.fromhex(answer["data"]), length)


@handler
def zetDebugWriteMemory(hDebug: int, thread: int, desc: int, size: int, buffer: int) -> None:
    session, about = _sessions[hDebug], _range(thread, desc)
    for at in range(0, max(size, 1), PIECE):
        data = ctypes.string_at(buffer + at, min(PIECE, size - at)).hex()
        piece = {"address": about["address"] + at, "data": data}
        session.ask({"command": "write_memory", **about, **piece})


def _range(thread: int, desc: int) -> dict[str, Any]:
    space = zet.zet_debug_memory_space_desc_t.from_address(desc)
    return {"thread": place_at(thread), "space": space.type, "address": space.address}


def _put(address: int, data: bytes, size: int) -> None:
    """Gives the caller what it has room for, whatever the other process says."""
    ctypes.memmove(address, data, min(len(data), size))


# --- Registers ------------------------------------------------------------------------------------


@handler
def zetDebugGetRegisterSetProperties(
    hDevice: int, pCount: int, pRegisterSetProperties: int
) -> None:
    _debuggable(hDevice)
    _answer_sets(pCount, pRegisterSetProperties, list(OF_DEVICE))


@handler
def zetDebugGetThreadRegisterSetProperties(
    hDebug: int, thread: int, pCount: int, pRegisterSetProperties: int
) -> None:
    sets = _sets_of(_sessions[hDebug], thread)
    _answer_sets(pCount, pRegisterSetProperties, sets)


def _sets_of(session: RemoteSession, thread: int) -> list[RegisterSet]:
    answer = session.ask({"command": "register_sets", "thread": place_at(thread)})
    return [RegisterSet(*each) for each in answer["sets"]]


def _answer_sets(count: int, array: int, sets: list[RegisterSet]) -> None:
    answer_structs(count, array, zet.zet_debug_regset_properties_t, sets, _write_set)


def _write_set(properties: zet.zet_debug_regset_properties_t, told: RegisterSet) -> None:
    properties.type, properties.version = told.type, VERSION
    properties.generalFlags, properties.deviceFlags = told.flags, 0
    properties.count = told.length
    properties.bitSize, properties.byteSize = 8 * told.size, told.size


def _set_of(session: RemoteSession, thread: int, kind: int, start: int, count: int) -> RegisterSet:
    """A register set that has registers of these numbers."""
    own = [each for each in OF_DEVICE if each.type == kind] or _sets_of(session, thread)
    found = next((each for each in own if each.type == kind), None)
    if found is None or start + count > found.length:
        raise Failure(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "there are no such registers")
    return found


def _registers(thread: int, kind: int, start: int) -> dict[str, Any]:
    return {"thread": place_at(thread), "type": kind, "start": start}


@handler
def zetDebugReadRegisters(
    hDebug: int, thread: int, type: int, start: int, count: int, pRegisterValues: int
) -> None:
    session = _sessions[hDebug]
    wanted = _registers(thread, type, start)
    answer = session.ask({"command": "read_registers", **wanted, "count": count})
    if pRegisterValues:
        size = _set_of(session, thread, type, start, count).size * count
        _put(pRegisterValues, bytes.fromhex(answer["data"]), size)


@handler
def zetDebugWriteRegisters(
    hDebug: int, thread: int, type: int, start: int, count: int, pRegisterValues: int
) -> None:
    session = _sessions[hDebug]
    size = _set_of(session, thread, type, start, count).size * count
    data = ctypes.string_at(pRegisterValues, size).hex() if pRegisterValues else ""
    session.ask({"command": "write_registers", **_registers(thread, type, start), "data": data})
