"""Writes the bodies of built-in functions that LLVM's SPIR-V back end does not know or gets wrong.

Each is one row of `ROWS`: a pattern of the function's plain name and a writer that is given the
declaration and answers with LLVM IR. A body may call functions that the back end does know, most
of them named `__spirv_` and an instruction, and functions named `groundstate.` and an instruction,
which `spirv_words` replaces by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from groundstate.compiler.opencl import conversions, mangling
from groundstate.compiler.opencl.mangling import Type

DEVICE_SCOPE, WORK_GROUP_SCOPE, SUB_GROUP_SCOPE = 1, 2, 3
RELAXED, ACQUIRE, RELEASE, ACQUIRE_RELEASE, SEQUENTIALLY_CONSISTENT = 0, 0x2, 0x4, 0x8, 0x10

INSTRUCTION = "groundstate."
"""How the names of functions begin that stand for an instruction of SPIR-V: the instruction, its
rounding mode if it has one, and the types follow."""

PURE = "nounwind willreturn memory(none)"
EFFECT = "convergent nounwind"
"""What LLVM may assume of a function that is called."""


@dataclass
class Declaration:
    """A built-in function as LLVM IR declares it."""

    plain: str
    """Its name in OpenCL C."""
    code: str
    """Its arguments, mangled."""
    result: str
    parameters: list[str]
    """The types of the arguments in LLVM IR."""

    @property
    def name(self) -> str:
        return mangling.join(self.plain, self.code)


@dataclass
class Body:
    """The instructions of a function. Its arguments are %0, %1, ..., its result is %r."""

    lines: list[str] = field(default_factory=list)
    declarations: dict[str, str] = field(default_factory=dict)
    """The functions that it calls, by name."""

    def call(
        self,
        target: str,
        result: str,
        name: str,
        arguments: list[tuple[str, str]],
        attributes: str = EFFECT,
    ) -> str:
        """Adds a call of another function, whose arguments are given with their types."""
        types = ", ".join(kind for kind, _ in arguments)
        values = ", ".join(f"{kind} {value}" for kind, value in arguments)
        assign = "" if result == "void" else f"{target} = "
        self.lines.append(f'{assign}call spir_func {result} @"{name}"({values})')
        self.declarations[name] = f'declare spir_func {result} @"{name}"({types}) {attributes}'
        return target

    def add(self, target: str, expression: str) -> str:
        """Adds an instruction."""
        self.lines.append(f"{target} = {expression}")
        return target


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
    instruction = conversion.rounded_instruction()
    if instruction is None:
        body.lines += conversion.lines()
    else:
        operand = (declaration.parameters[0], "%0")
        body.call("%r", declaration.result, f"{INSTRUCTION}{instruction}", [operand], PURE)
    return body


def _any_or_all(declaration: Declaration) -> Body | None:
    """Looks at the highest bit of each element: the back end looks for any bit."""
    kind = mangling.argument(declaration.code)
    if kind is None:
        return None
    body = Body()
    value = "%0"
    element = Type(kind.element)
    if kind.count > 1:
        operation = "or" if declaration.plain == "any" else "and"
        intrinsic = f"llvm.vector.reduce.{operation}.{kind.suffix}"
        value = body.add("%all", f"call {element.llvm} @{intrinsic}({kind.llvm} %0)")
    body.add("%set", f"icmp slt {element.llvm} {value}, 0")
    body.add("%r", "zext i1 %set to i32")
    return body


def _ldexp(declaration: Declaration) -> Body | None:
    """Gives one exponent to each element of a vector."""
    vector, _, exponent = declaration.code.partition("_")
    if not (vector.startswith("Dv") and exponent.endswith("i") and "Dv" not in exponent):
        return None
    count = int(vector.removeprefix("Dv"))
    kind = f"<{count} x i32>"
    body = Body()
    body.add("%one", f"insertelement {kind} poison, i32 %1, i64 0")
    body.add(
        "%exponents", f"shufflevector {kind} %one, {kind} poison, <{count} x i32> zeroinitializer"
    )
    name = mangling.join("ldexp", declaration.code.removesuffix("i") + f"Dv{count}_i")
    operands = [(declaration.parameters[0], "%0"), (kind, "%exponents")]
    body.call("%r", declaration.result, name, operands, PURE)
    return body


# --- Atomic functions -----------------------------------------------------------------------------

_POINTER = re.compile(r"PU3AS(\d)V(?:U7_Atomic)?([ijlmfd]|Dh)")

_INTEGER_OPERATIONS = {"add": "IAdd", "sub": "ISub", "and": "And", "or": "Or", "xor": "Xor"}
_INTEGER_OPERATIONS |= {"xchg": "Exchange", "inc": "IAdd", "dec": "ISub"}


def _instruction(operation: str, kind: Type) -> str:
    """The name of the atomic instruction for an operation on a type, without `Atomic`."""
    if operation in ("min", "max"):
        letter = "F" if kind.is_float else "S" if kind.is_signed else "U"
        return f"{letter}{operation.capitalize()}{'EXT' if kind.is_float else ''}"
    return _INTEGER_OPERATIONS[operation]


def _atomic_call(
    body: Body, declaration: Declaration, operation: str, scope: str, semantics: str, value: str
) -> None:
    match = _POINTER.match(declaration.code)
    assert match is not None
    kind = mangling.argument(match[2])
    assert kind is not None
    code = f"PU3AS{match[1]}{match[2]}"
    operands = [(declaration.parameters[0], "%0"), ("i32", scope), ("i32", semantics)]
    if operation == "cmpxchg":
        name = mangling.join("__spirv_AtomicCompareExchange", f"{code}iii{match[2] * 2}")
        operands += [("i32", semantics), (kind.llvm, "%2"), (kind.llvm, "%1")]
    else:
        instruction = f"__spirv_Atomic{_instruction(operation, kind)}"
        name = mangling.join(instruction, f"{code}ii{match[2]}")
        operands.append((kind.llvm, value))
    body.call("%r", declaration.result, name, operands)


def _old_atomic(declaration: Declaration) -> Body | None:
    """The functions of OpenCL 1: they are relaxed, and global ones reach the whole device."""
    match = _POINTER.match(declaration.code)
    if match is None:
        return None
    operation = declaration.plain.partition("_")[2]
    scope = WORK_GROUP_SCOPE if match[1] == "3" else DEVICE_SCOPE
    value = "1" if operation in ("inc", "dec") else "%1"
    body = Body()
    _atomic_call(body, declaration, operation, str(scope), str(RELAXED), value)
    return body


def _fetch_min_max(declaration: Declaration) -> Body | None:
    """Minimum and maximum, with the order and the scope that were asked for."""
    if _POINTER.match(declaration.code) is None:
        return None
    operation = declaration.plain.split("_")[2]
    body = Body()
    semantics, scope = str(SEQUENTIALLY_CONSISTENT), str(DEVICE_SCOPE)
    if len(declaration.parameters) > 2:
        semantics = _semantics(body, "%2")
    if len(declaration.parameters) > 3:
        scope = _scope(body, "%3")
    _atomic_call(body, declaration, operation, scope, semantics, "%1")
    return body


def _compare_exchange(declaration: Declaration) -> Body | None:
    """The weak form is the strong one, and floats are compared as the integers of their bits."""
    plain = declaration.plain.replace("_weak", "_strong")
    code = declaration.code
    parameters = list(declaration.parameters)
    body = Body()
    value = "%2"
    match = _POINTER.match(code)
    if match is None:
        return None
    if match[2] in ("f", "d"):
        integer = {"f": "i", "d": "l"}[match[2]]
        code = re.sub(rf"(Atomic|PU3AS\d){match[2]}", rf"\g<1>{integer}", code)
        code = re.sub(rf"(PU3AS\d{integer}){match[2]}", rf"\g<1>{integer}", code)
        kind = {"i": "i32", "l": "i64"}[integer]
        value = body.add("%bits", f"bitcast {parameters[2]} %2 to {kind}")
        parameters[2] = kind
    elif plain == declaration.plain:
        return None
    values = ["%0", "%1", value, *(f"%{n}" for n in range(3, len(parameters)))]
    operands = list(zip(parameters, values, strict=True))
    body.call("%r", declaration.result, mangling.join(plain, code), operands)
    return body


def _semantics(body: Body, order: str) -> str:
    """SPIR-V's memory semantics for one of OpenCL's memory orders, as an instruction sequence."""
    body.add("%position", f"sub i32 {order}, 1")
    body.add("%bit", "shl i32 1, %position")
    body.add("%relaxed", f"icmp ult i32 {order}, 2")
    return body.add("%semantics", "select i1 %relaxed, i32 0, i32 %bit")


def _scope(body: Body, scope: str) -> str:
    """SPIR-V's scope for one of OpenCL's memory scopes: digit n of a number stands for scope n."""
    body.add("%shift", f"shl i32 {scope}, 2")
    body.add("%digits", f"lshr i32 {0x30124}, %shift")
    return body.add("%scope", "and i32 %digits, 15")


# --- Barriers and fences --------------------------------------------------------------------------


def _flag_semantics(body: Body, flags: str, order: int) -> str:
    """The memory semantics for fence flags: local, global and image memory have a bit each."""
    body.add("%buffers", f"and i32 {flags}, 3")
    body.add("%buffer_bits", "shl i32 %buffers, 8")
    body.add("%images", f"and i32 {flags}, 4")
    body.add("%image_bits", "shl i32 %images, 9")
    body.add("%places", "or i32 %buffer_bits, %image_bits")
    return body.add("%semantics", f"or i32 %places, {order}")


def _sub_group_barrier(declaration: Declaration) -> Body | None:
    body = Body()
    semantics = _flag_semantics(body, "%0", SEQUENTIALLY_CONSISTENT)
    scope = _scope(body, "%1") if len(declaration.parameters) > 1 else str(SUB_GROUP_SCOPE)
    operands = [("i32", str(SUB_GROUP_SCOPE)), ("i32", scope), ("i32", semantics)]
    body.call("", "void", mangling.join("__spirv_ControlBarrier", "jjj"), operands)
    return body


def _split_barrier(declaration: Declaration) -> Body | None:
    half = "Arrive" if declaration.plain.endswith("arrive") else "Wait"
    body = Body()
    order = RELEASE if half == "Arrive" else ACQUIRE
    semantics = _flag_semantics(body, "%0", order)
    scope = _scope(body, "%1") if len(declaration.parameters) > 1 else str(WORK_GROUP_SCOPE)
    operands = [("i32", str(WORK_GROUP_SCOPE)), ("i32", scope), ("i32", semantics)]
    body.call("", "void", mangling.join(f"__spirv_ControlBarrier{half}INTEL", "jjj"), operands)
    return body


def _old_fence(declaration: Declaration) -> Body | None:
    orders = {"mem": ACQUIRE_RELEASE, "read": ACQUIRE, "write": RELEASE}
    body = Body()
    semantics = _flag_semantics(body, "%0", orders[declaration.plain.partition("_")[0]])
    operands = [("i32", str(WORK_GROUP_SCOPE)), ("i32", semantics)]
    body.call("", "void", mangling.join("__spirv_MemoryBarrier", "jj"), operands)
    return body


def _get_fence(declaration: Declaration) -> Body | None:
    """The flag of the memory that a generic pointer points to: local, or else global."""
    body = Body()
    pointer = "ptr addrspace(3)"
    body.call("%local", pointer, "__to_local", [(declaration.parameters[0], "%0")], PURE)
    body.add("%is_local", f"icmp ne {pointer} %local, null")
    body.add("%r", "select i1 %is_local, i32 1, i32 2")
    return body


# --- Images ---------------------------------------------------------------------------------------


def _channel_query(declaration: Declaration) -> Body | None:
    """SPIR-V counts the orders and the types of channels from 0, OpenCL from other numbers."""
    order = declaration.plain == "get_image_channel_order"
    name = declaration.name
    if order:
        name = f"{INSTRUCTION}ImageQueryOrder..{declaration.code}"
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
        (r"ldexp", _ldexp),
        (r"atom(ic)?_(add|sub|xchg|inc|dec|cmpxchg|min|max|and|or|xor)", _old_atomic),
        (r"atomic_fetch_(min|max)(_explicit)?", _fetch_min_max),
        (r"atomic_compare_exchange_(weak|strong)(_explicit)?", _compare_exchange),
        (r"sub_group_barrier", _sub_group_barrier),
        (r"intel_work_group_barrier_(arrive|wait)", _split_barrier),
        (r"(mem|read_mem|write_mem)_fence", _old_fence),
        (r"get_fence", _get_fence),
        (r"get_image_channel_(order|data_type)", _channel_query),
        (r"read_imageh", _read_imageh),
        (r"write_imageh", _write_imageh),
    )
)
"""Which functions get a body, and who writes it."""
