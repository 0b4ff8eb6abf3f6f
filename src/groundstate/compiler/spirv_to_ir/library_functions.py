"""Functions that compilers call by name, and that no module defines: the device knows them.

They stay behind where a compiler has no instruction of SPIR-V for something: intrinsics of LLVM
(`llvm.usub.sat.i32`), casts to an address space, conversions of SYCL's bfloat16, traps and failed
assertions, and functions of OpenCL C that are called as in C++ (`_Z3logd`, by numba-dpex). A call
to one becomes a single node; those that say how to use the caches of Intel's GPUs become an access.
"""

from __future__ import annotations

import re
from functools import cache

from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.opencl import mangling
from groundstate.compiler.spirv.instructions import opencl_rows
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Float, FunctionType, Int, Pointer, Type, Vector

STORAGE_CASTS = {
    "__to_local": StorageClass.Workgroup,
    "__to_global": StorageClass.CrossWorkgroup,
    "__to_private": StorageClass.Function,
}
"""With the storage class that a pointer is cast to."""

BEHIND_POINTERS: dict[str, tuple[str, Type]] = {
    "__devicelib_ConvertBF16ToFINTEL": ("ConvertBF16ToFINTEL", Int(16, False)),
    "__devicelib_ConvertFToBF16INTEL": ("ConvertFToBF16INTEL", Float(32)),
}
"""Functions that take the address of their operand, with their instruction and its operand."""

DOT_PRODUCTS = {
    "__groundstate_dot_s16": "ShortDotAdd",
    "__groundstate_dot_bf16": "BFloatDotAdd",
}
"""Functions of our own for kernels of ours: sums of products of pairs, which no module can say.
That of bfloats rounds as the machine does, which is not what SPIR-V asks of an addition."""

TILES = "__groundstate_tiles_"
TILE_KINDS = ("u8s8", "s8s8", "s8u8", "bf16")
"""The functions for products of tiles begin like this, and end with what numbers they multiply."""

UNWRITTEN = "__groundstate_unwritten."
KNOWN = "__groundstate_known."
"""Functions of our own in checked mode: what a variable holds that was not written, and what counts
as written although it may not be (opencl/unwritten.py). A number or a type follows."""

INDEX = "__groundstate_index."
"""The same: a look at an index, before an access of an array (opencl/array_indices.py). The kind of
index, the access, its bytes and the number of elements follow, with points between."""

ACCESSES = {"read": "read", "write": "write", "atomic": "atomic access"}

TRAPS = frozenset(
    (
        *("llvm.trap", "llvm.ubsantrap", "llvm.debugtrap", "abort"),
        *("__assert_fail", "__devicelib_assert_fail"),
    )
)
"""Functions that end a kernel because something is wrong."""

ELEMENTWISE = frozenset(
    f"llvm.{name}"
    for name in (
        *("uadd.sat", "sadd.sat", "usub.sat", "ssub.sat", "ushl.sat", "sshl.sat"),
        *("umin", "umax", "smin", "smax", "fshl", "fshr", "ctpop", "bswap", "bitreverse"),
        *("fabs", "copysign", "sqrt", "fma", "fmuladd", "canonicalize"),
        *("floor", "ceil", "trunc", "rint", "nearbyint", "round", "roundeven"),
        *("minnum", "maxnum", "minimum", "maximum"),
    )
)
"""Intrinsics that do the same with each lane of vectors, and mean the same to every LLVM."""

FLAGGED = frozenset(("llvm.abs", "llvm.ctlz", "llvm.cttz"))
"""Intrinsics whose last operand allows them to be undefined, which they need not be."""

CLASSIFY = "llvm.is.fpclass"
"""Its last operand is the set of classes that are asked for."""

POINTERS_OR_INTEGERS = frozenset(
    ("fract", "frexp", "ilogb", "lgamma_r", "modf", "nan", "remquo", "sincos")
)
"""Mathematical functions of OpenCL whose results or operands are more than floating-point."""

POWERS = frozenset(("ldexp", "pown", "rootn"))
"""Those whose second operand is an integer."""

LAST_OF_MATH = 103
"""The highest number of an instruction for floating-point numbers that works by components."""

RENAMED = {"clamp": "fclamp", "max": "fmax_common", "min": "fmin_common"}
"""Functions of OpenCL C whose instructions have another name for floating-point numbers."""

OVERLOADED = re.compile(r"(llvm\.[a-z.]+)\.(?:v\d+)?(?:i|f|bf)\d+")


CACHED_ACCESS = re.compile(
    r"__builtin_IB_lsc_(?P<access>load|store|prefetch)_(?:global|local)_"
    r"(?:(?P<narrow>uchar|ushort)_(?:to|from)_uint|(?P<kind>uint|ulong)(?P<count>[2348]?))"
)
"""Accesses at an address and a number of elements further, with a hint for caches."""

WIDTHS = {"uchar": 8, "ushort": 16, "uint": 32, "ulong": 64}


@light_dataclass()
class Access:
    """What a function of `CACHED_ACCESS` does."""

    kind: str
    """load, store or prefetch; what is prefetched is only a hint."""
    pointer: Pointer
    """To what lies in memory; a narrow number is a `uint` outside."""
    operands: int
    """How many a call has."""


@light_dataclass()
class LibraryFunction:
    """The node that a call becomes."""

    op: str
    literals: tuple[object, ...] = ()
    behind_pointer: Type | None = None
    """The operand, if the argument points to it."""
    takes_arguments: bool = True
    access: Access | None = None


def library_function(name: str, kind: FunctionType | None) -> LibraryFunction | None:
    """What a function does that the device knows by its name, and its type where names repeat."""
    if kind is None:
        return _by_name(name)
    return _by_name(name) or _cached_access(name, kind) or _mathematical(name, kind)


@cache
def _by_name(name: str) -> LibraryFunction | None:
    if name in STORAGE_CASTS:
        return LibraryFunction("GenericCastToPtrExplicit", (STORAGE_CASTS[name],))
    if name in DOT_PRODUCTS:
        return LibraryFunction(DOT_PRODUCTS[name])
    if name.startswith(TILES) and name.removeprefix(TILES) in TILE_KINDS:
        return LibraryFunction("TileProduct", (name.removeprefix(TILES),))
    if name.startswith(UNWRITTEN):
        return LibraryFunction("Unwritten", takes_arguments=False)
    if name.startswith(KNOWN):
        return LibraryFunction("FreezeKHR")
    if name.startswith(INDEX):
        _, access, size, length = name.removeprefix(INDEX).split(".")
        return LibraryFunction("CheckIndex", (ACCESSES[access], int(size), int(length)))
    if name in TRAPS:
        return LibraryFunction("Trap", takes_arguments=False)
    if name in BEHIND_POINTERS:
        op, operand = BEHIND_POINTERS[name]
        return LibraryFunction(op, behind_pointer=operand)
    found = OVERLOADED.fullmatch(name)
    if found is not None and (found[1] in ELEMENTWISE or found[1] in FLAGGED):
        return LibraryFunction(found[1])
    return LibraryFunction(CLASSIFY) if found is not None and found[1] == CLASSIFY else None


def _cached_access(name: str, kind: FunctionType) -> LibraryFunction | None:
    """An access with a hint for caches, if the types are right."""
    found = CACHED_ACCESS.fullmatch(name)
    if found is None or not kind.parameters or not isinstance(kind.parameters[0], Pointer):
        return None
    storage = kind.parameters[0].storage
    element: Type = Int(WIDTHS[found["narrow"] or found["kind"]], False)
    if found["count"]:
        element = Vector(element, int(found["count"]))
    outside = Int(32, False) if found["narrow"] else element
    access = found["access"]
    fits = (
        len(kind.parameters) == (4 if access == "store" else 3)
        and isinstance(kind.parameters[1], Int)
        and (access != "load" or kind.result == outside)
        and (access != "store" or kind.parameters[2] == outside)
    )
    op = {"load": "Load", "store": "Store", "prefetch": ""}[access]
    if not fits:
        return None
    made = Access(access, Pointer(storage, element), len(kind.parameters))
    return LibraryFunction(op, access=made)


def _mathematical(name: str, kind: FunctionType) -> LibraryFunction | None:
    """The instruction for a function of OpenCL C whose name is mangled, if the types are right."""
    parts = mangling.split(name)
    plain = RENAMED.get(parts[0], parts[0]) if parts is not None else ""
    number = _math_instructions().get(plain)
    if number is None or len(kind.parameters) != opencl_rows()[number].fewest:
        return None
    expected = [kind.result] * len(kind.parameters)
    if plain in POWERS:
        expected[1] = _integers_like(kind.result)
    fits = isinstance(_element(kind.result), Float) and list(kind.parameters) == expected
    return LibraryFunction("ExtInst", (0, number)) if fits else None


@cache
def _math_instructions() -> dict[str, int]:
    """The instructions of OpenCL.std that work by components of floating-point numbers."""
    return {
        row.name: number
        for number, row in opencl_rows().items()
        if number <= LAST_OF_MATH and row.name not in POINTERS_OR_INTEGERS
    }


def _element(type_: Type) -> Type:
    return type_.element if isinstance(type_, Vector) else type_


def _integers_like(type_: Type) -> Type:
    """The type of as many 32-bit integers."""
    one = Int(32, False)
    return Vector(one, type_.count) if isinstance(type_, Vector) else one
