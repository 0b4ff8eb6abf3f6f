"""Runs labelled kernels in this process, which must be in checked mode, and prints what was found:
a line of JSON with the name of each case and the findings.
"""

from __future__ import annotations

import json
import os
import sys
from array import array
from typing import Any

import groundstate as gs
from tests.check.labelled.cases import Case
from tests.check.labelled.suites import SUITES


class World:
    """What cases are given."""

    def __init__(self) -> None:
        self.context = gs.default_context()
        self.kept: list[gs.Memory | gs.Image] = []
        self.images: list[gs.Image] = []
        self.texels: list[gs.Memory] = []

    def argument(self, word: str | int) -> Any:
        """What a word stands for."""
        if isinstance(word, int):
            return word
        kind, _, rest = word.partition(":")
        count, _, offset = rest.partition("+")
        if kind == "null":
            return None
        if kind in ("image", "same", "view", "memory"):
            return self._image(kind, rest)
        if kind == "local":
            return gs.Local(int(count))
        if kind.removeprefix("half-") in ("device", "shared", "host"):
            return self._unwritten(kind, int(count))
        element = "uint8" if kind == "bytes" else "int32"
        memory = self.context.alloc_shared(int(count), element)
        memory.numpy()[:] = [index % 256 for index in range(int(count))]
        address = memory.address + int(offset or 0) * (1 if kind == "bytes" else 4)
        if kind == "freed":
            memory.close()
        else:
            self.kept.append(memory)
        return address

    def _image(self, kind: str, rest: str) -> gs.Image | gs.Memory:
        """An image in memory of its own, or what leads to the texels of one that is given."""
        if kind == "same":
            return self.images[int(rest)]
        if kind == "memory":
            return self.texels[int(rest)]
        if kind == "view":
            made = self.images[int(rest)].view()
        else:
            name = rest or "r32float"
            size = gs.ImageFormat.named(name).dtype.itemsize_bytes
            size *= gs.ImageFormat.named(name).components
            self.texels.append(self.context.alloc_shared(8 * 64 * size, "uint8"))
            memory = self.texels[-1]
            memory.numpy()[:] = 0
            made = gs.Image.in_memory(memory, (8, 64), name, row_pitch_bytes=64 * size)
            self.kept.append(memory)
        self.images.append(made)
        self.kept.append(made)
        return made

    def _unwritten(self, kind: str, count: int) -> int:
        """The address of memory that nobody has written, or only half of it."""
        memory = {
            "device": self.context.alloc_device,
            "shared": self.context.alloc_shared,
            "host": self.context.alloc_host,
        }[kind.removeprefix("half-")](count, "int32")
        self.kept.append(memory)
        numbers = list(range(count // 2))
        if kind == "half-device":
            commands = self.context.default_list()
            commands.copy(memory[: count // 2], array("i", numbers))
            commands.synchronize()
        elif kind == "half-shared":
            memory.numpy()[: count // 2] = numbers
        return memory.address


def main() -> None:
    """Runs the cases of the suite that is named."""
    cases = SUITES[sys.argv[1]]
    output = os.environ["GROUNDSTATE_CHECK_OUTPUT"]
    world = World()
    module = gs.Module(opencl="\n".join(case.source for case in cases), name="labelled.cl")
    for case in cases:
        print(json.dumps([case.name, _run(case, module, world, output)]), flush=True)


def _run(case: Case, module: gs.Module, world: World, output: str) -> list[Any]:
    """What is found in one case: whoever empties the file hears everything anew."""
    open(output, "w").close()
    commands = world.context.default_list()
    world.images, world.texels = [], []
    arguments = [world.argument(each) for each in case.arguments]
    module.kernel(case.name)(commands, case.groups, case.size, *arguments)
    commands.synchronize()
    with open(output, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


if __name__ == "__main__":
    main()
