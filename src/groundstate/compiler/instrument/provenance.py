"""Where pointers come from, and the bounds of the memory that they may lead to.

The root of a pointer is what it is computed from by access chains and casts: an argument, a
variable, or anything else that gives a pointer, of which nothing is known. A phi or a select of
pointers from several roots gets a parallel one of their bounds.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.ir import Block, Kernel, Node, constant_int, constant_node
from groundstate.compiler.ir.addresses import chain_steps
from groundstate.compiler.ir.ops import CHAINS, SAME_ADDRESS
from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.spirv.constants import Constant
from groundstate.compiler.spirv.module import Variable
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Bool, Int, Pointer

U64 = Int(64, False)
MOST_ROOTS = 8
"""That a pointer is followed to; one with more may come from anywhere."""

Roots = frozenset[Node]


@light_dataclass()
class Range:
    """The memory from a number up to another, which it does not include."""

    lower: Node
    upper: Node


@light_dataclass()
class Terms:
    """A distance in bytes: a constant, and indices times the bytes that they step over."""

    fixed: int
    steps: tuple[tuple[Node, int], ...] = ()


class Provenance:
    """What is known of the pointers of one kernel. New nodes wait to be put into blocks."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.at_start: list[Node] = []
        """For the start of the kernel."""
        self.behind: dict[Node, list[Node]] = {}
        """For the place behind a node."""
        self.phis: dict[Block, list[Node]] = {}
        self._roots = _find_roots(kernel)
        self._ranges: dict[Node, Range] = {}
        self._offsets: dict[Node, Node] = {}

    # --- Roots ----------------------------------------------------------------------------------

    def roots(self, pointer: Node) -> Roots:
        """All that a pointer may come from."""
        return self._roots.get(pointer, frozenset((pointer,)))

    def root(self, pointer: Node) -> Node | None:
        """What a pointer comes from, if that is one thing."""
        roots = self.roots(pointer)
        return next(iter(roots)) if len(roots) == 1 else None

    def static_offset(self, pointer: Node) -> int | None:
        """How far behind its root a pointer leads, if that is known."""
        terms = self.terms(pointer, lambda each: each in self._roots)
        return terms.fixed if terms is not None and not terms.steps else None

    def terms(self, pointer: Node, is_followed: Callable[[Node], bool]) -> Terms | None:
        """The way from the root to a pointer, if there are only access chains and casts."""
        fixed, steps = 0, []
        while is_followed(pointer):
            if pointer.op in CHAINS:
                indices = pointer.operands[1:]
                for index, (size, offset) in zip(indices, chain_steps(pointer), strict=True):
                    number = constant_int(index)
                    if size is None:
                        fixed += offset
                    elif number is not None:
                        fixed += number * size
                    else:
                        steps.append((index, size))
            elif pointer.op not in SAME_ADDRESS:
                return None
            pointer = pointer.operands[0]
        return Terms(fixed, tuple(steps))

    # --- Bounds ---------------------------------------------------------------------------------

    def range(self, pointer: Node) -> Range:
        """The memory that a pointer may lead to."""
        known = self._ranges.get(pointer)
        if known is not None:
            return known
        roots = self.roots(pointer)
        if len(roots) == 1 and pointer not in roots:
            made = self.range(next(iter(roots)))
        elif pointer not in self._roots or len(roots) > MOST_ROOTS:
            made = self._of_root(pointer)
        elif pointer.op == "Phi":
            return self._of_phi(pointer)
        elif pointer.op == "Select":
            made = self._of_select(pointer)
        else:
            made = self.range(pointer.operands[0])
        self._ranges[pointer] = made
        return made

    def _of_phi(self, phi: Node) -> Range:
        lower, upper = (phi.derive("Phi", U64, [], phi.literals) for _ in range(2))
        made = self._ranges[phi] = Range(lower, upper)
        assert phi.block is not None
        self.phis.setdefault(phi.block, []).extend((lower, upper))
        ranges = [self.range(each) for each in phi.operands]
        lower.operands = [each.lower for each in ranges]
        upper.operands = [each.upper for each in ranges]
        return made

    def _of_select(self, select: Node) -> Range:
        condition, *choices = select.operands
        ranges = [self.range(each) for each in choices]
        made = Range(
            select.derive("Select", U64, [condition, *(each.lower for each in ranges)]),
            select.derive("Select", U64, [condition, *(each.upper for each in ranges)]),
        )
        self.behind.setdefault(select, []).extend((made.lower, made.upper))
        return made

    def _of_root(self, root: Node) -> Range:
        if root.op == "Argument" and argument_memory(root) == "global":
            index = root.literals[0]
            lower, upper = (Node("ArgumentBound", U64, [], (index, end)) for end in (0, 1))
            self._place(root, [lower, upper])
            return Range(lower, upper)
        size: Node | None = None
        nodes: list[Node] = []
        if root.op == "Argument" and argument_memory(root) == "local":
            size = Node("ArgumentBound", U64, [], (root.literals[0], 1))
            nodes.append(size)
        elif root.op == "VariableLengthArrayINTEL":
            size = self._length(root, nodes)
        elif (bytes_ := known_size(root)) is not None:
            size = constant_node(U64, bytes_)
        if size is None:
            nothing = constant_node(U64, 0)
            return Range(nothing, nothing)
        lower = root.derive("ConvertPtrToU", U64, [root])
        upper = root.derive("IAdd", U64, [lower, size])
        self._place(root, [*nodes, lower, upper])
        return Range(lower, upper)

    def _length(self, array: Node, nodes: list[Node]) -> Node | None:
        """The bytes of an array of variable length."""
        element = array.literals[0] if array.literals else None
        if not hasattr(element, "size"):
            assert isinstance(array.type, Pointer)
            element = array.type.pointee
        if element is None:
            return None
        count = as_u64(array.operands[0], nodes, array)
        nodes.append(array.derive("IMul", U64, [count, constant_node(U64, element.size)]))
        return nodes[-1]

    def _place(self, root: Node, nodes: list[Node]) -> None:
        """Puts nodes where all users of a root find them."""
        for each in nodes:
            each.where = each.where or self.kernel.name
        if root.op in ("Argument", "Global", "Constant", "Undef"):
            self.at_start += nodes
        else:
            self.behind.setdefault(root, []).extend(nodes)

    # --- Distances ------------------------------------------------------------------------------

    def offset(self, pointer: Node, nodes: list[Node]) -> Node:
        """Adds to some nodes what computes how far behind its root a pointer leads, where that is
        one variable."""
        start = pointer
        while start in self._roots and start.op not in ("Phi", "Select"):
            start = start.operands[0]
        terms = self.terms(pointer, lambda each: each is not start)
        assert terms is not None
        total = self._offset_of(start) if start in self._roots else None
        for index, size in terms.steps:
            step = as_u64(index, nodes, pointer, is_signed=True)
            if size != 1:
                step = _added(nodes, pointer.derive("IMul", U64, [step, constant_node(U64, size)]))
            total = (
                step if total is None else _added(nodes, pointer.derive("IAdd", U64, [total, step]))
            )
        fixed = constant_node(U64, terms.fixed % (1 << 64))
        if total is None:
            return fixed
        return _added(nodes, pointer.derive("IAdd", U64, [total, fixed])) if terms.fixed else total

    def _offset_of(self, pointer: Node) -> Node:
        """The distance of a phi or a select."""
        known = self._offsets.get(pointer)
        if known is not None:
            return known
        assert pointer.block is not None
        made = self._offsets[pointer] = pointer.derive(pointer.op, U64, [], pointer.literals)
        if pointer.op == "Phi":
            self.phis.setdefault(pointer.block, []).append(made)
            for source, each in zip(pointer.literals, pointer.operands, strict=True):
                nodes: list[Node] = []
                made.operands.append(self.offset(each, nodes))
                assert isinstance(source, Block)
                source.nodes += nodes
        else:
            nodes = []
            condition, *choices = pointer.operands
            made.operands = [condition, *(self.offset(each, nodes) for each in choices)]
            self.behind.setdefault(pointer, []).extend([*nodes, made])
        return made


def _added(nodes: list[Node], node: Node) -> Node:
    nodes.append(node)
    return node


def as_u64(index: Node, nodes: list[Node], user: Node, is_signed: bool = False) -> Node:
    """An index as a number of 64 bits for a user: access chains take it with its sign."""
    if isinstance(index.type, Int) and index.type.width == 64:
        return index
    return _added(nodes, user.derive("SConvert" if is_signed else "UConvert", U64, [index]))


def _find_roots(kernel: Kernel) -> dict[Node, Roots]:
    """Of all pointers that are computed from others."""
    found: dict[Node, Roots] = {}
    pointers = [
        node
        for node in kernel.nodes()
        if isinstance(node.type, Pointer) and (sources := _sources(node)) is not None and sources
    ]
    followed = set(pointers)
    changed = True
    while changed:
        changed = False
        for node in pointers:
            roots: set[Node] = set()
            for source in _sources(node) or ():
                if source in followed:
                    roots |= found.get(source, frozenset())
                elif not _is_nothing(source):
                    roots.add(source)
            if len(roots) > MOST_ROOTS:
                roots = {*sorted(roots, key=lambda each: each.index)[:MOST_ROOTS], node}
            if found.get(node) != frozenset(roots):
                found[node] = frozenset(roots)
                changed = True
    for node in pointers:  # of nothing but null
        found[node] = found[node] or frozenset((node,))
    return found


def _sources(node: Node) -> list[Node] | None:
    """The pointers that a pointer is computed from; None if it is from none."""
    if node.op in CHAINS or (
        node.op in SAME_ADDRESS and isinstance(node.operands[0].type, Pointer)
    ):
        return node.operands[:1]
    if node.op == "Phi":
        return node.operands
    if node.op == "Select" and isinstance(node.operands[0].type, Bool):
        return node.operands[1:]
    return None


def _is_nothing(node: Node) -> bool:
    value = node.literals[0] if node.op == "Constant" else None
    return node.op == "Undef" or (isinstance(value, Constant) and value.is_null)


def argument_memory(argument: Node) -> str:
    """What memory an argument points to: global, local, or its own value."""
    storage = argument.type.storage if isinstance(argument.type, Pointer) else -1
    if storage == StorageClass.Workgroup:
        return "local"
    return "value" if storage == StorageClass.Function else "global"


def known_size(root: Node) -> int | None:
    """The bytes of a variable, or of an argument that is passed by value."""
    if root.op == "Global" and isinstance(variable := root.literals[0], Variable):
        return variable.data_type.size if variable.data_type is not None else None
    is_value = root.op == "Argument" and argument_memory(root) == "value"
    if (root.op == "Variable" or is_value) and isinstance(root.type, Pointer):
        return root.type.pointee.size if root.type.pointee is not None else None
    return None
