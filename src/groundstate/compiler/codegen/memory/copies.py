"""Memory that is copied or cleared as a whole.

What lies in a row, the lanes' private variables above all, is one operation for all lanes. Else
each lane has its own; lanes that are inactive copy to and from a place that nobody looks at, which
is shorter than branches.
"""

from __future__ import annotations

from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.memory.gathers import NOWHERE_BYTES, given, harmless
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.spirv.types import Pointer, Type


def clear(emitter: Emitter, pointer: Lanes, size: int, align: int) -> bool:
    """Clears some bytes for each lane, if they lie in a row; else does nothing and says so."""
    in_a_row = pointer.stride == size and emitter.mask is None
    if pointer.stride != 0 and not in_a_row:
        return False
    total = size if pointer.stride == 0 else size * emitter.width
    function = "llvm.memset.p0.i64"
    emitter.text.declarations.setdefault(
        function, f"declare void @{function}(ptr, i8, i64, i1 immarg)"
    )
    emitter.text.do(
        f"call void @{function}(ptr align {align} {pointer.name}, i8 0, i64 {total}, i1 false)"
    )
    return True


@handles("CopyMemory", "CopyMemorySized")
def _copy(emitter: Emitter, node: Node) -> None:
    target, source = emitter.scalar(node.operands[0]), emitter.scalar(node.operands[1])
    if node.op == "CopyMemorySized":
        count, size = emitter.scalar(node.operands[2]), constant_int(node.operands[2])
    else:
        size = _copied_type(node).size
        count = Lanes("i64", str(size))
    strides = {target.stride, source.stride}
    if emitter.width == 1 or (strides == {0} and count.stride == 0):
        _copy_lane(emitter, target, source, count, 0)
    elif size is not None and strides == {size} and emitter.mask is None:
        first, other = (Lanes("ptr", each.name) for each in (target, source))
        _copy_lane(emitter, first, other, Lanes("i64", str(size * emitter.width)), 0)
    elif size is not None and size <= NOWHERE_BYTES and emitter.mask is not None:
        target, source = (_harmless(emitter, each, emitter.mask) for each in (target, source))
        for lane in range(emitter.width):
            _copy_lane(emitter, target, source, count, lane)
    else:
        emitter.each_lane(lambda lane: _copy_lane(emitter, target, source, count, lane))


def _copy_lane(emitter: Emitter, target: Lanes, source: Lanes, count: Lanes, lane: int) -> None:
    text = emitter.text
    size = text.lane(count, lane)
    if count.type != "i64":
        size = text.emit(f"zext {count.type} {size} to i64")
    function = "llvm.memcpy.p0.p0.i64"
    text.declarations.setdefault(function, f"declare void @{function}(ptr, ptr, i64, i1 immarg)")
    text.do(
        f"call void @{function}(ptr {text.lane(target, lane)}, ptr {text.lane(source, lane)}, "
        f"i64 {size}, i1 false)"
    )


def _harmless(emitter: Emitter, pointer: Lanes, mask: str) -> Lanes:
    """The addresses of active lanes, and for the others that of a place for the purpose."""
    places = harmless(*given(emitter, emitter.text.as_vector(pointer), mask))
    return Lanes("ptr", places.name, None)


def _copied_type(node: Node) -> Type:
    """What is copied: the type behind whichever pointer has one."""
    for operand in node.operands[:2]:
        if isinstance(operand.type, Pointer) and operand.type.pointee is not None:
            return operand.type.pointee
    raise AssertionError("neither pointer says what it points to")
