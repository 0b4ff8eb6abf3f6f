"""Writes the bodies of built-in functions that LLVM's SPIR-V back end does not know or gets wrong.

Each is one row of `ROWS`: a pattern of the function's plain name and a writer that is given the
declaration and answers with LLVM IR. A body may call functions that the back end does know, most
of them named `__spirv_` and an instruction, and functions named `groundstate.` and an instruction,
which `spirv_words` replaces by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from groundstate.compiler.opencl import atomics, conversions, mangling
from groundstate.compiler.opencl.function_body import (
    ACQUIRE,
    ACQUIRE_RELEASE,
    INSTRUCTION,
    PURE,
    READS,
    RELEASE,
    SEQUENTIALLY_CONSISTENT,
    SUB_GROUP_SCOPE,
    WORK_GROUP_SCOPE,
    Body,
    Declaration,
)

FENCES = {"mem_fence": str(ACQUIRE_RELEASE), "read_mem_fence": str(ACQUIRE)}
FENCES |= {"write_mem_fence": str(RELEASE)}
"""The orders of the fences of OpenCL 1."""

ADDRESS_SPACES = {"global": ("ptr addrspace(1)", 5), "local": ("ptr addrspace(3)", 4)}
ADDRESS_SPACES |= {"private": ("ptr", 7)}
"""The types of pointers into them, and the numbers of their storage classes in SPIR-V."""

_COPIED = re.compile(r"PU3AS\d((?:Dv\d+_)?(?:Dh|[chstijlmfd]))")
"""The destination of a copy, with the type of its elements."""

_VECTOR = re.compile(r"Dv(\d+)_(?:Dh|[chstijlmfd])")

Writer = Callable[[Declaration], Body | None]


def write(declaration: Declaration) -> Body | None:
    """The body of a function, or None if the back end can be trusted with it."""
    for pattern, writer in ROWS:
        if pattern.fullmatch(declaration.plain):
            return writer(declaration)
    return None


# --- Conversions, vectors -------------------------------------------------------------------------


def _convert(declaration: Declaration) -> Body | None:
    conversion = conversions.understand(declaration.plain, declaration.code)
    if conversion is None:
        return None
    body = Body()
    instruction = conversion.instruction()
    if instruction is None:
        body.lines += conversion.lines()
    else:
        first, operand, name = instruction
        body.lines += first
        operands = [(declaration.parameters[0], operand)]
        body.call("%r", declaration.result, f"{INSTRUCTION}{name}", operands, PURE)
    return body


def _any_or_all(declaration: Declaration) -> Body | None:
    """Looks at the highest bit of each element: the back end looks for any bit."""
    kind = mangling.argument(declaration.code)
    if kind is None:
        return None
    body = Body()
    body.add("%set", f"icmp slt {kind.llvm} %0, zeroinitializer")
    found = "%set"
    if kind.count > 1:
        # A reduction in plain LLVM would be optimised to integers of odd sizes.
        name = mangling.join(f"__spirv_{declaration.plain.capitalize()}", f"Dv{kind.count}_b")
        operand = (f"<{kind.count} x i1>", "%set")
        found = body.call("%found", "i1", name, [operand], PURE)
    body.add("%r", f"zext i1 {found} to i32")
    return body


def _repeat_scalars(declaration: Declaration) -> Body | None:
    """Gives a scalar argument to each element of a vector, and calls the function of vectors."""
    vector = _VECTOR.search(declaration.code)
    if vector is None or all(kind.startswith("<") for kind in declaration.parameters):
        return None
    count = int(vector[1])
    body = Body()
    operands = []
    for place, kind in enumerate(declaration.parameters):
        value = f"%{place}"
        if not kind.startswith("<"):
            wide = f"<{count} x {kind}>"
            body.add(f"%one{place}", f"insertelement {wide} poison, {kind} {value}, i64 0")
            zeros = f"<{count} x i32> zeroinitializer"
            value = body.add(
                f"%all{place}", f"shufflevector {wide} %one{place}, {wide} poison, {zeros}"
            )
            kind = wide
        operands.append((kind, value))
    exponents = f"Dv{count}_i" if declaration.plain == "ldexp" else ""
    code = vector[0] + (exponents or "S_" * (len(operands) - 1))
    body.call("%r", declaration.result, mangling.join(declaration.plain, code), operands, PURE)
    return body


# --- Barriers and fences --------------------------------------------------------------------------


def _flag_semantics(body: Body, flags: str, order: str) -> str:
    """The memory semantics for fence flags: local, global and image memory have a bit each."""
    body.add("%buffers", f"and i32 {flags}, 3")
    body.add("%buffer_bits", "shl i32 %buffers, 8")
    body.add("%images", f"and i32 {flags}, 4")
    body.add("%image_bits", "shl i32 %images, 9")
    body.add("%places", "or i32 %buffer_bits, %image_bits")
    return body.add("%semantics", f"or i32 %places, {order}")


def _barrier(declaration: Declaration) -> Body | None:
    """The barriers of a work-group and of a sub-group, with the memory scope if one is given."""
    of_sub_group = declaration.plain == "sub_group_barrier"
    execution = str(SUB_GROUP_SCOPE if of_sub_group else WORK_GROUP_SCOPE)
    body = Body()
    semantics = _flag_semantics(body, "%0", str(SEQUENTIALLY_CONSISTENT))
    scope = body.scope("%1") if len(declaration.parameters) > 1 else execution
    operands = [("i32", execution), ("i32", scope), ("i32", semantics)]
    body.call("", "void", mangling.join("__spirv_ControlBarrier", "jjj"), operands)
    return body


def _split_barrier(declaration: Declaration) -> Body | None:
    half = "Arrive" if declaration.plain.endswith("arrive") else "Wait"
    body = Body()
    order = str(RELEASE if half == "Arrive" else ACQUIRE)
    semantics = _flag_semantics(body, "%0", order)
    scope = body.scope("%1") if len(declaration.parameters) > 1 else str(WORK_GROUP_SCOPE)
    operands = [("i32", str(WORK_GROUP_SCOPE)), ("i32", scope), ("i32", semantics)]
    body.call("", "void", mangling.join(f"__spirv_ControlBarrier{half}INTEL", "jjj"), operands)
    return body


def _fence(declaration: Declaration) -> Body | None:
    """The fences of OpenCL 1, which are named for their order, and that of OpenCL C 2.0."""
    body = Body()
    order, scope = FENCES.get(declaration.plain, ""), str(WORK_GROUP_SCOPE)
    if not order:
        order, scope = body.semantics("%1"), body.scope("%2")
    semantics = _flag_semantics(body, "%0", order)
    operands = [("i32", scope), ("i32", semantics)]
    body.call("", "void", mangling.join("__spirv_MemoryBarrier", "jj"), operands)
    return body


def _get_fence(declaration: Declaration) -> Body | None:
    """The flag of the memory that a generic pointer points to: local, or else global."""
    body = Body()
    _cast_to(body, "%local", "local", declaration.parameters[0])
    body.add("%is_local", "icmp ne ptr addrspace(3) %local, null")
    body.add("%r", "select i1 %is_local, i32 1, i32 2")
    return body


def _to_address_space(declaration: Declaration) -> Body | None:
    """`to_global` and its like: a null pointer if the generic pointer points elsewhere."""
    body = Body()
    _cast_to(body, "%r", declaration.plain.removeprefix("__to_"), declaration.parameters[0])
    return body


def _cast_to(body: Body, target: str, space: str, pointer: str) -> None:
    result, storage_class = ADDRESS_SPACES[space]
    name = f"__spirv_GenericCastToPtrExplicit_To{space.capitalize()}"
    operands = [(pointer, "%0"), ("i32", str(storage_class))]
    body.call(target, result, mangling.join(name, "Pvi"), operands, PURE)


def _async_copy(declaration: Declaration) -> Body | None:
    """A copy by the whole work-group, whose elements `spirv_words` is told the type of.

    The back end would take what it last saw of the memory, such as a whole array, for the element.
    """
    match = _COPIED.match(declaration.code)
    element = mangling.argument(match[1]) if match else None
    if element is None:
        return None
    body = Body()
    *places, event = [(kind, f"%{n}") for n, kind in enumerate(declaration.parameters)]
    stride = [] if declaration.plain.endswith("strided_copy") else [("i64", "1")]
    name = f"{INSTRUCTION}GroupAsyncCopy..{element.suffix}.{declaration.code}"
    body.call("%r", declaration.result, name, [*places, *stride, event])
    return body


# --- Vectors in memory ----------------------------------------------------------------------------


def _vloada_half3(declaration: Declaration) -> Body | None:
    """Three halves, each group of which takes the room of four."""
    body = Body()
    body.add("%first", "shl i64 %0, 2")
    pointer = declaration.parameters[1]
    body.add("%from", f"getelementptr half, {pointer} %1, i64 %first")
    name = mangling.join("vload_half3", declaration.code)
    body.call("%r", declaration.result, name, [("i64", "0"), (pointer, "%from")], READS)
    return body


# --- Images ---------------------------------------------------------------------------------------


def _channel_query(declaration: Declaration) -> Body | None:
    """SPIR-V counts the orders and the types of channels from 0, OpenCL from other numbers."""
    order = declaration.plain == "get_image_channel_order"
    name = f"{INSTRUCTION}ImageQuery{'Order' if order else 'Format'}..{declaration.code}"
    body = Body()
    body.call("%number", "i32", name, [(declaration.parameters[0], "%0")], PURE)
    body.add("%r", f"add i32 %number, {0x10B0 if order else 0x10D0}")
    return body


def _read_imageh(declaration: Declaration) -> Body | None:
    body = Body()
    operands = [(kind, f"%{n}") for n, kind in enumerate(declaration.parameters)]
    body.call("%texel", "<4 x float>", mangling.join("read_imagef", declaration.code), operands)
    body.add("%r", "fptrunc <4 x float> %texel to <4 x half>")
    return body


def _write_imageh(declaration: Declaration) -> Body | None:
    body = Body()
    last = len(declaration.parameters) - 1
    body.add("%texel", f"fpext <4 x half> %{last} to <4 x float>")
    operands = [(kind, f"%{n}") for n, kind in enumerate(declaration.parameters[:-1])]
    name = mangling.join("write_imagef", declaration.code.removesuffix("Dv4_Dh") + "Dv4_f")
    body.call("", "void", name, [*operands, ("<4 x float>", "%texel")])
    return body


ROWS: tuple[tuple[re.Pattern[str], Writer], ...] = tuple(
    (re.compile(pattern), writer)
    for pattern, writer in (
        (r"convert_\w+", _convert),
        (r"any|all", _any_or_all),
        (r"clamp|fmax|fmin|ldexp|max|min|mix|smoothstep|step", _repeat_scalars),
        (r"atom(ic)?_(add|sub|xchg|inc|dec|cmpxchg|min|max|and|or|xor)", atomics.first),
        (r"atomic_(fetch_(add|sub|and|or|xor|min|max)|exchange)(_explicit)?", atomics.fetch),
        (r"atomic_load(_explicit)?", atomics.load),
        (r"atomic_store(_explicit)?", atomics.store),
        (r"atomic_init", atomics.init),
        (r"atomic_compare_exchange_(weak|strong)(_explicit)?", atomics.compare_exchange),
        (r"atomic_flag_test_and_set(_explicit)?", atomics.flag_set),
        (r"atomic_flag_clear(_explicit)?", atomics.flag_clear),
        (r"barrier|work_group_barrier|sub_group_barrier", _barrier),
        (r"intel_work_group_barrier_(arrive|wait)", _split_barrier),
        (r"(mem|read_mem|write_mem|atomic_work_item)_fence", _fence),
        (r"get_fence", _get_fence),
        (r"__to_(global|local|private)", _to_address_space),
        (r"async_work_group_(strided_)?copy", _async_copy),
        (r"vloada_half3", _vloada_half3),
        (r"get_image_channel_(order|data_type)", _channel_query),
        (r"read_imageh", _read_imageh),
        (r"write_imageh", _write_imageh),
    )
)
"""Which functions get a body, and who writes it."""
