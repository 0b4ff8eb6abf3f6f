"""Where the shadow of memory lies, for each pointer of a kernel.

Allocations and local memory have their shadow at a fixed distance (native/check/uninitialised.c). A
private variable has a second variable beside it, in which a bit is set once that of the variable is
written, and addresses in it have parallel ones. Variables whose addresses go elsewhere have none:
they are taken for initialised, and so are program-scope variables and arguments by value.
"""

from __future__ import annotations

from groundstate.compiler.instrument.provenance import Provenance, argument_memory
from groundstate.compiler.instrument.shadow_types import ShadowTypes
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.ops import CHAINS, SAME_ADDRESS
from groundstate.compiler.spirv.constants import null
from groundstate.compiler.spirv.module import Variable
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Pointer, Type, Void

LOCAL, ARGUMENT, UNKNOWN = "local", "argument", "unknown"
PRIVATE, NONE = "private", "none"
AT_A_DISTANCE = (LOCAL, ARGUMENT, UNKNOWN)
HARMLESS = frozenset(("PtrEqual", "PtrNotEqual", "PtrDiff", "Guard", "TellAccess", "TellAccessIf"))
"""What may be done with the address of a variable besides accesses of it."""
MOST_VARIABLE_BYTES = 1 << 16
VOID = Void()


class ShadowMemory:
    """Which shadow each pointer leads to."""

    def __init__(
        self, kernel: Kernel, types: ShadowTypes, shared: ShadowMemory | None = None
    ) -> None:
        """Of a kernel; with the second variables of another version of it."""
        self.kernel, self.types, self.shared = kernel, types, shared
        self.provenance = Provenance(kernel)
        self.private: set[Node] = set()
        """Variables with a second one beside them."""
        if shared is not None:
            self.private = shared.private
        else:
            self.private.update(node for node in kernel.nodes() if self._may_have_shadow(node))
            self._drop_escaping()
        self.variables: dict[Node, Node] = {}
        self.pointers: dict[Node, Node] = {}
        """Of addresses in these: the address in the second one."""
        self.new_phis: dict[Block, list[Node]] = {}
        self._spaces: dict[Node, str] = {}

    def _may_have_shadow(self, node: Node) -> bool:
        if node.op != "Variable" or not isinstance(node.type, Pointer) or node.operands:
            return False
        pointee = node.type.pointee
        if pointee is None or not 0 < pointee.size <= MOST_VARIABLE_BYTES:
            return False
        return self.types.of_memory(pointee) is not None

    def _drop_escaping(self) -> None:
        """Drops variables whose addresses are stored, converted, or mixed with others."""
        roots = self.provenance.roots
        for node in self.kernel.nodes():
            for place, operand in enumerate(node.operands):
                if not isinstance(operand.type, Pointer):
                    continue
                mine = roots(operand) & self.private
                if mine and not self._is_allowed(node, place):
                    self.private -= mine
        changed = True
        while changed:
            changed = False
            for node in self.kernel.nodes():
                found = roots(node) if isinstance(node.type, Pointer) else frozenset()
                if found & self.private and not found <= self.private:
                    self.private -= found
                    changed = True

    def _is_allowed(self, user: Node, place: int) -> bool:
        if user.op in ("Load", "Store"):
            return place == 0
        if user.op in CHAINS:
            return place == 0
        if user.op in SAME_ADDRESS or user.op == "Phi":
            return isinstance(user.type, Pointer)
        if user.op == "Select":
            return place > 0
        return user.op in HARMLESS

    # --- Spaces ---------------------------------------------------------------------------------

    def space(self, pointer: Node) -> str:
        """Where the shadow of what a pointer leads to lies."""
        known = self._spaces.get(pointer)
        if known is None:
            known = self._spaces[pointer] = self._find_space(pointer)
        return known

    def _find_space(self, pointer: Node) -> str:
        spaces = {self._space_of_root(each) for each in self.provenance.roots(pointer)}
        if len(spaces) == 1:
            return spaces.pop()
        return UNKNOWN

    def _space_of_root(self, root: Node) -> str:
        storage = root.type.storage if isinstance(root.type, Pointer) else -1
        if root.op == "Variable":
            return PRIVATE if root in self.private else NONE
        if root.op == "Argument":
            return {"global": ARGUMENT, "local": LOCAL}.get(argument_memory(root), NONE)
        if root.op == "Global":
            variable = root.literals[0]
            is_local = isinstance(variable, Variable) and variable.storage == StorageClass.Workgroup
            return LOCAL if is_local else NONE
        if storage == StorageClass.Workgroup:
            return LOCAL
        is_own = storage in (StorageClass.Function, StorageClass.Private, StorageClass.Input)
        return NONE if is_own or root.op == "VariableLengthArrayINTEL" else UNKNOWN

    # --- Addresses in the second variable -------------------------------------------------------

    def make_variables(self) -> list[Node]:
        """The second variables, for the start of the kernel."""
        made: list[Node] = []
        if self.shared is not None:
            self.variables = self.shared.variables
            self.pointers.update(self.variables)
            return made
        for node in sorted(self.private, key=lambda each: each.index):
            assert isinstance(node.type, Pointer)
            assert node.type.pointee is not None
            beside = node.derive("Variable", self._pointer_type(node.type), [], node.literals)
            self.variables[node] = self.pointers[node] = beside
            made += [beside, node.derive("LifetimeBegins", VOID, [beside])]
        return made

    def _pointer_type(self, type_: Type) -> Pointer:
        assert isinstance(type_, Pointer)
        pointee = type_.pointee
        return Pointer(type_.storage, None if pointee is None else self.types.of_memory(pointee))

    def follow(self, node: Node) -> Node | None:
        """The parallel of a node that computes an address in a private variable, for the place
        behind it. Phis get their operands by `finish`."""
        if not isinstance(node.type, Pointer) or self.space(node) != PRIVATE:
            return None
        if node.op == "Variable":
            return None
        type_ = self._pointer_type(node.type)
        made = node.derive(node.op, type_, [], node.literals)
        self.pointers[node] = made
        if node.op == "Phi":
            assert node.block is not None
            self.new_phis.setdefault(node.block, []).append(made)
            return None
        if node.op == "Select":
            made.operands = [node.operands[0], *map(self.address, node.operands[1:3])]
        else:
            made.operands = [self.address(node.operands[0]), *node.operands[1:]]
        return made

    def address(self, pointer: Node) -> Node:
        """The address in the second variable for one in the first."""
        found = self.pointers.get(pointer)
        if found is not None:
            return found
        type_ = self._pointer_type(pointer.type)  # of nothing: null, or undefined
        if pointer.op == "Undef":
            return Node("Undef", type_)
        return Node("Constant", type_, literals=(null(type_), 0))

    def finish(self) -> None:
        """Gives phis their operands."""
        for node, made in self.pointers.items():
            if node.op == "Phi":
                made.operands = [self.address(each) for each in node.operands]
