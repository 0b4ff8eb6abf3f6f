"""The declaration of a built-in function in LLVM IR, and a body for it in the making."""

from __future__ import annotations

from groundstate.compiler.light_dataclass import field, light_dataclass
from groundstate.compiler.opencl import mangling

DEVICE_SCOPE, WORK_GROUP_SCOPE, SUB_GROUP_SCOPE = 1, 2, 3
RELAXED, ACQUIRE, RELEASE, ACQUIRE_RELEASE, SEQUENTIALLY_CONSISTENT = 0, 0x2, 0x4, 0x8, 0x10

INSTRUCTION = "groundstate."
"""How the names of functions begin that stand for an instruction of SPIR-V: the instruction, its
rounding mode if it has one, and the types follow."""

PURE = "nounwind willreturn memory(none)"
READS = "nounwind willreturn memory(read)"
EFFECT = "convergent nounwind"
"""What LLVM may assume of a function that is called."""


@light_dataclass(frozen=False)
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
        """Its name in LLVM IR."""
        return mangling.join(self.plain, self.code)


@light_dataclass(frozen=False)
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

    def semantics(self, order: str, name: str = "order") -> str:
        """Adds what makes SPIR-V's memory semantics of one of OpenCL's memory orders."""
        self.add(f"%{name}_position", f"sub i32 {order}, 1")
        self.add(f"%{name}_bit", f"shl i32 1, %{name}_position")
        self.add(f"%{name}_relaxed", f"icmp ult i32 {order}, 2")
        return self.add(f"%{name}", f"select i1 %{name}_relaxed, i32 0, i32 %{name}_bit")

    def scope(self, scope: str) -> str:
        """Adds what makes SPIR-V's scope of one of OpenCL's: digit n of a number for scope n."""
        self.add("%shift", f"shl i32 {scope}, 2")
        self.add("%digits", f"lshr i32 {0x30124}, %shift")
        return self.add("%scope", "and i32 %digits, 15")
