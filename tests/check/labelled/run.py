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
        self.kept: list[gs.Memory] = []

    def argument(self, word: str | int) -> Any:
        """What a word stands for."""
        if isinstance(word, int):
            return word
        kind, _, rest = word.partition(":")
        count, _, offset = rest.partition("+")
        if kind == "null":
            return None
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
    arguments = [world.argument(each) for each in case.arguments]
    module.kernel(case.name)(commands, case.groups, case.size, *arguments)
    commands.synchronize()
    with open(output, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


if __name__ == "__main__":
    main()
