"""What the names and addresses of a program stand for, across all of its modules.

What one module imports, another may export. And since every call is inlined, a function has no
place in memory: what a pointer to it holds is its number, by which a call finds it again. The
number depends on nothing but the module that defines the function, so the host may ask for it
before that module is linked with others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from groundstate.compiler.errors import BuildError, UnresolvedNameError
from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.spirv.constants import Address, Constant
from groundstate.compiler.spirv.module import Function, Module, Variable
from groundstate.compiler.spirv.opcodes import Decoration
from groundstate.compiler.spirv.types import FunctionType, Type, compatible

if TYPE_CHECKING:  # imported when a program calls through pointers, or the host asks for one
    from groundstate.compiler.program.function_pointers import Obstacles

ALIGNMENT = 16
"""Of the numbers of functions, as that of code."""
NO_ADDRESS = 0x0F << 56
"""Set in the numbers of functions: at no such address can there be memory."""


@light_dataclass()
class Callee:
    """A function that a pointer may lead to."""

    home: int
    id: int
    number: int
    type: FunctionType


class Symbols:
    """The functions and variables of a program."""

    def __init__(
        self, modules: Sequence[Module], identities: Sequence[Callable[[], bytes]]
    ) -> None:
        self.modules = modules
        self._identities = identities
        """What tells the content of each module from that of any other."""

    @cached_property
    def _exports(self) -> dict[str, list[tuple[int, int]]]:
        """By name: the modules and ids that export it."""
        found: dict[str, list[tuple[int, int]]] = {}
        for home, module in enumerate(self.modules):
            for identifier, name in module.exports.items():
                found.setdefault(name, []).append((home, identifier))
        return found

    def variable(self, home: int, identifier: int) -> tuple[int, Variable]:
        """A variable, in the module that defines it."""
        variable = self.modules[home].variables.get(identifier)
        if variable is None:
            raise BuildError(f"%{identifier} is used as a variable, and is none")
        name = self._shared_name(home, identifier)
        if name is None or variable.builtin is not None:
            return home, variable
        for owner, other in self._exports.get(name, ()):
            if other in self.modules[owner].variables:
                return owner, self.modules[owner].variables[other]
        raise UnresolvedNameError(name, f"the variable {name} is declared but not defined")

    def _shared_name(self, home: int, identifier: int) -> str | None:
        """The name under which other modules may define the same, or have it too."""
        module = self.modules[home]
        if identifier in module.link_once:
            return module.exports.get(identifier)
        return module.imports.get(identifier)

    def function(self, home: int, identifier: int) -> tuple[int, Function]:
        """A function, in the module that defines it; the declaration if none does."""
        function = self.modules[home].function(identifier)
        name = self._shared_name(home, identifier)
        if name is None or (function.blocks and identifier not in self.modules[home].link_once):
            return home, function
        for owner, other in self._exports.get(name, ()):
            if other in self.modules[owner].function_types:
                found = self.modules[owner].function(other)
                if found.blocks:
                    return owner, found
        return home, function

    # --- Pointers to functions ------------------------------------------------------------------

    @cached_property
    def _pointed_to(self) -> dict[tuple[int, int], None]:
        """The functions whose address is taken in the program, in the order of their modules."""
        found: dict[tuple[int, int], None] = {}
        for home, module in enumerate(self.modules):
            for identifier in sorted(set(_address_taken(module))):
                owner, function = self.function(home, identifier)
                found[owner, function.id] = None
        return found

    @cached_property
    def callees(self) -> tuple[Callee, ...]:
        """Every function that a pointer may lead to: its address is taken, or it is exported."""
        functions = [*self._pointed_to, *self._exported]
        callees: dict[int, Callee] = {}
        for home, identifier in functions:
            module = self.modules[home]
            kind = module.function_type(identifier)
            if kind is not None and module.function(identifier).blocks:
                number = self._number_of(home, identifier)
                callees.setdefault(number, Callee(home, identifier, number, kind))
        return tuple(callees.values())

    @cached_property
    def _obstacles(self) -> Obstacles:
        from groundstate.compiler.program.function_pointers import Obstacles

        return Obstacles(self, self._pointed_to)

    @property
    def _exported(self) -> list[tuple[int, int]]:
        """The exported functions that can be called through a pointer."""
        return [each for each in self._obstacles.exported if not self._obstacles.of(each)]

    def pointer(self, name: str) -> int | None:
        """What a pointer to the function of a name holds, for the host; None if there is none.

        Raises BuildError, in words, if the function cannot be called through a pointer.
        """
        found = self._named(name)
        if found is None:
            return None
        owner, function = self.function(*found)
        place = (owner, function.id)
        reason = self._obstacles.of(place)
        if reason:
            raise BuildError(f"function {name!r} cannot be called through a pointer: {reason}")
        return self._number_of(*place)

    def _named(self, name: str) -> tuple[int, int] | None:
        """A function by the name it is exported under, or by its own if its address is taken."""
        for home, identifier in self._exports.get(name, ()):
            if identifier in self.modules[home].function_types:
                return home, identifier
        named = (each for each in self._pointed_to if self._is_called(each, name))
        return next(named, None)

    def _is_called(self, place: tuple[int, int], name: str) -> bool:
        return self.modules[place[0]].function_name(place[1]) == name

    def callees_of(self, result: Type, arguments: Sequence[Type | None]) -> list[Callee]:
        """The functions that a call through a pointer may reach: those that fit its types."""
        return [each for each in self.callees if _fits(each.type, result, arguments)]

    def number(self, home: int, identifier: int) -> int:
        """What a pointer to a function holds."""
        owner, function = self.function(home, identifier)
        return self._number_of(owner, function.id)

    def _number_of(self, home: int, identifier: int) -> int:
        """The number of a function; those that may stand for each other have the same."""
        module = self.modules[home]
        if identifier in module.link_once:
            text = b"by name " + module.exports[identifier].encode()
        else:
            text = self._identities[home]() + identifier.to_bytes(4, "little")
        digest = hashlib.sha256(text).digest()
        return NO_ADDRESS | int.from_bytes(digest[:7], "little") // ALIGNMENT * ALIGNMENT

    def settled(self, home: int, constant: Constant) -> Constant:
        """A constant with the numbers of functions in the place of their addresses."""
        value = constant.value
        if isinstance(value, Address) and value.base in self.modules[home].function_types:
            return Constant(constant.type, self.number(home, value.base) + value.offset)
        if isinstance(value, tuple) and constant.has_address:
            return Constant(constant.type, tuple(self.settled(home, part) for part in value))
        return constant


def needed_imports(module: Module) -> list[str]:
    """What a module uses and does not define, and the device does not know either."""
    if not module.imports:
        return []
    from groundstate.compiler.spirv_to_ir.library_functions import library_function

    used = module.functions_called.union(_address_taken(module))
    return [
        name
        for identifier, name in module.imports.items()
        if not _is_builtin(module, identifier)
        and (identifier in used or identifier not in module.function_types)
        and library_function(name, module.function_type(identifier)) is None
    ]


def _is_builtin(module: Module, identifier: int) -> bool:
    return identifier in module.variables and module.variables[identifier].builtin is not None


def _fits(kind: FunctionType, result: Type, arguments: Sequence[Type | None]) -> bool:
    if len(kind.parameters) != len(arguments) or not compatible(kind.result, result):
        return False
    return all(
        given is None or compatible(parameter, given)
        for parameter, given in zip(kind.parameters, arguments, strict=True)
    )


def _address_taken(module: Module) -> Iterator[int]:
    """The functions of a module to which pointers may exist."""
    yield from module.functions_pointed_to
    for identifier in module.function_types:
        if Decoration.ReferencedIndirectlyINTEL in module.decorations.get(identifier, {}):
            yield identifier
    seen: set[int] = set()
    for constant in module.constants.values():
        yield from _functions_in(module, constant, seen)
    for variable in module.variables.values():
        if variable.initializer is not None:
            yield from _functions_in(module, variable.initializer, seen)


def _functions_in(module: Module, constant: Constant, seen: set[int]) -> Iterator[int]:
    """The functions whose addresses a constant holds; parts that were `seen` are left out."""
    if not constant.has_address or id(constant) in seen:
        return
    seen.add(id(constant))
    if isinstance(constant.value, Address):
        if constant.value.base in module.function_types:
            yield constant.value.base
    elif isinstance(constant.value, tuple):
        for part in constant.value:
            yield from _functions_in(module, part, seen)
