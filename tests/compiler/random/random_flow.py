"""Random control flow in SSA form: any graph of blocks, with values that are used far away from
where they are computed.

`python -m tests.compiler.random.random_flow --count 1000` compares one lane with several.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import dataclass, field

import numpy as np

from groundstate.compiler.program import Program
from tests.compiler.runner import run
from tests.compiler.spirv.assembler import assemble

HEAD = """
OpCapability Addresses
OpCapability Kernel
OpCapability Int64
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %flow "flow" %gid
OpDecorate %gid BuiltIn GlobalInvocationId
OpDecorate %gid Constant
%void = OpTypeVoid
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%v3 = OpTypeVector %ulong 3
%pv3 = OpTypePointer Input %v3
%puint = OpTypePointer CrossWorkgroup %uint
%type = OpTypeFunction %void %puint %puint %uint
%gid = OpVariable %pv3 Input
"""
START = """
%flow = OpFunction %void None %type
%in = OpFunctionParameter %puint
%out = OpFunctionParameter %puint
%same = OpFunctionParameter %uint
%entry = OpLabel
%id3 = OpLoad %v3 %gid Aligned 32
%id = OpCompositeExtract %ulong %id3 0
%narrow = OpUConvert %uint %id
%place = OpInBoundsPtrAccessChain %puint %in %id
%given = OpLoad %uint %place Aligned 4
OpBranch %b0
"""
VARIABLES = ("fuel", "x", "y", "u", "l")
STARTS = {"fuel": "%c40", "x": "%given", "y": "%c7", "u": "%same", "l": "%narrow"}
OPERATIONS = ("IAdd", "ISub", "IMul", "BitwiseXor", "BitwiseOr", "BitwiseAnd")
CONSTANTS = (0, 1, 2, 3, 5, 7, 40, 1234567)


@dataclass
class Block:
    """One block: what it computes, and where it goes."""

    successors: list[int]
    steps: list[tuple[str, str, str, str]]
    """Variable, operation, and two operands: variables or constants."""
    condition: tuple[str, str, str] = ("ULessThan", "x", "y")
    predecessors: list[int] = field(default_factory=list)


def random_blocks(chance: random.Random, jumps: bool) -> list[Block]:
    """Blocks with random branches. With `jumps` they go anywhere, else mostly forward."""
    count = chance.randint(2, 9)
    blocks = []
    for index in range(count):
        farthest = count if jumps or chance.random() < 0.3 else min(count, index + 3)
        nearest = 0 if jumps or chance.random() < 0.2 else index + 1
        successors = [chance.randint(min(nearest, count), farthest) for _ in range(2)]
        if index == 0:
            successors[0] = 1
        steps = []
        for _ in range(chance.randint(0, 3)):
            target = chance.choice(VARIABLES[1:])
            operands = [chance.choice([*VARIABLES, "c1", "c3", "c5"]) for _ in range(2)]
            steps.append((target, chance.choice(OPERATIONS), operands[0], operands[1]))
        test = chance.choice(("ULessThan", "SLessThan", "IEqual", "INotEqual"))
        left, right = chance.choice(VARIABLES), chance.choice([*VARIABLES, "c2", "c40", "c1234567"])
        blocks.append(Block(successors, steps, (test, left, right)))
    return blocks


class Writer:
    """Writes blocks as SPIR-V. A block with one predecessor uses that one's values as they are."""

    def __init__(self, blocks: list[Block]) -> None:
        self.blocks = blocks
        self.lines: list[str] = []
        self.count = 0
        self.end = len(blocks)
        for index in self.reachable():
            for successor in set(blocks[index].successors):
                if successor < self.end:
                    blocks[successor].predecessors.append(index)

    def reachable(self) -> list[int]:
        seen, waiting = {0}, [0]
        while waiting:
            for each in self.blocks[waiting.pop()].successors:
                if each < self.end and each not in seen:
                    seen.add(each)
                    waiting.append(each)
        return sorted(seen)

    def new(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"%t{self.count} = {text}")
        return f"%t{self.count}"

    def write(self) -> str:
        order = self.reachable()
        self.values: dict[int, dict[str, str]] = {}
        self.ends: list[tuple[str, str]] = []
        waiting = list(order)
        while waiting:  # a block with one predecessor needs that one's names
            for index in list(waiting):
                ways = self.blocks[index].predecessors
                single = len(ways) == 1 and index != 0
                if not single or ways[0] in self.values or ways[0] == index:
                    waiting.remove(index)
                    self._write_block(index, single and ways[0] != index)
        self.lines.append("%finish = OpLabel")
        pairs = " ".join(f"{value} {label}" for value, label in self.ends) or "%c0 %b0"
        self.lines.append(f"%result = OpPhi %uint {pairs}")
        return "\n".join(self.lines)

    def _write_block(self, index: int, single: bool) -> None:
        block = self.blocks[index]
        self.lines.append(f"%b{index} = OpLabel")
        if single:
            values = dict(self.values[block.predecessors[0]])
        else:
            values = {name: f"%phi{index}{name}" for name in VARIABLES}
            for name in VARIABLES:
                pairs = [f"%exit{each}{name} %e{each}_{index}" for each in block.predecessors]
                pairs += [f"{STARTS[name]} %entry"] if index == 0 else []
                self.lines.append(f"%phi{index}{name} = OpPhi %uint {' '.join(pairs)}")
        for target, operation, left, right in block.steps:
            operands = [values.get(each, f"%{each}") for each in (left, right)]
            values[target] = self.new(f"Op{operation} %uint {operands[0]} {operands[1]}")
        values["fuel"] = self.new(f"OpISub %uint {values['fuel']} %c1")
        self.values[index] = dict(values)
        for name in VARIABLES:
            self.lines.append(f"%exit{index}{name} = OpCopyObject %uint {values[name]}")
        test, left, right = block.condition
        operands = [values.get(each, f"%{each}") for each in (left, right)]
        condition = self.new(f"Op{test} %bool {operands[0]} {operands[1]}")
        first, second = (self._edge_label(index, way) for way in range(2))
        self.lines.append(f"OpBranchConditional {condition} {first} {second}")
        self._write_edges(index, values)

    def _edge_label(self, index: int, way: int) -> str:
        target = self.blocks[index].successors[way]
        return f"%e{index}_{target}" if target < self.end else f"%leave{index}"

    def _write_edges(self, index: int, values: dict[str, str]) -> None:
        """An edge to another block burns fuel: when there is none left, the kernel ends."""
        for target in sorted(set(self.blocks[index].successors)):
            if target == self.end:
                self.lines += [f"%leave{index} = OpLabel", "OpBranch %finish"]
                self.ends.append((values["x"], f"%leave{index}"))
                continue
            label = f"%e{index}_{target}"
            self.lines.append(f"{label} = OpLabel")
            empty = self.new(f"OpIEqual %bool {values['fuel']} %c0")
            self.lines.append(f"OpBranchConditional {empty} %stop{index}_{target} %b{target}")
            self.lines += [f"%stop{index}_{target} = OpLabel", "OpBranch %finish"]
            self.ends.append((values["y"], f"%stop{index}_{target}"))


def random_module(seed: int) -> bytes:
    """A module with one kernel."""
    chance = random.Random(seed)
    blocks = random_blocks(chance, jumps=chance.random() < 0.2)
    body = Writer(blocks).write()
    constants = "\n".join(f"%c{each} = OpConstant %uint {each}" for each in CONSTANTS)
    end = """
%target = OpInBoundsPtrAccessChain %puint %out %id
OpStore %target %result Aligned 4
OpReturn
OpFunctionEnd
"""
    return assemble(f"{HEAD}{constants}\n{START}{body}{end}")


def results(program: Program, width: int | None, size: int = 32) -> np.ndarray:
    """What the kernel of a module gives for some numbers, with a number of lanes."""
    given = np.arange(2 * size, dtype=np.uint32) * 2654435761 % 97
    out = np.zeros(2 * size, np.uint32)
    run(program, "flow", (2, 1, 1), (size, 1, 1), given, out, np.uint32(11), width=width)
    return out


def differences(seed: int) -> list[str]:
    """How the numbers of lanes disagree for one seed."""
    module = random_module(seed)
    expected = results(Program(module), 1)
    found = []
    for width in (4, 16, None):
        given = results(Program(module), width)
        if not np.array_equal(given, expected):
            lane = int(np.argmax(given != expected))
            found.append(
                f"seed {seed}, {width} lanes: {given[lane]} not {expected[lane]} at {lane}"
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    options = parser.parse_args()
    wrong = 0
    for seed in range(options.first, options.first + options.count):
        for line in differences(seed):
            wrong += 1
            print(line, flush=True)
    print(f"{options.count} seeds, {wrong} differences")


if __name__ == "__main__":
    main()
