"""Makes streams call by call, as a recorder would, with handles and addresses of our choice."""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import TracebackType
from typing import Any

from groundstate import _raw
from groundstate.capture.stream import Block, Call, Kind, StreamWriter
from groundstate.capture.stream.formats import PAGE, Form, Phase
from groundstate.capture.stream.writes import Run, Writes, WritesFlag

BEFORE, AFTER = Phase.BEFORE, Phase.AFTER


class Given:
    """Memory that a call is given: what it was before and what it was afterwards."""

    def __init__(self, before: Any = None, after: Any = None) -> None:
        self.before = None if before is None else plain(before)
        self.after = None if after is None else plain(after)


def plain(value: Any) -> bytes:
    """Numbers as 64 bits, structs and bytes as they are."""
    if isinstance(value, int):
        return value.to_bytes(8, "little")
    if isinstance(value, list):
        return b"".join(map(plain, value))
    return bytes(value)


class Stream:
    """A stream that is being made; use it with `with`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.writer = StreamWriter(path)
        self._functions: dict[str, int] = {}
        self._address = 0x10_0000_0000
        self._records = 0

    def memory(self, size: int = 0x10000) -> int:
        """Addresses that nobody else has."""
        self._address += -(-size // 0x10000) * 0x10000
        return self._address - -(-size // 0x10000) * 0x10000

    def call(
        self,
        name: str,
        *arguments: Any,
        result: int = 0,
        thread: int = 0,
        began: int | None = None,
        also: dict[int, Given] | None = None,
    ) -> int:
        """Adds a call, its arguments numbers or `Given` memory; the number of its record."""
        if name not in self._functions:
            self._functions[name] = len(self._functions)
            number = self._functions[name].to_bytes(4, "little")
            self._records = self.writer.add(Kind.FUNCTION, number + name.encode()) + 1
        words, blocks = [], []
        for argument in arguments:
            if not isinstance(argument, Given):
                words.append(argument)
                continue
            words.append(self.memory())
            blocks += given_blocks(words[-1], argument)
        for address, given in (also or {}).items():
            blocks += given_blocks(address, given)
        began = self._records if began is None else began
        call = Call(self._functions[name], thread, began, 0, 0, result, tuple(words), tuple(blocks))
        self._records = self.writer.add(Kind.CALL, call.pack()) + 1
        return self._records - 1

    def writes(self, address: int, data: bytes, flags: WritesFlag = WritesFlag.NONE) -> None:
        """Adds what the host wrote."""
        digests = [self.writer.content(data[at : at + PAGE])[0] for at in range(0, len(data), PAGE)]
        run = Run(address, len(data), tuple(digests))
        self._records = self.writer.add(Kind.WRITES, Writes(0, (run,), flags).pack()) + 1

    def results(self, address: int, data: bytes) -> None:
        """Adds what the device had written."""
        digests = [self.writer.content(data[at : at + PAGE])[0] for at in range(0, len(data), PAGE)]
        run = Run(address, len(data), tuple(digests))
        self._records = self.writer.add(Kind.RESULTS, Writes(0, (run,)).pack()) + 1

    def begin(self, devices: int = 1) -> tuple[int, int]:
        """A context and the first device, as every program makes them."""
        driver, context = self.memory(), self.memory()
        found = [self.memory() for _ in range(devices)]
        self.call("zeInit", 0)
        self.call("zeDriverGet", Given(one(), one()), Given(0, driver))
        count = Given(one(devices), one(devices))
        self.call("zeDeviceGet", driver, count, Given([0] * devices, found))
        self.call("zeContextCreate", driver, Given(made("ze_context_desc_t")), Given(0, context))
        self.devices = found
        return context, found[0]

    def allocate(self, kind: str, context: int, device: int, size: int) -> int:
        """Memory: "Host", "Shared" or "Device"."""
        address = self.memory(size)
        on = Given(made("ze_device_mem_alloc_desc_t"))
        host = Given(made("ze_host_mem_alloc_desc_t"))
        answer = Given(0, address)
        if kind == "Host":
            self.call("zeMemAllocHost", context, host, size, 64, answer)
        elif kind == "Device":
            self.call("zeMemAllocDevice", context, on, size, 64, device, answer)
        else:
            self.call("zeMemAllocShared", context, on, host, size, 64, device, answer)
        return address

    def immediate(self, context: int, device: int, **fields: int) -> int:
        """A synchronous immediate list."""
        handle = self.memory()
        description = Given(made("ze_command_queue_desc_t", mode=1, **fields))
        self.call("zeCommandListCreateImmediate", context, device, description, Given(0, handle))
        return handle

    def copy(self, command_list: int, to: int, source: int, size: int, **options: Any) -> int:
        """A copy without events."""
        copies = "zeCommandListAppendMemoryCopy"
        return self.call(copies, command_list, to, source, size, 0, 0, 0, **options)

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.writer.close()


def one(number: int = 1) -> bytes:
    """A count of 32 bits."""
    return number.to_bytes(4, "little")


def made(name: str, **fields: Any) -> ctypes.Structure:
    """A struct of the API."""
    struct: ctypes.Structure = _raw.namespace_of(name).lookup(name)(**fields)
    return struct


def given_blocks(address: int, given: Given) -> list[Block]:
    """The blocks of what a call was given."""
    phases = ((BEFORE, given.before), (AFTER, given.after))
    return [
        Block(address, len(data), phase, Form.BYTES, data)
        for phase, data in phases
        if data is not None
    ]
