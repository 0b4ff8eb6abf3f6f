"""Bounds checking: every access gets a guard, which holds if it lies in the memory that its pointer
came from.

In goes a lowered kernel; out comes one whose accesses take a `Guard` as their last operand, with
sites for what they report. A guard compares an address with the bounds of the pointer's root
(`provenance.py`): the allocation that an argument points into, a variable, or, where nothing is
known of a pointer, any memory there is. What lies in a private variable is compared by its distance
from the start, so that the variable may be interleaved. An access that is known to lie in its
variable needs no guard.
"""

from __future__ import annotations

from typing import Any

from groundstate.compiler.instrument.accesses import Access, accesses
from groundstate.compiler.instrument.provenance import (
    U64,
    Provenance,
    Range,
    argument_memory,
    as_u64,
    known_size,
)
from groundstate.compiler.ir import Kernel, Node, constant_int, constant_node
from groundstate.compiler.ir.ops import CHAINS
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.ir.site import make_site
from groundstate.compiler.spirv.module import Variable
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Bool, Int

MEMORY = {StorageClass.Workgroup: "local"}


def check_bounds(kernel: Kernel, analyses: Analyses) -> bool:
    """Guards accesses, so that those outside of memory are reported and left out."""
    del analyses
    return _Instrumented(kernel).run()


def _trailing_zeros(index: Node, depth: int = 8) -> int:
    """How many of the lowest bits of a number are known to be zero."""
    if depth == 0:
        return 0
    number = constant_int(index)
    if number is not None:
        return (number & -number).bit_length() - 1 if number else 64
    below = [_trailing_zeros(each, depth - 1) for each in index.operands]
    amount = constant_int(index.operands[1]) if index.op.startswith("Shift") else None
    if index.op == "ShiftLeftLogical":
        return below[0] + max(amount or 0, 0)
    if index.op.startswith("Shift"):
        return max(below[0] - amount, 0) if amount is not None and amount >= 0 else 0
    if index.op == "IMul":
        return sum(below)
    return min(below) if index.op in ("IAdd", "ISub", "SConvert", "UConvert") else 0


class _Instrumented:
    """One kernel that gets its guards."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.provenance = Provenance(kernel)
        self._aligned: dict[tuple[Node, int], Node] = {}

    def run(self) -> bool:
        """Guards every access; true if there was any."""
        before: dict[Node, list[Node]] = {}
        for node in list(self.kernel.nodes()):
            for access in list(accesses(node)):
                nodes = before.setdefault(node, [])
                guard = self._guard(node, access, nodes)
                if guard is not None:
                    nodes.append(guard)
                    node.operands = [*node.operands, guard]
        self._place(before)
        return bool(self.kernel.sites)

    def _place(self, before: dict[Node, list[Node]]) -> None:
        """Puts the new nodes into their blocks."""
        provenance = self.provenance
        for block in self.kernel.blocks:
            behind_phis = [each for phi in block.phis for each in provenance.behind.get(phi, ())]
            block.phis = [*block.phis, *provenance.phis.get(block, ())]
            nodes = list(behind_phis)
            for node in block.nodes:
                nodes += [*before.get(node, ()), node, *provenance.behind.get(node, ())]
            block.nodes = nodes
        first = self.kernel.blocks[0]
        first.nodes[:0] = provenance.at_start

    # --- One access -----------------------------------------------------------------------------

    def _guard(self, node: Node, access: Access, nodes: list[Node]) -> Node | None:
        """Adds to some nodes what a guard takes; None if the access needs none."""
        pointer, provenance = access.pointer, self.provenance
        root = provenance.root(pointer)
        if self._is_inside(access, root) or access.size == 0:
            return None
        by_offset = root is not None and root.op == "Variable"
        looks = any(self._is_unknown(each) for each in provenance.roots(pointer))
        align = 1 if by_offset else access.align
        if by_offset:
            assert root is not None
            value: Node = provenance.offset(pointer, nodes)
            zero, size = constant_node(U64, 0), known_size(root)
            assert size is not None
            bounds = Range(zero, constant_node(U64, size))
        else:
            value, bounds = pointer, provenance.range(pointer)
            if align > 1 and root is not None and self._keeps_alignment(pointer, root, align):
                bounds = Range(bounds.lower, self._aligned_upper(root, bounds, align))
                align = 1
        value, bounds = self._adjusted(node, access, value, bounds, nodes)
        site = len(self.kernel.sites)
        self.kernel.sites.append(self._site(node, access, root, by_offset, looks))
        operands = [value, bounds.lower, bounds.upper, *([self._start(pointer)] if looks else [])]
        return node.derive("Guard", Bool(), operands, (site, access.size, align, int(looks)))

    def _is_inside(self, access: Access, root: Node | None) -> bool:
        """True for an access that is known to lie in its variable, and for what is no memory."""
        variable = root.literals[0] if root is not None and root.op == "Global" else None
        if isinstance(variable, Variable) and variable.builtin is not None:
            return True
        size = known_size(root) if root is not None else None
        if size is None or access.index or access.count or access.is_block:
            return False
        offset = self.provenance.static_offset(access.pointer)
        return offset is not None and 0 <= offset <= size - access.size

    def _is_unknown(self, root: Node) -> bool:
        """True for a pointer that comes from nowhere in particular."""
        if root.op in ("Argument", "VariableLengthArrayINTEL"):
            return False
        return known_size(root) is None

    def _start(self, pointer: Node) -> Node:
        """The pointer that an address is a step from."""
        while pointer.op in CHAINS:
            pointer = pointer.operands[0]
        return pointer

    def _keeps_alignment(self, pointer: Node, root: Node, align: int) -> bool:
        """True if a pointer is aligned if its root is, which is an argument or a variable."""
        if root.op not in ("Argument", "Global"):
            return False
        terms = self.provenance.terms(pointer, lambda each: each is not root)
        if terms is None:
            return False
        steps = (size << _trailing_zeros(index) for index, size in terms.steps)
        return terms.fixed % align == 0 and all(step % align == 0 for step in steps)

    def _aligned_upper(self, root: Node, bounds: Range, align: int) -> Node:
        """The end of the memory of a root; its very start if that is not aligned."""
        if root.op == "Global" or argument_memory(root) != "global":
            return bounds.upper
        known = self._aligned.get((root, align))
        if known is None:
            name = self.kernel.name
            number = Node("ConvertPtrToU", U64, [root], where=name)
            low = Node("BitwiseAnd", U64, [number, constant_node(U64, align - 1)], where=name)
            odd = Node("INotEqual", Bool(), [low, constant_node(U64, 0)], where=name)
            known = Node("Select", U64, [odd, constant_node(U64, 0), bounds.upper], where=name)
            self.provenance.at_start += [number, low, odd, known]
            self._aligned[root, align] = known
        return known

    def _adjusted(
        self, node: Node, access: Access, value: Node, bounds: Range, nodes: list[Node]
    ) -> tuple[Node, Range]:
        """What is compared for an access that does not simply begin at its pointer."""

        def make(op: str, operands: list[Node]) -> Node:
            nodes.append(node.derive(op, U64, operands))
            return nodes[-1]

        def number() -> Node:
            return value if isinstance(value.type, Int) else make("ConvertPtrToU", [value])

        if access.index is not None:
            index, bytes_ = access.index
            step = as_u64(index, nodes, node, is_signed=True)
            value = make("IAdd", [number(), make("IMul", [step, constant_node(U64, bytes_)])])
        if access.is_block:
            lane = Node("Builtin", Int(32, False), [], ("SubgroupLocalInvocationId",), node.where)
            nodes.append(lane)
            size = constant_node(U64, access.size)
            value = make("IAdd", [number(), make("IMul", [as_u64(lane, nodes, node), size])])
        if access.count is not None:
            count = as_u64(access.count, nodes, node)
            size = constant_node(U64, access.size)
            if access.stride is not None and constant_int(access.stride) != 1:
                last = make("ISub", [count, constant_node(U64, 1)])
                step = as_u64(access.stride, nodes, node)
                rest = make("IMul", [make("IMul", [last, step]), size])
            else:
                rest = make("ISub", [make("IMul", [count, size]), size])
            bounds = Range(bounds.lower, make("ISub", [bounds.upper, rest]))
        if access.condition is not None:
            value = make("Select", [access.condition, number(), bounds.lower])
        return value, bounds

    # --- Sites ----------------------------------------------------------------------------------

    def _site(
        self, node: Node, access: Access, root: Node | None, by_offset: bool, looks: bool
    ) -> dict[str, Any]:
        argument = root.literals[0] if root is not None and root.op == "Argument" else None
        variable = root.literals[0] if root is not None and root.op == "Global" else None
        named = None
        if isinstance(variable, Variable) and root is not None:
            named = [int(str(root.literals[1])), variable.id]
        return make_site(
            "memory",
            node,
            access=access.words,
            bytes=access.size,
            align=access.align,
            memory=self._memory(root),
            argument=argument,
            variable=named,
            by_offset=by_offset,
            looks_for_memory=looks,
        )

    def _memory(self, root: Node | None) -> str:
        """What kind of memory a pointer leads to."""
        if root is None:
            return "global"
        if root.op == "Argument":
            return argument_memory(root)
        if root.op in ("Variable", "VariableLengthArrayINTEL"):
            return "private"
        if root.op == "Global" and isinstance(variable := root.literals[0], Variable):
            return MEMORY.get(variable.storage, "program")
        return "global"
