"""A program that a debugger attaches to. It does a step for each line that it is told.

Arguments: a file with the SPIR-V of spin.cl. Words: `queue`, `module`, `run KERNEL`, `wait`,
`unload`, `close`, `end`.
"""

import os
import sys
from pathlib import Path

import groundstate as gs

GROUPS, ITEMS = 4, 8
NOWHERE = 4096 + 8
"""An address that no program has."""


def say(*words: object) -> None:
    print(*words, flush=True)


class Program:
    """What it has made, and a method for each word."""

    def __init__(self, code: bytes) -> None:
        self.code = code
        self.context = gs.Context(gs.devices()[0])
        self.flag = self.context.alloc_shared(1, "int32")
        self.out = self.context.alloc_shared(GROUPS * ITEMS, "int32")

    def queue(self) -> None:
        self.commands = gs.CommandList.immediate(self.context, in_order=True)
        self.commands.fill(self.out, 0)

    def module(self) -> None:
        self.kernels = gs.Module(self.context, spirv=self.code)

    def run(self, kernel: str) -> None:
        self.commands.fill(self.flag, 1)
        first = self.flag if kernel == "spin" else NOWHERE
        self.kernels[kernel](self.commands, GROUPS, ITEMS, first, self.out)

    def wait(self) -> None:
        self.commands.synchronize()
        say("out", *self.out.tolist())

    def unload(self) -> None:
        self.kernels.close()

    def close(self) -> None:
        self.commands.close()

    def vanish(self) -> None:
        self.commands.close()
        os._exit(0)


def main() -> None:
    program = Program(Path(sys.argv[1]).read_bytes())
    for line in sys.stdin:
        word, *rest = line.split()
        if word != "end":
            getattr(program, word)(*rest)
        say(word, program.flag.address)
        if word == "end":
            return


main()
