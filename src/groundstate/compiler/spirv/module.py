"""A SPIR-V module as the compiler sees it.

`reader.read` makes one. Function bodies are read when they are asked for, so that a module with a
thousand kernels costs no more than a walk through its words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import TypeAlias

from groundstate.compiler.light_dataclass import field, light_dataclass
from groundstate.compiler.spirv.constants import Constant
from groundstate.compiler.spirv.debug_info import EXTENDED, DebugInfo, SourceLine, is_debug_set
from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.opcodes import Op
from groundstate.compiler.spirv.types import FunctionType, Pointer, Type

DecorationOperands: TypeAlias = "tuple[int, ...] | str"
Names: TypeAlias = "tuple[dict[int, str], dict[tuple[int, int], str]]"

PLACES = (Op.Line, *EXTENDED)
"""The instructions in functions that may say where in the source something is."""


class Instruction:
    """One instruction: its operands are the words after the type and the result, as they are."""

    __slots__ = ("line", "opcode", "operands", "position", "result", "type")

    def __init__(
        self,
        opcode: int,
        type_: int,
        result: int,
        operands: tuple[int, ...],
        position: int,
        line: SourceLine | None = None,
    ) -> None:
        self.opcode = opcode
        self.type = type_
        """The id of the result's type, or 0."""
        self.result = result
        """The id of the result, or 0."""
        self.operands = operands
        self.position = position
        """Where in the module, in words."""
        self.line = line
        """Where in the source, if the module says so."""

    def __repr__(self) -> str:
        return f"Instruction({self.opcode}, {self.type}, {self.result}, {self.operands})"


@light_dataclass(frozen=False)
class Block:
    """Instructions without a branch into or out of their middle; the last one ends the block."""

    label: int
    instructions: list[Instruction] = field(default_factory=list)


@light_dataclass(frozen=False)
class Function:
    """A function. One without blocks is an import."""

    id: int
    type: int
    """The id of its OpTypeFunction."""
    control: int
    parameters: list[Instruction] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)


@light_dataclass()
class EntryPoint:
    """A kernel, by the name under which programs ask for it."""

    function: int
    name: str
    interface: tuple[int, ...] = ()
    model: int = 6  # ExecutionModel.Kernel


@light_dataclass()
class Variable:
    """A variable of the module."""

    id: int
    type: Pointer
    storage: int
    initializer: Constant | None
    builtin: int | None
    """Which built-in value it stands for."""
    data_type: Type | None
    """What is stored there."""


@light_dataclass()
class Source:
    """The language that a module was made from."""

    language: int
    version: int


@light_dataclass(frozen=False)
class Module:
    """Everything a module says, except for the bodies of functions, which are read on first use."""

    version: tuple[int, int]
    generator: int
    bound: int
    """All ids are below this."""
    addressing_model: int = 2  # AddressingModel.Physical64
    memory_model: int = 2  # MemoryModel.OpenCL
    capabilities: set[int] = field(default_factory=set)
    extensions: set[str] = field(default_factory=set)
    ext_imports: dict[int, str] = field(default_factory=dict)
    entry_points: dict[str, EntryPoint] = field(default_factory=dict)
    execution_modes: dict[int, dict[int, tuple[int, ...]]] = field(default_factory=dict)
    """By function and mode. The modes whose operands are ids of constants carry their values."""
    decorations: dict[int, dict[int, DecorationOperands]] = field(default_factory=dict)
    member_decorations: dict[tuple[int, int], dict[int, DecorationOperands]] = field(
        default_factory=dict
    )
    types: dict[int, Type] = field(default_factory=dict)
    constants: dict[int, Constant] = field(default_factory=dict)
    variables: dict[int, Variable] = field(default_factory=dict)
    imports: dict[int, str] = field(default_factory=dict)
    exports: dict[int, str] = field(default_factory=dict)
    link_once: set[int] = field(default_factory=set)
    """The exports of which one from any module may stand for all (LinkOnceODR)."""
    strings: dict[int, str] = field(default_factory=dict)
    assembly: dict[int, str] = field(default_factory=dict)
    """The text of each piece of inline assembly, by its id."""
    source: Source | None = None
    spec_constants: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """The ids of the constants that a specialization id sets."""
    function_ids: tuple[int, ...] = ()
    function_types: dict[int, int] = field(default_factory=dict)
    """The id of each function's OpTypeFunction."""
    functions_called: frozenset[int] = frozenset()
    """Functions that some function calls by their id; known if the module imports functions."""
    functions_pointed_to: tuple[int, ...] = ()
    """Functions whose address is taken in the body of a function, as older compilers do it."""
    opcodes: frozenset[int] = frozenset()
    """Every instruction that stands in some function."""
    global_ids: Collection[int] = ()
    """Every id that is defined outside of functions."""

    _functions: dict[int, Function] = field(default_factory=dict, repr=False)
    _read_function: Callable[[Module, int], Function] | None = field(default=None, repr=False)
    _specialise: Callable[[Mapping[int, bytes]], Module] | None = field(default=None, repr=False)
    _read_names: Callable[[], Names] | None = field(default=None, repr=False)
    _read_debug_info: Callable[[Module], DebugInfo] | None = field(default=None, repr=False)

    @cached_property
    def _all_names(self) -> Names:
        return self._read_names() if self._read_names is not None else ({}, {})

    @property
    def names(self) -> dict[int, str]:
        """What the module calls its ids, for people; read on first use."""
        return self._all_names[0]

    @property
    def member_names(self) -> dict[tuple[int, int], str]:
        """What the module calls the members of structures, for people."""
        return self._all_names[1]

    @cached_property
    def debug_info(self) -> DebugInfo | None:
        """What the module says of its source; None if that is nothing."""
        if self._read_debug_info is None or self.opcodes.isdisjoint(PLACES):
            return None
        if Op.Line not in self.opcodes and not any(map(is_debug_set, self.ext_imports.values())):
            return None
        return self._read_debug_info(self)

    def function(self, id: int) -> Function:
        """A function, read on first use."""
        found = self._functions.get(id)
        if found is None:
            if self._read_function is None or id not in self.function_types:
                raise InvalidModule(f"%{id} is not a function")
            found = self._functions[id] = self._read_function(self, id)
        return found

    def function_type(self, id: int) -> FunctionType | None:
        """What a function takes and returns; None if that is no function."""
        kind = self.types.get(self.function_types.get(id, 0))
        return kind if isinstance(kind, FunctionType) else None

    def function_name(self, id: int) -> str:
        """What a person calls a function: its exported, imported, kernel or debug name."""
        name = self.exports.get(id) or self.imports.get(id)
        for point in () if name else self.entry_points.values():
            if point.function == id:
                return point.name
        return name or self.names.get(id) or f"%{id}"

    def specialise(self, values: Mapping[int, bytes]) -> Module:
        """The module with other values for specialization constants, by their SpecId.

        What depends on them (constants, array lengths, group sizes) is computed again.
        """
        if self._specialise is None:
            return self
        return self._specialise(values)
