"""Which structures that a function takes by value it may change.

Such a structure is passed as a pointer to memory that the caller still has. If the function only
reads it, it may read it there.
"""

from __future__ import annotations

from groundstate.compiler.spirv.instructions import ROWS
from groundstate.compiler.spirv.module import Function, Instruction, Module
from groundstate.compiler.spirv.opcodes import Decoration, FunctionParameterAttribute, StorageClass
from groundstate.compiler.spirv.types import Pointer

LEADS_ON = frozenset(
    [
        "OpAccessChain",
        "OpInBoundsAccessChain",
        "OpPtrAccessChain",
        "OpInBoundsPtrAccessChain",
        "OpBitcast",
        "OpCopyObject",
        "OpPtrCastToGeneric",
        "OpGenericCastToPtr",
    ]
)
"""Instructions that make another address in the same memory of their first operand."""

READS = frozenset(["OpLoad", "OpLifetimeStart", "OpLifetimeStop"])
COPIES = frozenset(["OpCopyMemory", "OpCopyMemorySized"])
"""Instructions that write only through their first operand."""


def needs_copy(module: Module, function: Function, is_kernel: bool) -> list[int]:
    """The parameters that are structures by value and may be changed, by their place."""
    places = [
        index
        for index, parameter in enumerate(function.parameters)
        if _is_by_value(module, parameter.result, parameter.type, is_kernel)
    ]
    if not places:
        return []
    changed = _may_change(function, {function.parameters[place].result for place in places})
    return [place for place in places if function.parameters[place].result in changed]


def _is_by_value(module: Module, identifier: int, type_id: int, is_kernel: bool) -> bool:
    kind = module.types[type_id]
    if (
        not isinstance(kind, Pointer)
        or kind.storage != StorageClass.Function
        or kind.pointee is None
    ):
        return False
    said = module.decorations.get(identifier, {}).get(Decoration.FuncParamAttr, ())
    return is_kernel or FunctionParameterAttribute.ByVal in said


def _may_change(function: Function, parameters: set[int]) -> set[int]:
    """Those of some pointers through which something may be written."""
    origin = {each: each for each in parameters}
    changed: set[int] = set()
    known = 0
    while len(origin) > known:  # blocks may stand in any order
        known = len(origin)
        for block in function.blocks:
            for instruction in block.instructions:
                _follow(instruction, origin, changed)
    return changed


def _follow(instruction: Instruction, origin: dict[int, int], changed: set[int]) -> None:
    """Notes what an instruction does with the pointers of `origin`."""
    name, words = ROWS[instruction.opcode].name, instruction.operands
    if name in READS:
        return
    for place, word in enumerate(words[:1] if name in COPIES else words):
        source = origin.get(word)
        if source is not None and name in LEADS_ON and place == 0:
            origin[instruction.result] = source
        elif source is not None:
            changed.add(source)
