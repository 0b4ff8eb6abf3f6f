"""How large a kernel may be. Beyond that, compiling it would take all memory, or all day.

Real kernels stay far below: the largest seen so far have some ten thousand operations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Kernel
from groundstate.compiler.spirv.bodies import MAX_BLOCKS as BLOCKS_IN_FUNCTION
from groundstate.compiler.spirv.instructions import ROWS
from groundstate.compiler.spirv.types import Type

if TYPE_CHECKING:
    from groundstate.compiler.program.symbols import Symbols

MAX_NODES = 250_000
"""Operations, when all calls are inlined."""
MAX_BLOCKS = BLOCKS_IN_FUNCTION
MAX_CALL_DEPTH = 100
MAX_LOOP_DEPTH = 100
MAX_PARTS = 16_384
"""Numbers in one value: a structure or array that is loaded as a whole."""
MAX_PRIVATE_BYTES = 64 << 20
"""Of one work-item."""
MAX_PROGRAM_BYTES = 1 << 30
"""Of all variables of a program."""


def check_calls(symbols: Symbols, home: int, function: int) -> None:
    """Raises BuildError if a function has too many operations with all that it calls.

    They are counted, not copied: a few small functions that call each other twice make billions.
    """
    counted: dict[tuple[int, int], int] = {}

    def count(home: int, identifier: int, depth: int) -> int:
        owner, found = symbols.function(home, identifier)
        key = owner, found.id
        if key in counted:
            return counted[key]
        name = symbols.modules[owner].function_name(found.id)
        if depth > MAX_CALL_DEPTH:
            raise BuildError(f"in function '{name}': calls nest deeper than {MAX_CALL_DEPTH}")
        counted[key] = total = 0  # a function that calls itself is found when calls are inlined
        for block in found.blocks:
            for instruction in block.instructions:
                total += 1
                if ROWS[instruction.opcode].name == "OpFunctionCall":
                    total += count(owner, instruction.operands[0], depth + 1)
        if total > MAX_NODES:
            raise BuildError(
                f"in function '{name}': {total} operations with all that it calls, "
                f"which is more than {MAX_NODES}"
            )
        counted[key] = total
        return total

    count(home, function, 0)


def check_kernel(kernel: Kernel) -> None:
    """Raises BuildError if a kernel has too many blocks."""
    if len(kernel.blocks) > MAX_BLOCKS:
        raise BuildError(
            f"in function '{kernel.name}': {len(kernel.blocks)} blocks, which is more than "
            f"{MAX_BLOCKS}"
        )


def check_loops(kernel: Kernel, memberships: int) -> None:
    """Raises BuildError if loops nest too deep; `memberships` counts each block for each loop."""
    if memberships > MAX_LOOP_DEPTH * max(len(kernel.blocks), MAX_LOOP_DEPTH):
        raise BuildError(
            f"in function '{kernel.name}': loops nest deeper than {MAX_LOOP_DEPTH} on average"
        )


def check_private(where: str, size: int) -> None:
    """Raises BuildError if the variables of one work-item take too much memory."""
    if size > MAX_PRIVATE_BYTES:
        raise BuildError(
            f"in function '{where}': private variables of {size} bytes; there are at most "
            f"{MAX_PRIVATE_BYTES} for each work-item"
        )


def check_program(size: int) -> None:
    """Raises BuildError if the variables of a program take too much memory."""
    if size > MAX_PROGRAM_BYTES:
        raise BuildError(
            f"the variables of the program take {size} bytes; there are at most {MAX_PROGRAM_BYTES}"
        )


def check_value(type_: Type, where: str) -> None:
    """Raises BuildError if a value of a type has too many parts."""
    if type_.parts > MAX_PARTS:
        raise BuildError(
            f"in function '{where}': a value of type {type_} has more than {MAX_PARTS} parts; "
            "load and store them one by one"
        )
