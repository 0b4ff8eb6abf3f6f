"""One operation as a kernel of its own, compiled for one lane: for what the table cannot fold.

The kernel takes the operands as arguments and stores the result. So a function of OpenCL.std, an
atomic operation or the reading of an image does in the debugger exactly what it does in compiled
code with one lane, on the same memory.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Sequence

from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.cache import disk
from groundstate.compiler.codegen.kernel import KernelWriter
from groundstate.compiler.ir import Block, Kernel, Node, constant_node
from groundstate.compiler.ir.passes import Variant
from groundstate.compiler.llvm import service
from groundstate.compiler.program.dispatch import Dispatch, Memory, RunGroups
from groundstate.compiler.program.kernel_compiler import load
from groundstate.compiler.program.signature import Argument, Signature
from groundstate.compiler.spirv.constants import Constant
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Bool, Image, Int, Pointer, Sampler, Type, Vector, Void
from groundstate.compiler.step.values import Value, decode, encode, stored_bytes
from groundstate.compiler.target.host import host

BYTE = Int(8)
ALIGNMENT = 128
"""Of each argument: that of the largest vector."""
ONE_ITEM = (1, 1, 1)


class CompiledOperation:
    """The code of one operation, called with values."""

    def __init__(self, node: Node) -> None:
        self.given = [index for index, each in enumerate(node.operands) if not _stays(each)]
        """The operands that are arguments; the others are constants that the code knows."""
        self.types = [_passed(node.operands[index].type) for index in self.given]
        self.result = _passed(node.type)
        kernel = _kernel(node, self.given)
        self.places = [index * ALIGNMENT for index in range(len(self.types))]
        target = host()
        divergence = Divergence(kernel, CFG(kernel), Variant(ONE_ITEM, 1, 1), target)
        types = [each.type for each in kernel.arguments]
        writer = KernelWriter(divergence, types, self._signature(types), {}, False)
        code = writer.write(0)
        self._loaded = load(_object_code(code.text))
        self._memory = Memory(0, code.private_bytes, code.saved_bytes)
        self._run = RunGroups(self._loaded.address)

    def _signature(self, types: Sequence[Type]) -> Signature:
        arguments = tuple(
            Argument(str(index), str(each), _kind(each), max(1, each.size), index * ALIGNMENT, 0)
            for index, each in enumerate(types)
        )
        size = ALIGNMENT * len(types)
        return Signature("step", arguments, size, None, 1, 0, 0, "", False, True, False)

    def __call__(self, operands: Sequence[Value]) -> Value:
        """The result; 0 if there is none."""
        count = len(self.types)
        block = ctypes.create_string_buffer(ALIGNMENT * (count + 2))
        start = -(-ctypes.addressof(block) // ALIGNMENT) * ALIGNMENT
        for place, kind, index in zip(self.places, self.types, self.given, strict=True):
            data = encode(kind, operands[index])
            ctypes.memmove(start + place, data, len(data))
        size = stored_bytes(self.result)
        room = ctypes.create_string_buffer(size + 2 * ALIGNMENT)
        result = -(-ctypes.addressof(room) // ALIGNMENT) * ALIGNMENT
        ctypes.c_uint64.from_address(start + ALIGNMENT * count).value = result
        dispatch = Dispatch(start, (0, 0, 0), ONE_ITEM, ONE_ITEM, 1)
        self._run(ctypes.addressof(dispatch), 0, 1, self._memory.address)
        if isinstance(self.result, Void):
            return 0
        return decode(self.result, ctypes.string_at(result, size))


def _object_code(text: str) -> bytes:
    """Machine code of LLVM IR, which other processes may have asked for, too."""
    key = b"step\0" + hashlib.sha256(f"{host()}\0{text}".encode()).digest()
    found = disk.get(key)
    if found is None:
        found = service.object_code(text, 1, optimised=False)
        disk.put(key, found)
    return found


def _stays(operand: Node) -> bool:
    """True for constants, which the code may have to know."""
    value = operand.literals[0] if operand.op == "Constant" else None
    return isinstance(value, Constant) and not value.has_address and not value.undef


def _kind(type_: Type) -> str:
    """How an argument is passed."""
    if isinstance(type_, Pointer):
        return "pointer"
    if isinstance(type_, Image | Sampler):
        return "image" if isinstance(type_, Image) else "sampler"
    return "value"


def _passed(kind: Type) -> Type:
    """The type that stands for another in an argument: truths are bytes, memory is memory."""
    if isinstance(kind, Bool):
        return BYTE
    if isinstance(kind, Vector) and isinstance(kind.element, Bool | Pointer):
        return Vector(BYTE, kind.count) if isinstance(kind.element, Bool) else kind
    if isinstance(kind, Pointer):
        return Pointer(StorageClass.CrossWorkgroup, kind.pointee)
    return kind


def _kernel(node: Node, given: Sequence[int]) -> Kernel:
    """A kernel that does nothing but this operation."""
    block = Block("step")
    arguments = []
    operands = list(node.operands)
    for number, index in enumerate(given):
        kind = node.operands[index].type
        passed = _passed(kind)
        argument = Node("Argument", passed, literals=(number,))
        arguments.append(argument)
        operands[index] = _as_truth(block, argument, kind) if _is_truth(kind) else argument
    own = Node(node.op, _passed(node.type) if isinstance(node.type, Pointer) else node.type)
    own.operands, own.literals, own.where = operands, node.literals, node.where
    own.decorations = node.decorations
    block.nodes.append(own)
    result = _passed(node.type)
    target = Node(
        "Argument", Pointer(StorageClass.CrossWorkgroup, result), literals=(len(arguments),)
    )
    if not isinstance(node.type, Void):
        value = _as_bytes(block, own, result) if _is_truth(node.type) else own
        block.nodes.append(Node("Store", Void(), [target, value], (2, 1)))
    return Kernel("step", [*arguments, target], block)


def _is_truth(kind: Type) -> bool:
    return isinstance(kind.element if isinstance(kind, Vector) else kind, Bool)


def _filled(kind: Type, value: int) -> Node:
    """A number, or a vector of the same numbers."""
    if not isinstance(kind, Vector):
        return constant_node(kind, value)
    parts = tuple(Constant(kind.element, value) for _ in range(kind.count))
    return Node("Constant", kind, literals=(Constant(kind, parts),))


def _as_truth(block: Block, argument: Node, kind: Type) -> Node:
    found = Node("INotEqual", kind, [argument, _filled(argument.type, 0)])
    block.nodes.append(found)
    return found


def _as_bytes(block: Block, truth: Node, kind: Type) -> Node:
    found = Node("Select", kind, [truth, _filled(kind, 1), _filled(kind, 0)])
    block.nodes.append(found)
    return found
