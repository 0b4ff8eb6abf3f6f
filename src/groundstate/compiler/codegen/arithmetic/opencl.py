"""The OpenCL.std extended instructions.

Three kinds: LLVM intrinsics; the functions of compiler/math, written for any number of lanes; and
the C library's double-precision functions called for each lane, which are exact enough for every
bound that OpenCL sets. Functions that touch memory are in opencl_memory.
"""

from __future__ import annotations

from collections.abc import Callable

import groundstate.compiler.math.common
import groundstate.compiler.math.decomposition
import groundstate.compiler.math.exponential
import groundstate.compiler.math.geometric
import groundstate.compiler.math.integer
import groundstate.compiler.math.inverse
import groundstate.compiler.math.logarithm
import groundstate.compiler.math.power
import groundstate.compiler.math.roots
import groundstate.compiler.math.trigonometric  # noqa: F401 - each adds its functions to the table
from groundstate.compiler.codegen.arithmetic.bfloat import as_float, is_bfloat, upper_half
from groundstate.compiler.codegen.arithmetic.composites import choose
from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.function import components
from groundstate.compiler.codegen.memory.opencl import (
    prefetch,
    store_second,
    vload,
    vstore,
)
from groundstate.compiler.codegen.text import overloaded
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.math.functions import (
    FUNCTIONS,
    call_all,
    is_written_for,
    library,
)
from groundstate.compiler.math.vec import Vec
from groundstate.compiler.spirv.instructions import opencl_rows
from groundstate.compiler.spirv.types import Float, Int, Type, Vector

INTRINSICS: dict[str, str] = {
    "ceil": "ceil",
    "copysign": "copysign",
    "fabs": "fabs",
    "floor": "floor",
    "fmax": "maxnum",
    "fmin": "minnum",
    "rint": "rint",
    "sqrt": "sqrt",
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
    for name in [
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "cbrt",
        "cosh",
        "erf",
        "erfc",
        "hypot",
        "log1p",
        "remainder",
        "sinh",
        "tanh",
        "tgamma",
    ]
}
LIBRARY |= {
    f"native_{name}": name
    for name in [
        "cos",
        "exp",
        "exp2",
        "exp10",
        "log",
        "log2",
        "log10",
        "sin",
        "tan",
    ]
}
LIBRARY["native_powr"] = "pow"
"""Functions of the C library, called in double precision for the types that have no formula."""

SPECIAL: dict[str, Callable[[Emitter, Node, str], None]] = {}
"""Functions that do more than act on each component: emitter, instruction, name."""


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
    emitter.define(node, _each_component(emitter, node, name, node.type, operands)[0])


def _each_component(
    emitter: Emitter, node: Node, name: str, type_: Type, operands: list[Value]
) -> list[Value]:
    """The results of a function that acts on each component: mostly one."""
    parts = components(type_)
    if parts is None:
        scalars = [each for each in operands if isinstance(each, Lanes)]
        found = _one(emitter, name, scalar_type(type_), scalars)
        if found is None or len(scalars) != len(operands):
            raise BuildError(f"{name} is not supported for these types")
        return [*found]
    rows = []
    for index, part in enumerate(parts):
        picked = [each[index] if isinstance(each, list) else each for each in operands]
        rows.append(_each_component(emitter, node, name, part, picked))
    return [list(each) for each in zip(*rows, strict=True)]


def _one(emitter: Emitter, name: str, scalar: str, parts: list[Lanes]) -> list[Lanes] | None:
    """The results for one component."""
    text = emitter.text
    vector = emitter.width > 1 and any(part.stride != 0 for part in parts)
    arguments = _arguments(emitter, parts, vector)
    if name in INTRINSICS:
        t = text.vector_type(scalar) if vector else scalar
        intrinsic = f"llvm.{INTRINSICS[name]}.{overloaded(t)}"
        operands = [(t, each.name) for each in arguments]
        return [Lanes(scalar, text.call(t, intrinsic, operands), None if vector else 0)]
    if is_written_for(name, parts[0].type):
        return _call_written(emitter, name, arguments, vector)
    if name in LIBRARY:
        result = library(LIBRARY[name], *arguments)
        return [Lanes(scalar, result.name, None if vector else 0)]
    return None


def _arguments(emitter: Emitter, parts: list[Lanes], vector: bool) -> list[Vec]:
    text = emitter.text
    if not vector:
        return [Vec(text, part.type, part.name) for part in parts]
    return [Vec(text, text.vector_type(part.type), text.as_vector(part)) for part in parts]


def _call_written(emitter: Emitter, name: str, arguments: list[Vec], vector: bool) -> list[Lanes]:
    """Calls a function of compiler/math; if it branches, idle lanes get a harmless argument."""
    if vector and emitter.mask is not None and FUNCTIONS[name].branches:
        mask = Vec(emitter.text, emitter.text.vector_type("i1"), emitter.mask)
        arguments = [mask.choose(each, 1) for each in arguments]
    stride = None if vector else 0
    results = call_all(name, *arguments)
    return [Lanes(each.t.strip("<>").split(" x ")[-1], each.name, stride) for each in results]


# --- Functions of whole vectors -----------------------------------------------------------------


def _parts(value: Value) -> list[Lanes]:
    if isinstance(value, Lanes):
        return [value]
    return [each for each in value if isinstance(each, Lanes)]


def _binary(emitter: Emitter, op: str, left: Lanes, right: Lanes) -> Lanes:
    text = emitter.text
    vector = emitter.width > 1 and (left.stride != 0 or right.stride != 0)
    t = text.vector_type(left.type) if vector else left.type
    first = text.as_vector(left) if vector else left.name
    second = text.as_vector(right) if vector else right.name
    flags = " contract" if emitter.contract else ""
    return Lanes(left.type, text.emit(f"{op}{flags} {t} {first}, {second}"), None if vector else 0)


def _multiplied_and_added(emitter: Emitter, left: Lanes, right: Lanes, total: Lanes) -> Lanes:
    """In one step where the machine has an instruction for it: the error bounds of a dot product
    allow it."""
    found = _one(emitter, "mad", left.type, [left, right, total])
    assert found is not None
    return found[0]


@handles("Dot")
def _dot(emitter: Emitter, node: Node) -> None:
    left, right = (_parts(emitter.get(each)) for each in node.operands)
    if is_bfloat(node.operands[0].type):
        left, right = ([_as_float(emitter, each) for each in side] for side in (left, right))
    total = _binary(emitter, "fmul", left[0], right[0])
    for a, b in zip(left[1:], right[1:], strict=True):
        total = _multiplied_and_added(emitter, a, b, total)
    if is_bfloat(node.type):
        (number,) = _arguments(emitter, [total], total.stride != 0)
        total = Lanes("i16", upper_half(number).name, total.stride)
    emitter.define(node, total)


def _as_float(emitter: Emitter, part: Lanes) -> Lanes:
    vector = emitter.width > 1 and part.stride != 0
    (number,) = _arguments(emitter, [part], vector)
    return Lanes("float", as_float(number).name, None if vector else 0)


@handles("VectorTimesScalar")
def _scale(emitter: Emitter, node: Node) -> None:
    parts, factor = _parts(emitter.get(node.operands[0])), emitter.scalar(node.operands[1])
    scaled: list[Value] = [_binary(emitter, "fmul", part, factor) for part in parts]
    emitter.define(node, scaled)


def _geometric(emitter: Emitter, node: Node, name: str) -> None:
    """length, normalize and the like take all components at once."""
    parts = [part for each in node.operands for part in _parts(emitter.get(each))]
    vector = emitter.width > 1 and any(part.stride != 0 for part in parts)
    results = _call_written(emitter, name, _arguments(emitter, parts, vector), vector)
    value: list[Value] = [*results]
    emitter.define(node, value if isinstance(node.type, Vector) else value[0])


def _two_results(emitter: Emitter, node: Node, name: str) -> None:
    """Functions whose second result goes to memory: an int, or the same type as the first."""
    *values, pointer = node.operands
    operands = [emitter.get(each) for each in values]
    first, second = _each_component(emitter, node, name, node.type, operands)
    kind = node.type
    if name in ("frexp", "remquo", "lgamma_r"):
        kind = Vector(Int(32), kind.count) if isinstance(kind, Vector) else Int(32)
    store_second(emitter, pointer, kind, second)
    emitter.define(node, first)


def _select(emitter: Emitter, node: Node, name: str) -> None:
    """select(a, b, c): b where c is set: non-zero for scalars, the top bit for vectors."""
    del name
    no, yes, test = (emitter.get(each) for each in node.operands)
    is_vector = isinstance(node.type, Vector)

    def condition(part: Lanes) -> Lanes:
        vector = emitter.width > 1 and part.stride != 0
        (value,) = _arguments(emitter, [part], vector)
        truth = value < 0 if is_vector else value.differs(0)
        return Lanes("i1", truth.name, None if vector else 0)

    results: list[Value] = [
        choose(emitter, condition(c), y, n)
        for c, y, n in zip(_parts(test), _parts(yes), _parts(no), strict=True)
    ]
    emitter.define(node, results if is_vector else results[0])


def _shuffle(emitter: Emitter, node: Node, name: str) -> None:
    """shuffle and shuffle2: each component of the mask picks one of all components."""
    del name
    *sources, mask = (_parts(emitter.get(each)) for each in node.operands)
    pool = [part for source in sources for part in source]
    results: list[Value] = []
    for index in _parts(list(mask)):
        if index.name.lstrip("-").isdigit() and index.stride == 0:
            results.append(pool[int(index.name) % len(pool)])
        else:
            results.append(_pick(emitter, pool, index))
    emitter.define(node, results)


def _pick(emitter: Emitter, pool: list[Lanes], index: Lanes) -> Value:
    """Halves the choice by each bit of the index."""
    vector = emitter.width > 1 and index.stride != 0
    (number,) = _arguments(emitter, [index], vector)
    rest: list[Value] = [*pool]
    bit = 1
    while len(rest) > 1:
        test = (number & bit).differs(0)
        condition = Lanes("i1", test.name, None if vector else 0)
        rest = [
            choose(emitter, condition, odd, even)
            for even, odd in zip(rest[::2], rest[1::2], strict=True)
        ]
        bit *= 2
    return rest[0]


def _nan(emitter: Emitter, node: Node, name: str) -> None:
    """nan(code): a quiet NaN with the code in its low bits."""
    del name
    quiet = {16: 0x7E00, 32: 0x7FC00000, 64: 0x7FF8000000000000}

    def one(type_: Type, parts: list[Lanes]) -> Lanes:
        assert isinstance(type_, Float)
        vector = emitter.width > 1 and parts[0].stride != 0
        (code,) = _arguments(emitter, parts, vector)
        result = (code | quiet[type_.width]).as_float()
        return Lanes(scalar_type(type_), result.name, None if vector else 0)

    value = emitter.map_components(node.type, [emitter.get(node.operands[0])], one)
    assert value is not None
    emitter.define(node, value)


for _name in ["length", "distance", "normalize"]:
    SPECIAL[_name] = SPECIAL[f"fast_{_name}"] = _geometric
SPECIAL["cross"] = _geometric
for _name in [
    "fract",
    "modf",
    "sincos",
    "frexp",
    "remquo",
    "lgamma_r",
]:
    SPECIAL[_name] = _two_results
SPECIAL["shuffle"] = SPECIAL["shuffle2"] = _shuffle
SPECIAL |= {"select": _select, "nan": _nan, "prefetch": prefetch}
for _name in ["vloadn", "vload_half", "vload_halfn", "vloada_halfn"]:
    SPECIAL[_name] = vload
for _name in ["vstoren", "vstore_half", "vstore_halfn", "vstorea_halfn"]:
    SPECIAL[_name] = SPECIAL[f"{_name}_r"] = vstore
