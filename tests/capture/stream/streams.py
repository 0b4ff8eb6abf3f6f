"""Small streams for tests of what reads them, made with the writer: no driver is needed."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from groundstate import ze
from groundstate.capture.stream import Block, Call, Kind, StreamWriter
from groundstate.capture.stream.formats import Form, Phase

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


QUEUE, LIST, IMMEDIATE, KERNEL, EVENT, DEVICE, CONTEXT = (
    0x100,
    0x200,
    0x300,
    0x400,
    0x500,
    0x10,
    0x20,
)


def kernel_create(script: Script, handle: int, name: bytes) -> None:
    """Makes a kernel."""
    description = bytearray(bytes(ze.ze_kernel_desc_t()))
    place = ze.ze_kernel_desc_t.pKernelName.offset
    description[place : place + 8] = (0x7100).to_bytes(8, "little")
    blocks = (block(0x7000, description), block(0x7100, name + b"\0"), word(0x7200, handle))
    script.call("zeKernelCreate", 0x9000, 0x7000, 0x7200, blocks=blocks)


def launch(script: Script, where: int, kernel: int, event: int = 0, **options: int) -> int:
    """Appends a launch of 4 x 2 x 1 groups."""
    groups = ze.ze_group_count_t(groupCountX=4, groupCountY=2, groupCountZ=1)
    return script.call(
        "zeCommandListAppendLaunchKernel",
        where,
        kernel,
        0x7300,
        event,
        0,
        0,
        blocks=(block(0x7300, groups),),
        **options,
    )


def work(path: Path, **options: int) -> Path:
    """A program with a queue, which is measured once, and an immediate list, which is not."""
    script = Script(path, **options)
    properties = ze.ze_device_properties_t(timerResolution=10, kernelTimestampValidBits=32)
    blocks = (block(0x2000, properties, AFTER),)
    script.call("zeDeviceGetProperties", DEVICE, 0x2000, blocks=blocks)
    blocks = (block(0x2000, ze.ze_command_queue_desc_t()), word(0x2100, QUEUE))
    script.call("zeCommandQueueCreate", CONTEXT, DEVICE, 0x2000, 0x2100, blocks=blocks)
    script.call("zeCommandListCreate", CONTEXT, DEVICE, 0, 0x2100, blocks=(word(0x2100, LIST),))
    script.call(
        "zeCommandListCreateImmediate", CONTEXT, DEVICE, 0x2000, 0x2100,
        blocks=(block(0x2000, ze.ze_command_queue_desc_t()), word(0x2100, IMMEDIATE)),
    )  # fmt: skip
    kernel_create(script, KERNEL, b"scale")
    kernel_create(script, KERNEL + 8, b"add_up")
    script.call("zeKernelSetGroupSize", KERNEL, 64, 1, 1)
    launch(script, LIST, KERNEL, EVENT)
    script.call("zeCommandListAppendMemoryCopy", LIST, 0x5000, 0x6000, 4096, 0, 0, 0)
    script.call("zeCommandListClose", LIST)
    lists = (word(0x2200, LIST, BEFORE),)
    script.call("zeCommandQueueExecuteCommandLists", QUEUE, 1, 0x2200, 0, blocks=lists)
    script.call("zeCommandQueueSynchronize", QUEUE, 2**64 - 1, duration=50_000)
    ticks = ze.ze_kernel_timestamp_result_t()
    ticks.global_.kernelStart, ticks.global_.kernelEnd = 2**32 - 1000, 1000  # it goes round
    blocks = (block(0x2300, ticks, AFTER),)
    script.call("zeEventQueryKernelTimestamp", EVENT, 0x2300, blocks=blocks)
    launch(script, IMMEDIATE, KERNEL + 8)
    launch(script, IMMEDIATE, KERNEL + 8)
    script.call("zeCommandListHostSynchronize", IMMEDIATE, 2**64 - 1, duration=8_000)
    return script.close()
