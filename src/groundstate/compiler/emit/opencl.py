"""The OpenCL.std extended instructions: one row for each.

Three kinds: LLVM intrinsics, which vectorise; formulas written out in LLVM IR; and the C library's
double-precision functions called for each lane, which are exact enough for every bound that OpenCL
sets and serve as the reference for faster ones.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.emit.emitter import Emitter, handles
from groundstate.compiler.emit.function import components
from groundstate.compiler.emit.memory import load, store
from groundstate.compiler.emit.text import float_literal, overloaded, scalar_type
from groundstate.compiler.emit.values import Lanes, Value
from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Node
from groundstate.compiler.spirv.instructions import opencl_rows
from groundstate.compiler.spirv.types import Float, Pointer, Vector

INTRINSICS: dict[str, str] = {
    "ceil": "ceil",
    "copysign": "copysign",
    "fabs": "fabs",
    "floor": "floor",
    "fma": "fma",
    "fmax": "maxnum",
    "fmin": "minnum",
    "mad": "fmuladd",
    "rint": "rint",
    "sqrt": "sqrt",
    "native_sqrt": "sqrt",
    "half_sqrt": "sqrt",
    "trunc": "trunc",
    "round": "round",
    "fmax_common": "maxnum",
    "fmin_common": "minnum",
    "s_max": "smax",
    "s_min": "smin",
    "u_max": "umax",
    "u_min": "umin",
    "popcount": "ctpop",
    "s_add_sat": "sadd.sat",
    "u_add_sat": "uadd.sat",
    "s_sub_sat": "ssub.sat",
    "u_sub_sat": "usub.sat",
}
"""Functions that an LLVM intrinsic computes for scalars and vectors alike."""

LIBRARY: dict[str, str] = {
    name: name
    for name in (
        "acos acosh asin asinh atan atan2 atanh cbrt cos cosh erf erfc exp exp2 exp10 expm1 fdim fmod "
        "hypot lgamma log log2 log10 log1p logb nextafter pow remainder sin sinh tan tanh tgamma"
    ).split()
}
LIBRARY |= {f"native_{name}": name for name in "cos exp exp2 exp10 log log2 log10 sin tan".split()}
LIBRARY |= {f"half_{name}": name for name in "cos exp exp2 exp10 log log2 log10 sin tan".split()}
LIBRARY |= {"native_powr": "pow", "half_powr": "pow", "powr": "pow"}
"""Functions of the C library, called in double precision."""

FORMULAS: dict[str, Callable[[Emitter, str, list[str]], str]] = {}
"""Functions written out: emitter, LLVM type (of all lanes or one), operand names -> result name."""


def formula(
    *names: str,
) -> Callable[[Callable[[Emitter, str, list[str]], str]], Callable[[Emitter, str, list[str]], str]]:
    def register(
        function: Callable[[Emitter, str, list[str]], str],
    ) -> Callable[[Emitter, str, list[str]], str]:
        for name in names:
            FORMULAS[name] = function
        return function

    return register


@handles("ExtInst")
def _extended(emitter: Emitter, node: Node) -> None:
    number = int(str(node.literals[1]))
    row = opencl_rows().get(number)
    name = row.name if row is not None else f"number {number}"
    special = SPECIAL.get(name)
    if special is not None:
        special(emitter, node, name)
        return
    operands = [emitter.get(each) for each in node.operands]
    value = emitter.map_components(
        node.type,
        operands,
        lambda type_, parts: _one(emitter, node, name, scalar_type(type_), parts),
    )
    if value is None:
        raise BuildError(f"{node.where}: the OpenCL function {name} is not supported")
    emitter.define(node, value)


def _one(emitter: Emitter, node: Node, name: str, scalar: str, parts: list[Lanes]) -> Lanes | None:
    """One component."""
    text = emitter.text
    vector = emitter.width > 1 and any(part.stride != 0 for part in parts)
    names = [text.as_vector(part) if vector else part.name for part in parts]
    t = text.vector_type(scalar) if vector else scalar
    stride = None if vector else 0
    if name in INTRINSICS:
        intrinsic = f"llvm.{INTRINSICS[name]}.{overloaded(t)}"
        return Lanes(scalar, text.call(t, intrinsic, [(t, each) for each in names]), stride)
    if name in FORMULAS:
        return Lanes(scalar, FORMULAS[name](emitter, t, names), stride)
    if name in LIBRARY:
        return Lanes(scalar, _library(emitter, LIBRARY[name], scalar, names, vector), stride)
    return None


def _library(emitter: Emitter, function: str, scalar: str, names: list[str], vector: bool) -> str:
    """Calls a function of the C library for each lane, in double precision."""
    text = emitter.text
    width = emitter.width if vector else 1
    wide = text.vector_type(scalar) if vector else scalar
    result = "poison"
    for lane in range(width):
        arguments = []
        for name in names:
            one = text.emit(f"extractelement {wide} {name}, i64 {lane}") if vector else name
            arguments.append(("double", _to_double(emitter, scalar, one)))
        value = text.call("double", function, arguments, "nounwind willreturn memory(none)")
        if scalar != "double":
            value = text.emit(f"fptrunc double {value} to {scalar}")
        if not vector:
            return value
        result = text.emit(f"insertelement {wide} {result}, {scalar} {value}, i64 {lane}")
    return result


def _to_double(emitter: Emitter, scalar: str, name: str) -> str:
    return name if scalar == "double" else emitter.text.emit(f"fpext {scalar} {name} to double")


# --- Formulas -----------------------------------------------------------------------------------


def element(t: str) -> str:
    """The type of one lane."""
    return t.strip("<>").split(" x ")[-1]


def spread(t: str, literal: str) -> str:
    """A constant in all lanes."""
    return literal if not t.startswith("<") else f"splat ({element(t)} {literal})"


def number(t: str, value: float) -> str:
    """A floating-point constant in all lanes."""
    return spread(t, float_literal(value, element(t)))


def like(t: str, other: str) -> str:
    """Another element type in the same number of lanes."""
    return other if not t.startswith("<") else f"{t.split(' x ')[0]} x {other}>"


@formula("rsqrt", "native_rsqrt", "half_rsqrt")
def _rsqrt(emitter: Emitter, t: str, x: list[str]) -> str:
    root = emitter.text.call(t, f"llvm.sqrt.{overloaded(t)}", [(t, x[0])])
    return emitter.text.emit(f"fdiv {t} {number(t, 1.0)}, {root}")


@formula("native_divide", "half_divide")
def _divide(emitter: Emitter, t: str, x: list[str]) -> str:
    return emitter.text.emit(f"fdiv {t} {x[0]}, {x[1]}")


@formula("native_recip", "half_recip")
def _reciprocal(emitter: Emitter, t: str, x: list[str]) -> str:
    return emitter.text.emit(f"fdiv {t} {number(t, 1.0)}, {x[0]}")


@formula("fclamp")
def _fclamp(emitter: Emitter, t: str, x: list[str]) -> str:
    low = emitter.text.call(t, f"llvm.maxnum.{overloaded(t)}", [(t, x[0]), (t, x[1])])
    return emitter.text.call(t, f"llvm.minnum.{overloaded(t)}", [(t, low), (t, x[2])])


def _clamp(kind: str) -> Callable[[Emitter, str, list[str]], str]:
    def write(emitter: Emitter, t: str, x: list[str]) -> str:
        low = emitter.text.call(t, f"llvm.{kind}max.{overloaded(t)}", [(t, x[0]), (t, x[1])])
        return emitter.text.call(t, f"llvm.{kind}min.{overloaded(t)}", [(t, low), (t, x[2])])

    return write


FORMULAS["s_clamp"] = _clamp("s")
FORMULAS["u_clamp"] = _clamp("u")


@formula("mix")
def _mix(emitter: Emitter, t: str, x: list[str]) -> str:
    difference = emitter.text.emit(f"fsub {t} {x[1]}, {x[0]}")
    scaled = emitter.text.emit(f"fmul {t} {difference}, {x[2]}")
    return emitter.text.emit(f"fadd {t} {x[0]}, {scaled}")


@formula("step")
def _step(emitter: Emitter, t: str, x: list[str]) -> str:
    less = emitter.text.emit(f"fcmp olt {t} {x[1]}, {x[0]}")
    return emitter.text.emit(
        f"select {like(t, 'i1')} {less}, {t} {number(t, 0.0)}, {t} {number(t, 1.0)}"
    )


@formula("smoothstep")
def _smoothstep(emitter: Emitter, t: str, x: list[str]) -> str:
    text = emitter.text
    above = text.emit(f"fsub {t} {x[2]}, {x[0]}")
    span = text.emit(f"fsub {t} {x[1]}, {x[0]}")
    ratio = text.emit(f"fdiv {t} {above}, {span}")
    ratio = _fclamp(emitter, t, [ratio, number(t, 0.0), number(t, 1.0)])
    square = text.emit(f"fmul {t} {ratio}, {ratio}")
    twice = text.emit(f"fmul {t} {number(t, -2.0)}, {ratio}")
    rest = text.emit(f"fadd {t} {twice}, {number(t, 3.0)}")
    return text.emit(f"fmul {t} {square}, {rest}")


@formula("sign")
def _sign(emitter: Emitter, t: str, x: list[str]) -> str:
    text = emitter.text
    one = text.call(t, f"llvm.copysign.{overloaded(t)}", [(t, number(t, 1.0)), (t, x[0])])
    flat = text.emit(f"fcmp oeq {t} {x[0]}, {number(t, 0.0)}")
    kept = text.emit(f"select {like(t, 'i1')} {flat}, {t} {x[0]}, {t} {one}")
    nan = text.emit(f"fcmp uno {t} {x[0]}, {x[0]}")
    return text.emit(f"select {like(t, 'i1')} {nan}, {t} {number(t, 0.0)}, {t} {kept}")


@formula("degrees")
def _degrees(emitter: Emitter, t: str, x: list[str]) -> str:
    return emitter.text.emit(f"fmul {t} {x[0]}, {number(t, 57.29577951308232)}")


@formula("radians")
def _radians(emitter: Emitter, t: str, x: list[str]) -> str:
    return emitter.text.emit(f"fmul {t} {x[0]}, {number(t, 0.017453292519943295)}")


def _scaled(function: str) -> Callable[[Emitter, str, list[str]], str]:
    """sinpi, cospi, tanpi in double precision through the library; asinpi and so on divide."""

    def write(emitter: Emitter, t: str, x: list[str]) -> str:
        text = emitter.text
        vector = t.startswith("<")
        if function.startswith("a"):
            angle = _library(emitter, function, element(t), x, vector)
            return text.emit(f"fmul {t} {angle}, {number(t, 0.3183098861837907)}")
        turned = text.emit(f"fmul {t} {x[0]}, {number(t, 3.141592653589793)}")
        return _library(emitter, function, element(t), [turned], vector)

    return write


for _name in ("acos", "asin", "atan", "atan2", "cos", "sin", "tan"):
    FORMULAS[f"{_name}pi"] = _scaled(_name)


@formula("s_abs")
def _abs(emitter: Emitter, t: str, x: list[str]) -> str:
    return emitter.text.call(t, f"llvm.abs.{overloaded(t)}", [(t, x[0]), ("i1", "false")])


@formula("u_abs")
def _same(emitter: Emitter, t: str, x: list[str]) -> str:
    del emitter, t
    return x[0]


def _difference(kind: str) -> Callable[[Emitter, str, list[str]], str]:
    def write(emitter: Emitter, t: str, x: list[str]) -> str:
        text = emitter.text
        high = text.call(t, f"llvm.{kind}max.{overloaded(t)}", [(t, x[0]), (t, x[1])])
        low = text.call(t, f"llvm.{kind}min.{overloaded(t)}", [(t, x[0]), (t, x[1])])
        return text.emit(f"sub {t} {high}, {low}")

    return write


FORMULAS["s_abs_diff"] = _difference("s")
FORMULAS["u_abs_diff"] = _difference("u")


def _count_zeros(kind: str) -> Callable[[Emitter, str, list[str]], str]:
    def write(emitter: Emitter, t: str, x: list[str]) -> str:
        return emitter.text.call(t, f"llvm.{kind}.{overloaded(t)}", [(t, x[0]), ("i1", "false")])

    return write


FORMULAS["clz"] = _count_zeros("ctlz")
FORMULAS["ctz"] = _count_zeros("cttz")


@formula("rotate")
def _rotate(emitter: Emitter, t: str, x: list[str]) -> str:
    operands = [(t, x[0]), (t, x[0]), (t, x[1])]
    return emitter.text.call(t, f"llvm.fshl.{overloaded(t)}", operands)


def _widened(t: str) -> tuple[str, int]:
    width = int(element(t)[1:])
    return like(t, f"i{2 * width}"), width


def _multiply_high(extend: str, add: bool) -> Callable[[Emitter, str, list[str]], str]:
    def write(emitter: Emitter, t: str, x: list[str]) -> str:
        text = emitter.text
        wide, width = _widened(t)
        left = text.emit(f"{extend} {t} {x[0]} to {wide}")
        right = text.emit(f"{extend} {t} {x[1]} to {wide}")
        product = text.emit(f"mul {wide} {left}, {right}")
        high = text.emit(f"lshr {wide} {product}, {spread(wide, str(width))}")
        result = text.emit(f"trunc {wide} {high} to {t}")
        return text.emit(f"add {t} {result}, {x[2]}") if add else result

    return write


FORMULAS["s_mul_hi"] = _multiply_high("sext", False)
FORMULAS["u_mul_hi"] = _multiply_high("zext", False)
FORMULAS["s_mad_hi"] = _multiply_high("sext", True)
FORMULAS["u_mad_hi"] = _multiply_high("zext", True)


def _average(extend: str, shift: str, round_up: bool) -> Callable[[Emitter, str, list[str]], str]:
    def write(emitter: Emitter, t: str, x: list[str]) -> str:
        text = emitter.text
        wide, _ = _widened(t)
        left = text.emit(f"{extend} {t} {x[0]} to {wide}")
        right = text.emit(f"{extend} {t} {x[1]} to {wide}")
        total = text.emit(f"add {wide} {left}, {right}")
        if round_up:
            total = text.emit(f"add {wide} {total}, {spread(wide, '1')}")
        half = text.emit(f"{shift} {wide} {total}, {spread(wide, '1')}")
        return text.emit(f"trunc {wide} {half} to {t}")

    return write


FORMULAS["s_hadd"] = _average("sext", "ashr", False)
FORMULAS["u_hadd"] = _average("zext", "lshr", False)
FORMULAS["s_rhadd"] = _average("sext", "ashr", True)
FORMULAS["u_rhadd"] = _average("zext", "lshr", True)


@formula("s_mul24", "u_mul24", "s_mad24", "u_mad24")
def _multiply24(emitter: Emitter, t: str, x: list[str]) -> str:
    """Arguments outside 24 bits give any result, so the plain product will do."""
    product = emitter.text.emit(f"mul {t} {x[0]}, {x[1]}")
    return emitter.text.emit(f"add {t} {product}, {x[2]}") if len(x) > 2 else product


@formula("bitselect")
def _bitselect(emitter: Emitter, t: str, x: list[str]) -> str:
    text = emitter.text
    bits = t
    names = x
    if not element(t).startswith("i"):
        width = {"half": 16, "float": 32, "double": 64}[element(t)]
        bits = like(t, f"i{width}")
        names = [text.emit(f"bitcast {t} {each} to {bits}") for each in x]
    differ = text.emit(f"xor {bits} {names[0]}, {names[1]}")
    taken = text.emit(f"and {bits} {differ}, {names[2]}")
    result = text.emit(f"xor {bits} {names[0]}, {taken}")
    return result if bits == t else text.emit(f"bitcast {bits} {result} to {t}")


# --- Functions of whole vectors -----------------------------------------------------------------


def _binary(emitter: Emitter, op: str, left: Lanes, right: Lanes) -> Lanes:
    text = emitter.text
    vector = emitter.width > 1 and (left.stride != 0 or right.stride != 0)
    t = text.vector_type(left.type) if vector else left.type
    first = text.as_vector(left) if vector else left.name
    second = text.as_vector(right) if vector else right.name
    return Lanes(left.type, text.emit(f"{op} {t} {first}, {second}"), None if vector else 0)


def _parts(value: Value) -> list[Lanes]:
    if isinstance(value, Lanes):
        return [value]
    return [each for each in value if isinstance(each, Lanes)]


def dot(emitter: Emitter, left: list[Lanes], right: list[Lanes]) -> Lanes:
    """The sum of the products of the components."""
    total: Lanes | None = None
    for a, b in zip(left, right, strict=True):
        product = _binary(emitter, "fmul contract", a, b)
        total = product if total is None else _binary(emitter, "fadd contract", total, product)
    assert total is not None
    return total


@handles("Dot")
def _dot(emitter: Emitter, node: Node) -> None:
    left, right = (_parts(emitter.get(each)) for each in node.operands)
    emitter.define(node, dot(emitter, left, right))


@handles("VectorTimesScalar")
def _scale(emitter: Emitter, node: Node) -> None:
    parts, factor = _parts(emitter.get(node.operands[0])), emitter.scalar(node.operands[1])
    scaled: list[Value] = [_binary(emitter, "fmul contract", part, factor) for part in parts]
    emitter.define(node, scaled)


def _call(emitter: Emitter, intrinsic: str, value: Lanes) -> Lanes:
    text = emitter.text
    vector = emitter.width > 1 and value.stride != 0
    t = text.vector_type(value.type) if vector else value.type
    name = text.call(
        t,
        f"llvm.{intrinsic}.{overloaded(t)}",
        [(t, text.as_vector(value) if vector else value.name)],
    )
    return Lanes(value.type, name, None if vector else 0)


def _geometry(emitter: Emitter, node: Node, name: str) -> None:
    values = [_parts(emitter.get(each)) for each in node.operands]
    if name.endswith("distance"):
        values = [[_binary(emitter, "fsub", a, b) for a, b in zip(*values, strict=True)]]
    length = _call(emitter, "sqrt", dot(emitter, values[0], values[0]))
    if not name.endswith("normalize"):
        emitter.define(node, length)
        return
    result: list[Value] = [_binary(emitter, "fdiv", part, length) for part in values[0]]
    emitter.define(node, result if isinstance(node.type, Vector) else result[0])


def _cross(emitter: Emitter, node: Node, name: str) -> None:
    del name
    a, b = (_parts(emitter.get(each)) for each in node.operands)
    result: list[Value] = []
    for i, j in ((1, 2), (2, 0), (0, 1)):
        first = _binary(emitter, "fmul", a[i], b[j])
        second = _binary(emitter, "fmul", a[j], b[i])
        result.append(_binary(emitter, "fsub", first, second))
    if len(a) == 4:
        result.append(Lanes(a[0].type, float_literal(0.0, a[0].type)))
    emitter.define(node, result)


def _vload(emitter: Emitter, node: Node, name: str) -> None:
    """vloadn: the vector number `offset` behind a pointer to components, which need not be aligned."""
    kind = node.type
    count = kind.count if isinstance(kind, Vector) else 1
    pointer = _element_address(emitter, node.operands[0], node.operands[1], count, name)
    parts: list[Value] = []
    each = kind.element if isinstance(kind, Vector) else kind
    stored = Float(16) if "half" in name else each
    from groundstate.compiler.emit.memory import add_offset

    for index in range(count):
        value = load(
            emitter, add_offset(emitter, pointer, index * stored.size), stored, stored.align
        )
        assert isinstance(value, Lanes)
        parts.append(_convert(emitter, value, scalar_type(each)))
    emitter.define(node, parts if isinstance(kind, Vector) else parts[0])


def _convert(emitter: Emitter, value: Lanes, type_: str) -> Lanes:
    """Between floating-point widths."""
    if value.type == type_:
        return value
    order = ["half", "float", "double"]
    kind = "fpext" if order.index(type_) > order.index(value.type) else "fptrunc"
    text = emitter.text
    vector = emitter.width > 1 and value.stride != 0
    source = text.vector_type(value.type) if vector else value.type
    target = text.vector_type(type_) if vector else type_
    return Lanes(
        type_, text.emit(f"{kind} {source} {value.name} to {target}"), None if vector else 0
    )


def _element_address(emitter: Emitter, offset: Node, base: Node, count: int, name: str) -> Lanes:
    from groundstate.compiler.emit.memory import _step as step

    pointer = emitter.scalar(base)
    assert isinstance(base.type, Pointer) and base.type.pointee is not None
    size = base.type.pointee.size
    step_count = 4 if count == 3 and "vloada" in name + "vstorea" in name else count
    return step(emitter, pointer, emitter.scalar(offset), step_count * size)


def _vstore(emitter: Emitter, node: Node, name: str) -> None:
    from groundstate.compiler.emit.memory import add_offset

    kind = node.operands[0].type
    count = kind.count if isinstance(kind, Vector) else 1
    pointer = _element_address(emitter, node.operands[1], node.operands[2], count, name)
    each = kind.element if isinstance(kind, Vector) else kind
    stored = Float(16) if "half" in name else each
    for index, part in enumerate(_parts(emitter.get(node.operands[0]))):
        value = _convert(emitter, part, scalar_type(stored)) if "half" in name else part
        store(
            emitter, add_offset(emitter, pointer, index * stored.size), stored, value, stored.align
        )


def _fract_like(emitter: Emitter, node: Node, name: str) -> None:
    """fract and modf: the whole part goes to memory."""
    whole_kind = "floor" if name == "fract" else "trunc"
    pointer = emitter.scalar(node.operands[1])
    parts = _parts(emitter.get(node.operands[0]))
    wholes: list[Value] = [_call(emitter, whole_kind, part) for part in parts]
    rests: list[Value] = []
    for part, whole in zip(parts, wholes, strict=True):
        assert isinstance(whole, Lanes)
        rests.append(_binary(emitter, "fsub", part, whole))
    kind = node.type
    scalar = components(kind) is None
    store(emitter, pointer, kind, wholes[0] if scalar else wholes, kind.align)
    emitter.define(node, rests[0] if scalar else rests)


def _sincos(emitter: Emitter, node: Node, name: str) -> None:
    del name
    value = emitter.get(node.operands[0])
    results = []
    for function in ("sin", "cos"):
        result = emitter.map_components(
            node.type,
            [value],
            lambda type_, parts, function=function: _one(  # type: ignore[misc]
                emitter, node, function, scalar_type(type_), parts
            ),
        )
        assert result is not None
        results.append(result)
    store(emitter, emitter.scalar(node.operands[1]), node.type, results[1], node.type.align)
    emitter.define(node, results[0])


def _nothing(emitter: Emitter, node: Node, name: str) -> None:
    """prefetch: a hint."""
    del emitter, node, name


def _ilogb_like(emitter: Emitter, node: Node, name: str) -> None:
    """Functions between floating point and int: ilogb, ldexp, pown, rootn through the library."""
    text = emitter.text
    values = [emitter.get(each) for each in node.operands]

    def one(type_: object, parts: list[Lanes]) -> Lanes:
        del type_
        vector = emitter.width > 1 and any(part.stride != 0 for part in parts)
        lanes = emitter.width if vector else 1
        results = []
        for lane in range(lanes):
            arguments = []
            for part in parts:
                single = text.lane(part, lane)
                if part.type.startswith("i"):
                    arguments.append(("i32", single))
                else:
                    arguments.append(("double", _to_double(emitter, part.type, single)))
            results.append(_int_function(emitter, name, arguments, parts[0].type))
        scalar = "i32" if name == "ilogb" else parts[0].type
        if not vector:
            return Lanes(scalar, results[0])
        wide = text.vector_type(scalar)
        whole = "poison"
        for lane, result in enumerate(results):
            whole = text.emit(f"insertelement {wide} {whole}, {scalar} {result}, i64 {lane}")
        return Lanes(scalar, whole, None)

    result = emitter.map_components(node.type, values, one)
    assert result is not None
    emitter.define(node, result)


def _int_function(
    emitter: Emitter, name: str, arguments: list[tuple[str, str]], scalar: str
) -> str:
    text = emitter.text
    pure = "nounwind willreturn memory(none)"
    if name == "ilogb":
        return text.call("i32", "ilogb", arguments, pure)
    if name == "ldexp":
        value = text.call("double", "ldexp", arguments, pure)
    else:
        power = text.emit(f"sitofp i32 {arguments[1][1]} to double")
        if name == "rootn":
            value = _root(emitter, arguments[0][1], power, arguments[1][1])
        else:
            value = text.call("double", "pow", [arguments[0], ("double", power)], pure)
    return value if scalar == "double" else text.emit(f"fptrunc double {value} to {scalar}")


def _root(emitter: Emitter, base: str, power: str, count: str) -> str:
    """The n-th root: of a negative number if n is odd."""
    text = emitter.text
    pure = "nounwind willreturn memory(none)"
    inverse = text.emit(f"fdiv double 1.0, {power}")
    size = text.call("double", "llvm.fabs.f64", [("double", base)])
    root = text.call("double", "pow", [("double", size), ("double", inverse)], pure)
    signed = text.call("double", "llvm.copysign.f64", [("double", root), ("double", base)])
    odd = text.emit(f"trunc i32 {count} to i1")
    negative = text.emit(f"fcmp olt double {base}, 0.0")
    plain = text.emit(f"select i1 {negative}, double 0x7FF8000000000000, double {root}")
    return text.emit(f"select i1 {odd}, double {signed}, double {plain}")


def _upsample(emitter: Emitter, node: Node, name: str) -> None:
    """High and low halves to one number of twice the width."""
    del name
    text = emitter.text
    values = [emitter.get(each) for each in node.operands]

    def one(type_: object, parts: list[Lanes]) -> Lanes:
        del type_
        vector = emitter.width > 1 and any(part.stride != 0 for part in parts)
        width = int(parts[0].type[1:])
        t = text.vector_type(parts[0].type) if vector else parts[0].type
        wide = text.vector_type(f"i{2 * width}") if vector else f"i{2 * width}"
        high, low = (text.as_vector(part) if vector else part.name for part in parts)
        top = text.emit(f"zext {t} {high} to {wide}")
        top = text.emit(f"shl {wide} {top}, {spread(wide, str(width))}")
        bottom = text.emit(f"zext {t} {low} to {wide}")
        name = text.emit(f"or {wide} {top}, {bottom}")
        return Lanes(f"i{2 * width}", name, None if vector else 0)

    result = emitter.map_components(node.type, values, one)
    assert result is not None
    emitter.define(node, result)


def _select(emitter: Emitter, node: Node, name: str) -> None:
    """select(a, b, c): b where c is set: non-zero for scalars, the top bit for vectors."""
    del name
    text = emitter.text
    no, yes, test = (emitter.get(each) for each in node.operands)
    from groundstate.compiler.emit.composites import choose

    is_vector = isinstance(node.type, Vector)

    def condition(part: Lanes) -> Lanes:
        vector = emitter.width > 1 and part.stride != 0
        t = text.vector_type(part.type) if vector else part.type
        given = text.as_vector(part) if vector else part.name
        kind = "slt" if is_vector else "ne"
        return Lanes(
            "i1", text.emit(f"icmp {kind} {t} {given}, {spread(t, '0')}"), None if vector else 0
        )

    results: list[Value] = [
        choose(emitter, condition(c), y, n)
        for c, y, n in zip(_parts(test), _parts(yes), _parts(no), strict=True)
    ]
    emitter.define(node, results if is_vector else results[0])


def _nan(emitter: Emitter, node: Node, name: str) -> None:
    """nan(code): a quiet NaN with the code in its low bits."""
    del name
    text = emitter.text
    values = [emitter.get(each) for each in node.operands]

    def one(type_: object, parts: list[Lanes]) -> Lanes:
        scalar = scalar_type(type_)  # type: ignore[arg-type]
        vector = emitter.width > 1 and parts[0].stride != 0
        t = text.vector_type(parts[0].type) if vector else parts[0].type
        quiet = {"half": 0x7E00, "float": 0x7FC00000, "double": 0x7FF8000000000000}[scalar]
        given = text.as_vector(parts[0]) if vector else parts[0].name
        bits = text.emit(f"or {t} {given}, {spread(t, str(quiet))}")
        target = text.vector_type(scalar) if vector else scalar
        return Lanes(scalar, text.emit(f"bitcast {t} {bits} to {target}"), None if vector else 0)

    result = emitter.map_components(node.type, values, one)
    assert result is not None
    emitter.define(node, result)


SPECIAL: dict[str, Callable[[Emitter, Node, str], None]] = {
    "length": _geometry,
    "fast_length": _geometry,
    "distance": _geometry,
    "fast_distance": _geometry,
    "normalize": _geometry,
    "fast_normalize": _geometry,
    "cross": _cross,
    "vloadn": _vload,
    "vload_half": _vload,
    "vload_halfn": _vload,
    "vloada_halfn": _vload,
    "vstoren": _vstore,
    "vstore_half": _vstore,
    "vstore_halfn": _vstore,
    "vstorea_halfn": _vstore,
    "fract": _fract_like,
    "modf": _fract_like,
    "sincos": _sincos,
    "prefetch": _nothing,
    "ilogb": _ilogb_like,
    "ldexp": _ilogb_like,
    "pown": _ilogb_like,
    "rootn": _ilogb_like,
    "s_upsample": _upsample,
    "u_upsample": _upsample,
    "select": _select,
    "nan": _nan,
}
"""Functions that do more than act on each component."""
