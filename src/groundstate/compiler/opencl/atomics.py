"""Writes the bodies of the atomic functions, those of OpenCL 1 and those of OpenCL C 2.0.

The SPIR-V back end knows some of them, without the orders and scopes that they have. Here each is a
call of an instruction with both. A global atomic function of OpenCL 1 is relaxed and reaches the
whole device; one of OpenCL C 2.0 is sequentially consistent and does the same unless it says more.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.opencl import mangling
from groundstate.compiler.opencl.function_body import (
    DEVICE_SCOPE,
    RELAXED,
    SEQUENTIALLY_CONSISTENT,
    WORK_GROUP_SCOPE,
    Body,
    Declaration,
)
from groundstate.compiler.opencl.mangling import Type

_POINTER = re.compile(r"PU3AS(\d)V(?:U7_Atomic)?([ijlmfd]|Dh)")
_LOCAL = "3"

_INSTRUCTIONS = {"add": "IAdd", "sub": "ISub", "inc": "IAdd", "dec": "ISub", "and": "And"}
_INSTRUCTIONS |= {"or": "Or", "xor": "Xor", "xchg": "Exchange", "exchange": "Exchange"}


@light_dataclass(frozen=False)
class Atomic:
    """A declared atomic function, and the body that is written for it."""

    declaration: Declaration
    space: str
    """The number of the pointer's address space."""
    letter: str
    """The type of the memory, mangled."""
    body: Body

    @property
    def kind(self) -> Type:
        kind = mangling.argument(self.letter)
        assert kind is not None
        return kind

    def order(self, place: int) -> str:
        """The semantics for the memory order that is the argument at `place`, if there is one."""
        if place >= len(self.declaration.parameters):
            return str(SEQUENTIALLY_CONSISTENT)
        return self.body.semantics(f"%{place}", f"order{place}")

    def scope(self, place: int) -> str:
        """The scope that is the argument at `place`, if there is one."""
        if place >= len(self.declaration.parameters):
            return str(DEVICE_SCOPE)
        return self.body.scope(f"%{place}")

    def call(
        self,
        instruction: str,
        scope: str,
        semantics: list[str],
        values: list[str],
        result: str | None = None,
        target: str = "%r",
    ) -> None:
        """Adds the instruction: pointer, scope, semantics, then values of the memory's type."""
        operands = [(self.declaration.parameters[0], "%0"), ("i32", scope)]
        operands += [("i32", value) for value in semantics]
        operands += [(self.kind.llvm, value) for value in values]
        code = f"PU3AS{self.space}{self.letter}i{'i' * len(semantics)}{self.letter * len(values)}"
        name = mangling.join(f"__spirv_Atomic{instruction}", code)
        self.body.call(target, result or self.kind.llvm, name, operands)


Writer = Callable[[Declaration], Body | None]


def _writer(write: Callable[[Atomic], bool | None]) -> Writer:
    """Makes the bodies of functions whose pointer is understood; None for others, and for those of
    which `write` returns False."""

    def body(declaration: Declaration) -> Body | None:
        match = _POINTER.match(declaration.code)
        if match is None:
            return None
        atomic = Atomic(declaration, match[1], match[2], Body())
        return None if write(atomic) is False else atomic.body

    return body


def _one_instruction(name: str, values: list[str], result: str | None = None) -> Writer:
    """For functions that are one instruction: their arguments are the pointer, `values`, the memory
    order and the scope."""
    place = 1 + len(values)

    def write(atomic: Atomic) -> None:
        semantics, scope = atomic.order(place), atomic.scope(place + 1)
        atomic.call(name, scope, [semantics], values, result)

    return _writer(write)


load = _one_instruction("Load", [])
store = _one_instruction("Store", ["%1"], "void")
flag_set = _one_instruction("FlagTestAndSet", [], "i1")
flag_clear = _one_instruction("FlagClear", [], "void")


def _instruction(operation: str, kind: Type) -> str:
    """The name of the instruction for an operation on a type, without `Atomic`."""
    if operation in ("min", "max"):
        letter = "F" if kind.is_float else "S" if kind.is_signed else "U"
        return f"{letter}{operation.capitalize()}{'EXT' if kind.is_float else ''}"
    if kind.is_float and operation in ("add", "sub"):
        return "FAddEXT"
    return _INSTRUCTIONS[operation]


@_writer
def first(atomic: Atomic) -> None:
    """The functions of OpenCL 1."""
    operation = atomic.declaration.plain.partition("_")[2]
    scope = str(WORK_GROUP_SCOPE if atomic.space == _LOCAL else DEVICE_SCOPE)
    if operation == "cmpxchg":
        atomic.call("CompareExchange", scope, [str(RELAXED)] * 2, ["%2", "%1"])
    else:
        value = "1" if operation in ("inc", "dec") else "%1"
        atomic.call(_instruction(operation, atomic.kind), scope, [str(RELAXED)], [value])


@_writer
def fetch(atomic: Atomic) -> bool:
    """`atomic_fetch_add`, `atomic_exchange` and their like."""
    operation = (
        atomic.declaration.plain.removeprefix("atomic_").removeprefix("fetch_").split("_")[0]
    )
    value = "%1"
    if operation == "sub" and atomic.kind.is_float:
        value = atomic.body.add("%negative", f"fneg {atomic.kind.llvm} %1")
    if atomic.declaration.parameters[1] != atomic.kind.llvm:
        # A difference is added to an atomic pointer-sized integer: they differ in sign only.
        return False
    semantics, scope = atomic.order(2), atomic.scope(3)
    atomic.call(_instruction(operation, atomic.kind), scope, [semantics], [value])
    return True


@_writer
def init(atomic: Atomic) -> None:
    """`atomic_init`, which is not atomic."""
    atomic.body.lines.append(f"store {atomic.kind.llvm} %1, {atomic.declaration.parameters[0]} %0")


@_writer
def compare_exchange(atomic: Atomic) -> None:
    """Compares integers, or the bits of floats; the weak form is the strong one.

    Written out, so that the variable with the expected value need not stay in memory.
    """
    atomic.letter = {"f": "i", "d": "l"}.get(atomic.letter, atomic.letter)
    kind = atomic.kind.llvm
    body = atomic.body
    expected, value = atomic.declaration.parameters[1:3]
    semantics, scope = [atomic.order(3), atomic.order(4)], atomic.scope(5)
    body.add("%wanted", f"load {kind}, {expected} %1")
    body.add("%new", f"bitcast {value} %2 to {kind}")
    atomic.call("CompareExchange", scope, semantics, ["%new", "%wanted"], target="%old")
    body.lines.append(f"store {kind} %old, {expected} %1")
    body.add("%r", f"icmp eq {kind} %old, %wanted")
