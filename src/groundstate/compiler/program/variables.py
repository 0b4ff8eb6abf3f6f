"""The memory of a program: where its variables lie, and what those of program scope start with."""

from __future__ import annotations

from collections.abc import Iterator

from groundstate.compiler.errors import BuildError, UnresolvedNameError
from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.limits import check_program
from groundstate.compiler.program.initial_values import Image
from groundstate.compiler.program.symbols import Symbols
from groundstate.compiler.spirv.constants import Address, Constant
from groundstate.compiler.spirv.module import Module, Variable
from groundstate.compiler.spirv.opcodes import Decoration, StorageClass
from groundstate.compiler.spirv.types import Handle, Sampler

LOCAL_ALIGNMENT = 128
MAX_ALIGNMENT = 4096

Key = tuple[int, int]
"""A variable: the number of its module, and its id there."""


class Globals:
    """The program-scope variables of all modules, in one block of memory."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self.places: dict[Key, int] = {}
        self.names: dict[str, tuple[int, int]] = {}
        """Where a named variable lies, and its size."""
        image = Image()
        for home, module in enumerate(symbols.modules):
            for variable in module.variables.values():
                if _is_program_scope(variable, module) and self._owner(home, variable) == home:
                    self._place(image, home, module, variable)
        self.relocations = image.settle(self._find)
        """Where the addresses of variables stand, as offsets from the start of the block."""
        self._unsettled = {place for place, *_ in image.addresses}.difference(self.relocations)
        self.image = bytes(image.data)

    def _owner(self, home: int, variable: Variable) -> int:
        return self.symbols.variable(home, variable.id)[0]

    def _place(self, image: Image, home: int, module: Module, variable: Variable) -> None:
        kind = variable.data_type
        if kind is None:
            return
        check_program(len(image.data) + kind.size)
        initial = variable.initializer
        if initial is not None:
            initial = self.symbols.settled(home, initial)
        start = image.add(initial, kind, home, _alignment(module, variable))
        self.places[home, variable.id] = start
        name = module.exports.get(variable.id) or module.names.get(variable.id, "")
        self.names[name] = (start, kind.size)

    def check_use(self, home: int, variable: Variable) -> None:
        """Raises BuildError if a kernel uses a variable that starts with a work-group's address.

        Compilers list such addresses in a variable that nobody reads, so that others keep them."""
        start, kind = self.places[home, variable.id], variable.data_type
        if kind is not None and any(start <= each < start + kind.size for each in self._unsettled):
            name = self.symbols.modules[home].names.get(variable.id) or f"%{variable.id}"
            raise BuildError(
                f"the variable '{name}' starts with the address of a variable in local memory, of "
                "which each work-group has its own; take the address in the kernel"
            )

    def _find(self, home: int, address: Address) -> int | None:
        """The offset of what an address leads to; 0 for what another module has yet to define,
        None for what each work-group has its own of."""
        module, identifier = self.symbols.modules[home], address.base
        if identifier not in module.variables:
            raise BuildError(f"a variable starts with the address of %{identifier}, which is none")
        try:
            owner, variable = self.symbols.variable(home, identifier)
        except UnresolvedNameError:
            return 0
        place = self.places.get((owner, variable.id))
        if place is None and variable.storage == StorageClass.Workgroup:
            return None
        if place is None:
            name = module.names.get(identifier) or f"%{identifier}"
            raise BuildError(f"a variable starts with the address of '{name}', which has none yet")
        return place + address.offset


def _alignment(module: Module, variable: Variable) -> int:
    """What a module asks for; no more than a page, on which the block of variables starts."""
    asked = module.decorations.get(variable.id, {}).get(Decoration.Alignment)
    align = int(asked[0]) if isinstance(asked, tuple) and asked else 1
    return align if align in (1 << power for power in range(MAX_ALIGNMENT.bit_length())) else 1


def _is_program_scope(variable: Variable, module: Module) -> bool:
    spaces = (StorageClass.CrossWorkgroup, StorageClass.UniformConstant, StorageClass.Private)
    return (
        variable.builtin is None
        and variable.storage in spaces
        and variable.id not in module.imports
        and (isinstance(variable.data_type, Sampler) or not isinstance(variable.data_type, Handle))
    )


Placement = dict[Key, tuple[str, int]]
"""Of variables: "local" or "global", and the offset in that memory."""


def place_variables(kernel: Kernel, variables: Globals) -> tuple[Placement, int]:
    """Where the variables that a kernel uses lie, and the size of the local ones."""
    placed: Placement = {}
    offset = 0
    for (home, identifier), (owner, variable) in _used_variables(kernel, variables.symbols):
        key, kind = (owner, variable.id), variable.data_type
        if key in variables.places:
            variables.check_use(owner, variable)
            placed[key] = ("global", variables.places[key])
        elif variable.storage == StorageClass.Workgroup and kind is not None and key not in placed:
            offset = -(-offset // LOCAL_ALIGNMENT) * LOCAL_ALIGNMENT
            placed[key] = ("local", offset)
            offset += kind.size
        if key in placed:
            placed[home, identifier] = placed[key]
    return placed, -(-offset // LOCAL_ALIGNMENT) * LOCAL_ALIGNMENT


def _used_variables(kernel: Kernel, symbols: Symbols) -> Iterator[tuple[Key, tuple[int, Variable]]]:
    """The variables that a kernel names, or whose addresses are in its constants, each with the
    variable that it stands for."""
    seen: set[Node] = set()
    for node in kernel.nodes():
        for operand in node.operands:
            if operand in seen or operand.op not in ("Global", "Constant"):
                continue
            seen.add(operand)
            for home, identifier in _keys(operand):
                variable = operand.literals[0]
                if isinstance(variable, Variable):
                    yield (home, identifier), (home, variable)
                else:
                    yield (home, identifier), symbols.variable(home, identifier)


def variables_of(node: Node) -> Iterator[Key]:
    """The variables whose addresses a node takes."""
    for operand in node.operands:
        if operand.op in ("Global", "Constant"):
            yield from _keys(operand)


def _keys(leaf: Node) -> Iterator[Key]:
    value, home = leaf.literals[0], int(str((*leaf.literals, 0)[1]))
    if isinstance(value, Variable):
        yield home, value.id
    elif isinstance(value, Constant) and value.has_address:
        for identifier in _variables_in(value):
            yield home, identifier


def _variables_in(constant: Constant) -> Iterator[int]:
    if isinstance(constant.value, Address):
        yield constant.value.base
    elif isinstance(constant.value, tuple):
        for part in constant.value:
            if part.has_address:
                yield from _variables_in(part)
