"""IPC handles that somebody has changed on their way."""

from __future__ import annotations

import ctypes
import json
import os
import random
from collections.abc import Iterator
from typing import Any

from groundstate import ze
from tests.fuzz import edits
from tests.fuzz.targets.target import Generator, Verdict

SIZE = 10_000
KINDS = ("memory", "pool", "event")
SPEAKING = frozenset(
    (
        ze.ZE_RESULT_SUCCESS,
        ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
        ze.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS,
        ze.ZE_RESULT_ERROR_INVALID_SIZE,
        ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
        ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
    )
)


class Ipc(Generator):
    """Handles of memory, event pools and events; another one is opened than was written."""

    name = "ipc"
    summary = "changed IPC handles"
    suffix = ".json"

    def generate(self, chance: random.Random) -> bytes:
        case = {"kind": chance.choice(KINDS), "edits": edits.some(chance)}
        if chance.random() < 0.3:
            case["opened_as"] = chance.choice(KINDS)
        return json.dumps(case).encode()

    def reductions(self, case: bytes) -> Iterator[bytes]:
        given = json.loads(case)
        for number in range(len(given["edits"])):
            fewer = given["edits"][:number] + given["edits"][number + 1 :]
            yield json.dumps(given | {"edits": fewer}).encode()

    def prepare(self) -> None:
        from tests.conftest import first_driver
        from tests.driver.support import Bench

        assert not ze.zeInit(0)
        device, driver = ctypes.c_void_p(), first_driver()
        assert driver is not None
        assert not ze.zeDeviceGet(driver, ctypes.byref(ctypes.c_uint32(1)), ctypes.byref(device))
        assert device.value is not None
        bench = self._bench = Bench(driver, device.value)
        memory = bench.local(SIZE)
        pool = bench.pool(4, ze.ZE_EVENT_POOL_FLAG_IPC)
        ipc = ze.ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ze.ZE_EVENT_COUNTER_BASED_FLAG_IPC
        event = bench.counter_event(ipc)
        commands = bench.immediate(in_order=True)
        assert not ze.zeCommandListAppendSignalEvent(commands, event)
        handles: dict[str, Any] = {
            "memory": ze.ze_ipc_mem_handle_t(),
            "pool": ze.ze_ipc_event_pool_handle_t(),
            "event": ze.ze_ipc_event_counter_based_handle_t(),
        }
        place = [ctypes.byref(handles[kind]) for kind in KINDS]
        assert not ze.zeMemGetIpcHandle(bench.context, memory, place[0])
        assert not ze.zeEventPoolGetIpcHandle(pool, place[1])
        assert not ze.zeEventCounterBasedGetIpcHandle(event, place[2])
        self._handles = handles
        self._open_and_close("memory", handles["memory"])
        self._files = len(os.listdir("/proc/self/fd"))

    def run(self, case: bytes) -> Verdict:
        given = json.loads(case)
        original = bytes(self._handles[given["kind"]])
        changed = edits.apply(given["edits"], original).ljust(len(original), b"\0")
        kind = given.get("opened_as", given["kind"])
        handle = type(self._handles[kind]).from_buffer_copy(changed[: len(original)])
        result = self._open_and_close(kind, handle)
        files = len(os.listdir("/proc/self/fd"))
        if result not in SPEAKING:
            return Verdict(f"opening answers {ze.ze_result_t(result).name}", is_spent=True)
        if files != self._files:
            return Verdict(f"{files - self._files} descriptors are left", is_spent=True)
        return Verdict()

    def _open_and_close(self, kind: str, handle: Any) -> int:
        made, context = ctypes.c_void_p(), self._bench.context
        place = ctypes.byref(made)
        if kind == "memory":
            result = ze.zeMemOpenIpcHandle(context, self._bench.device, handle, 0, place)
            if result == 0 and made.value:
                use(made.value, self._size_of(made.value))
                ze.zeMemCloseIpcHandle(context, made)
        elif kind == "pool":
            result = ze.zeEventPoolOpenIpcHandle(context, handle, place)
            if result == 0:
                self._use_pool(made)
                ze.zeEventPoolCloseIpcHandle(made)
        else:
            result = ze.zeEventCounterBasedOpenIpcHandle(context, handle, place)
            if result == 0:
                ze.zeEventQueryStatus(made)
                ze.zeEventHostSynchronize(made, 1000)
                ze.zeEventCounterBasedCloseIpcHandle(made)
        return int(result)

    def _size_of(self, address: int) -> int:
        base, size = ctypes.c_void_p(), ctypes.c_size_t()
        ze.zeMemGetAddressRange(
            self._bench.context, address, ctypes.byref(base), ctypes.byref(size)
        )
        return size.value

    def _use_pool(self, pool: ctypes.c_void_p) -> None:
        for index in (0, 3, 4, 1000, 2**32 - 1):
            event = ctypes.c_void_p()
            description = ze.ze_event_desc_t(index=index)
            if not ze.zeEventCreate(pool, ctypes.byref(description), ctypes.byref(event)):
                ze.zeEventHostSignal(event)
                ze.zeEventQueryStatus(event)
                ze.zeEventHostReset(event)
                ze.zeEventDestroy(event)


def use(address: int, size: int) -> None:
    """Touches what was opened, to its end."""
    for offset in {0, size // 2, size - 1}:
        ctypes.c_uint8.from_address(address + offset).value |= 0
