"""Small streams for tests of what reads them, made with the writer: no driver is needed."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from groundstate import ze
from groundstate.capture.stream import Block, Call, Kind, StreamWriter
from groundstate.capture.stream.calls import Form, Phase

BEFORE, AFTER = Phase.BEFORE, Phase.AFTER


def block(address: int, data: Any, phase: Phase = BEFORE) -> Block:
    """A block with bytes, or those of a struct."""
    data = bytes(data)
    return Block(address, len(data), phase, Form.BYTES, data)


def word(address: int, value: int, phase: Phase = AFTER) -> Block:
    """A block with a handle or pointer."""
    return block(address, ctypes.c_uint64(value), phase)


class Script:
    """Writes a stream call by call; each call takes 1000 ns and begins 2000 ns after the last."""

    def __init__(self, path: Path, **options: int) -> None:
        self.path = path
        self.writer = StreamWriter(path, start=1_700_000_000 * 10**9, **options)
        self.writer.about(
            [
                ("api", "1.17"),
                ("machine", "x86_64"),
                ("program", "/bin/example"),
                ("argument", "./example"),
                ("argument", "a b"),
                ("next", "libze_example.so"),
            ]
        )
        self._functions: dict[str, int] = {}
        self._clock = 0

    def call(
        self,
        name: str,
        *arguments: int,
        blocks: tuple[Block, ...] = (),
        result: int = 0,
        thread: int = 0,
        duration: int = 1000,
    ) -> int:
        """Appends a call and gives back the number of its record."""
        if name not in self._functions:
            number = self._functions[name] = len(self._functions)
            self.writer.add(Kind.FUNCTION, number.to_bytes(4, "little") + name.encode())
        call = Call(
            self._functions[name], thread, 0, self._clock, duration, result, arguments, blocks
        )
        self._clock += duration + 1000
        return self.writer.add(Kind.CALL, call.pack())

    def close(self) -> Path:
        """Finishes the stream."""
        self.writer.close()
        return self.path


def example(path: Path, **options: int) -> Path:
    """A program that finds a device, makes a module, fails once and asks twice."""
    script = Script(path, **options)
    script.call("zeInit", 0)
    script.call(
        "zeDeviceGetProperties",
        0x1000,
        0x2000,
        blocks=(
            block(0x2000, ze.ze_device_properties_t(type=1, name=b"a \x1b[31m device"), AFTER),
        ),
    )
    source = b"\3\2#\7" + bytes(60)
    (name,) = script.writer.content(source)
    description = ze.ze_module_desc_t(inputSize=64, pInputModule=0x3000)
    flags = bytearray(bytes(description))
    flags[40:48] = (0x4000).to_bytes(8, "little")
    script.call(
        "zeModuleCreate",
        0x1001,
        0x1000,
        0x2100,
        0x2200,
        0,
        blocks=(
            block(0x2100, flags),
            Block(0x3000, 64, BEFORE, Form.DIGESTS, name),
            block(0x4000, b"-ze-opt-level=2\0"),
            word(0x2200, 0x9000),
        ),
    )
    script.writer.writes([(0x5000, bytes(4096 * 3))])
    script.call("zeEventQueryStatus", 0x77, result=ze.ZE_RESULT_NOT_READY, duration=10, thread=1)
    script.call("zeEventQueryStatus", 0x77, duration=30, thread=1)
    script.call("zeMemFree", 0x1001, 0xDEAD, result=ze.ZE_RESULT_ERROR_INVALID_ARGUMENT)
    return script.close()
