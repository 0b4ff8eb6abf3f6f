"""Uninitialised memory: what nobody has written is followed until it is used.

In goes a lowered kernel. Beside values that come from memory come their shadows (`shadow_values`,
`shadow_memory`): a load takes the shadow of memory along, a store leaves it there. A report is made
where a value that may be uninitialised decides something: at branches, at addresses, at coordinates
of images, at arguments of printf, and where it is stored to memory that the host reads. Whatever
copies, packs or masks it makes none.
"""

from __future__ import annotations

from typing import Any

from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.instrument.accesses import INTEGER_RESULTS, Access, accesses
from groundstate.compiler.instrument.provenance import as_u64
from groundstate.compiler.instrument.shadow_memory import (
    ARGUMENT,
    AT_A_DISTANCE,
    LOCAL,
    NONE,
    PRIVATE,
    UNKNOWN,
    ShadowMemory,
)
from groundstate.compiler.instrument.shadow_types import U64, ShadowTypes, ones, scalar_of, zeros
from groundstate.compiler.instrument.shadow_values import ShadowValues
from groundstate.compiler.ir import Block, Kernel, Node, constant_int, constant_node
from groundstate.compiler.ir.ops import Category, guards_of, operation
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.ir.site import make_site
from groundstate.compiler.opt.mem2reg import UNWRITTEN
from groundstate.compiler.spirv.constants import null
from groundstate.compiler.spirv.module import Variable
from groundstate.compiler.spirv.types import (
    Array,
    Bool,
    Int,
    Pointer,
    Struct,
    Type,
    Vector,
    Void,
    member_count,
    member_type,
)

SHADOWS = frozenset(("ShadowLoad", "ShadowStore", "ShadowCopy"))
COORDINATES = {"ImageFetch": 1, "ImageRead": 1, "ImageWrite": 1, "SampleImage": 2}
REPLACES = frozenset(("AtomicStore", "AtomicExchange", "AtomicFlagClear", "AtomicFlagTestAndSet"))
"""Atomic operations that leave nothing of what was in memory."""
BITWISE = ("AtomicAnd", "AtomicOr")
"""Atomic operations that make some bits initialised."""
MOST_STEPS = 256
"""From a use back to where a value may come from."""
TILE_BYTES = 4096
"""Of a product of tiles."""
WHOLE, ANY, UNLESS_WRITTEN = 0, 1, 2
"""A store is reported if all bits of what it stores are uninitialised, or if any is; or its place
need not become initialised if all that the kernel writes is."""
ALLOCATIONS = (ARGUMENT, UNKNOWN)
COPIES = frozenset(("CopyMemory", "CopyMemorySized", "GroupAsyncCopy"))
OTHERS = 63
MOST_NODES = 4000
"""Of a kernel that gets two versions."""
COMPUTED = frozenset((Category.ARITHMETIC, Category.CAST))
MIXES_BITS = frozenset(
    (
        *("BitwiseOr", "BitwiseAnd", "BitwiseXor", "Not", "Select", "Bitcast", "CopyObject"),
        *("ShiftLeftLogical", "ShiftRightLogical", "ShiftRightArithmetic", "BitFieldInsert"),
        *("ConvertPtrToU", "ConvertUToPtr", "PtrCastToGeneric", "GenericCastToPtr"),
    )
)
"""Operations that put words together of parts that need not all be initialised."""


def check_uninitialised(kernel: Kernel, analyses: Analyses) -> bool:
    """Follows uninitialised values, and reports where they decide something."""
    types = ShadowTypes()
    checked = _Instrumented(kernel, analyses.get(CFG), types)
    checked.inputs_are_written = not checked.reads_allocations
    if checked.inputs_are_written or checked.count > MOST_NODES:
        return checked.run()
    twin = _twin(kernel)
    checked.run()
    written = _Instrumented(twin, CFG(twin), types, checked.memory)
    written.run()
    _join(kernel, checked, written)
    return True


def _twin(kernel: Kernel) -> Kernel:
    """A copy of a kernel that uses the same private variables."""
    twin = kernel.copy()
    variables = {
        copy: node
        for node, copy in zip(kernel.nodes(), twin.nodes(), strict=True)
        if node.op == "Variable"
    }
    twin.replace(variables)
    for block in twin.blocks:
        block.nodes = [node for node in block.nodes if node not in variables]
    twin.renumber()
    return twin


def _join(kernel: Kernel, checked: _Instrumented, written: _Instrumented) -> None:
    """Puts a choice before two versions: one for when all that the kernel reads has been written,
    which hardly does more than the kernel itself, and one for when that is not so."""
    entry, others = Block(kernel.name), (written.kernel.blocks[0], kernel.blocks[0])
    for block in kernel.blocks:
        block.cold = True
        variables = [node for node in block.nodes if node.op in ("Variable", "LifetimeBegins")]
        entry.nodes += variables
        block.nodes = [node for node in block.nodes if node not in set(variables)]
    entry.condition = Node("InputsAreWritten", Bool(), where=kernel.name)
    entry.nodes.append(entry.condition)
    entry.successors = list(others)
    kernel.blocks = [entry]
    kernel.reorder()


class _Instrumented:
    """One version of a kernel that gets shadows. One that has the memory of another is for when
    all allocations that it reads have been written."""

    def __init__(
        self,
        kernel: Kernel,
        cfg: CFG,
        types: ShadowTypes,
        shared: ShadowMemory | None = None,
    ) -> None:
        self.kernel, self.cfg, self.types = kernel, cfg, types
        self.count = sum(1 for _ in kernel.nodes())
        self.values = ShadowValues(self.types)
        self.memory = ShadowMemory(kernel, self.types, shared)
        self.is_twin = self.inputs_are_written = shared is not None
        self.reads = self.writes = 0
        """A bit for each argument whose memory is read or written, 63 for what is no argument's."""
        self.keeps_all_written = False
        """Whether allocations that have been written stay so."""
        self.load_sites: dict[Node, int] = {}
        self.reported: dict[Node, list[Block]] = {}
        """Of each shadow: where it has been looked at."""
        self.phis: dict[Node, Node] = {}

    @property
    def reads_allocations(self) -> bool:
        """Whether there is a load from memory that the host, or another kernel, may write."""
        return any(
            self._is_source(node) and self._space_read(node) in ALLOCATIONS
            for node in self.kernel.nodes()
        )

    def _space_read(self, node: Node) -> str:
        return self.memory.space(next(iter(accesses(node))).pointer)

    def run(self) -> bool:
        """Makes all shadows; false if there are none."""
        values, memory = self.values, self.memory
        may_be = self._find_candidates()
        self.keeps_all_written = self.inputs_are_written and not self._stores_any_of(may_be)
        start = memory.make_variables()
        for block in self.kernel.blocks:
            for phi in block.phis:
                memory.follow(phi)
                if phi in may_be and (type_ := self.types.of(phi.type)) is not None:
                    made = phi.derive("Phi", type_, [], phi.literals)
                    self.phis[phi] = values.shadows[phi] = made
        blocks = list(self.kernel.blocks)
        for block in blocks:
            self._instrument(block, may_be)
        memory.finish()
        for phi, made in self.phis.items():
            made.operands = [values.given(each) for each in phi.operands]
            assert phi.block is not None
            phi.block.phis.append(made)
        for block, phis in memory.new_phis.items():
            block.phis += phis
        self.kernel.blocks[0].nodes[:0] = start
        self.kernel.renumber()
        first = next((each for each in self.kernel.nodes() if each.op in SHADOWS), None)
        if first is not None and not self.is_twin:
            facts = {"reads": self.reads, "writes": self.writes}
            self.kernel.sites.append(make_site("uninit", first, use="launch", **facts))
        return sum(1 for _ in self.kernel.nodes()) != self.count

    def _stores_any_of(self, may_be: set[Node]) -> bool:
        """Whether something that may be uninitialised may come to an allocation."""
        for node in self.kernel.nodes():
            for access in accesses(node):
                is_read = access.words == "read"
                if is_read or self.memory.space(access.pointer) not in ALLOCATIONS:
                    continue
                if node.op in COPIES or not may_be.isdisjoint(node.operands):
                    return True
        return False

    # --- Which values may be uninitialised ------------------------------------------------------

    def _find_candidates(self) -> set[Node]:
        found: set[Node] = set()
        for node in self.kernel.nodes():
            if self._is_source(node):
                found.add(node)
            for each in node.operands:
                if self._is_unwritten(each):
                    self._note_unwritten(each, found)
        changed = True
        while changed:
            changed = False
            for node in self.kernel.nodes():
                if node in found or self.types.of(node.type) is None:
                    continue
                taken = node.operands if node.op == "Phi" else self.values.taken(node)
                if any(each in found for each in taken):
                    found.add(node)
                    changed = True
        return found

    def _is_unwritten(self, node: Node) -> bool:
        return node.op == "Unwritten" or (node.op == "Undef" and node.literals[:1] == (UNWRITTEN,))

    def _note_unwritten(self, node: Node, found: set[Node]) -> None:
        type_ = self.types.of(node.type)
        if type_ is not None:
            found.add(node)
            self.values.shadows[node] = ones(type_)

    def _is_source(self, node: Node) -> bool:
        """True for what reads memory that has a shadow."""
        row = operation(node)
        is_load = node.op in ("Load", "PredicatedLoadINTEL") or row.name.startswith("vload")
        is_atomic = row.category is Category.ATOMIC and not isinstance(node.type, Void)
        if not (is_load or is_atomic) or self.types.of(node.type) is None:
            return False
        space = self._space_read(node)
        return space != NONE and not (self.inputs_are_written and space in ALLOCATIONS)

    # --- One block ------------------------------------------------------------------------------

    def _instrument(self, block: Block, may_be: set[Node]) -> None:
        values = self.values
        nodes: list[Node] = []
        for node in block.nodes:
            values.made = []
            self._look_at_uses(node, block)
            is_atomic = operation(node).category is Category.ATOMIC
            found = self._read(node) if is_atomic and node in may_be else None
            self._write_memory(node, found)
            nodes += [*values.made, node]
            values.made = []
            parallel = self.memory.follow(node)
            if parallel is not None:
                values.made.append(parallel)
            if node in may_be and not is_atomic:
                found = self._read(node) if self._is_source(node) else values.of_result(node)
            if found is not None:
                values.shadows[node] = found
            nodes += values.made
        values.made = []
        condition = block.condition
        if condition is not None and condition in values.shadows:
            place = next(
                (each for each in (condition, *reversed(nodes)) if each.location), condition
            )
            node = place.derive("Report", Void())
            node.position = place.position
            self._report(
                node, condition, values.any(node, values.shadows[condition]), "branch", block
            )
        block.nodes = nodes + values.made

    # --- Uses -----------------------------------------------------------------------------------

    def _look_at_uses(self, node: Node, block: Block) -> None:
        values = self.values
        for access in accesses(node):
            used = [access.pointer, *([access.index[0]] if access.index else [])]
            for each in used:
                if each in values.shadows:
                    bad = values.any(node, values.shadows[each])
                    self._report(node, each, bad, "address", block, access=access.words)
        if (place := COORDINATES.get(node.op)) is not None:
            self._look_at(node, node.operands[place], "coordinate", block)
        if node.op == "ExtInst" and operation(node).name == "printf":
            for each in node.operands[1:]:
                self._look_at(node, each, "print", block)

    def _look_at(self, node: Node, value: Node, use: str, block: Block) -> None:
        if value in self.values.shadows:
            bad = self.values.any(node, self.values.shadows[value])
            self._report(node, value, bad, use, block)

    def _report(
        self, node: Node, value: Node, bad: Node, use: str, block: Block, **facts: object
    ) -> None:
        """Reports a value, unless it was looked at on every way to here."""
        before = self.reported.setdefault(self.values.shadows[value], [])
        if any(self._dominates(each, block) for each in before):
            return
        before.append(block)
        site = self._site(node, value, use, **facts)
        made = node.derive("Report", Void(), [bad], (site,))
        self.values.made.append(made)

    def _dominates(self, one: Block, other: Block) -> bool:
        current: Block | None = other
        while current is not None and current is not one:
            current = self.cfg.dominator[current.index]
        return current is one

    # --- Memory: reads --------------------------------------------------------------------------

    def _read(self, node: Node) -> Node | None:
        """The shadow of what is read; behind the access, or before it if it also writes."""
        values, type_ = self.values, self.types.of(node.type)
        access = next(iter(accesses(node)))
        assert type_ is not None
        space = self.memory.space(access.pointer)
        if space == PRIVATE:
            return self._read_private(node, type_)
        is_half = "half" in operation(node).name
        stored = _halves(type_) if is_half else type_
        if access.size > stored.size:
            return None
        address = self._address(node, access)
        if node.op == "PredicatedLoadINTEL":
            address = self._if(node, node.operands[1], address)
        found = self._shadow_load(node, access, address, stored, space)
        if node.op == "PredicatedLoadINTEL":
            other = values.given(node.operands[2])
            found = values.make(node, "Select", type_, [node.operands[1], found, other])
        return values._resized(node, found, type_) if is_half else found

    def _shadow_load(
        self, node: Node, access: Access, address: Node, type_: Type, space: str
    ) -> Node:
        site = self._load_site(node, access)
        self.reads |= self._arguments(access.pointer)
        literals = (site, access.size, max(1, access.align), space)
        return self.values.make(node, "ShadowLoad", type_, [address], literals)

    def _read_private(self, node: Node, type_: Type) -> Node | None:
        values = self.values
        beside = self.memory.address(node.operands[0])
        operands = [beside, *self._quiet_guards(node)]
        known = values.make(node, "Load", type_, operands, node.literals)
        self._load_site(node, next(iter(accesses(node))))
        return self._inverted(node, known)

    def _inverted(self, node: Node, value: Node) -> Node:
        values, type_ = self.values, value.type
        if not isinstance(type_, Struct | Array):
            return values._not(node, value)
        parts = []
        for index in range(member_count(type_)):
            part = member_type(type_, index)
            assert part is not None
            picked = values.make(node, "CompositeExtract", part, [value], (index,))
            parts.append(self._inverted(node, picked))
        return values.make(node, "CompositeConstruct", type_, parts)

    def _quiet_guards(self, node: Node) -> list[Node]:
        """Guards like those of an access, which report nothing."""
        quiet = []
        for guard in guards_of(node):
            made = node.derive("Guard", Bool(), guard.operands, (-1, *guard.literals[1:]))
            self.values.made.append(made)
            quiet.append(made)
        return quiet

    def _address(self, node: Node, access: Access) -> Node:
        """Where an access begins."""
        if access.index is None:
            return access.pointer
        index, bytes_ = access.index
        values, nodes = self.values, self.values.made
        number = values.make(node, "ConvertPtrToU", U64, [access.pointer])
        step = as_u64(index, nodes, node, is_signed=True)
        distance = values.make(node, "IMul", U64, [step, constant_node(U64, bytes_)])
        sum_ = values.make(node, "IAdd", U64, [number, distance])
        return values.make(node, "ConvertUToPtr", access.pointer.type, [sum_])

    def _if(self, node: Node, condition: Node, address: Node) -> Node:
        """An address, or null, which has no shadow."""
        nowhere = Node("Constant", address.type, literals=(null(address.type), 0))
        return self.values.make(node, "Select", address.type, [condition, address, nowhere])

    # --- Memory: writes -------------------------------------------------------------------------

    def _write_memory(self, node: Node, found: Node | None) -> None:
        """The shadow of what is written, before it is; of an atomic operation, with that of what
        it finds."""
        op, row = node.op, operation(node)
        if op in ("CopyMemory", "CopyMemorySized"):
            self._copy(node)
        elif op in ("GroupAsyncCopy", "UntypedGroupAsyncCopyKHR"):
            self._async_copy(node)
        elif op == "SubgroupBlockWriteINTEL":
            self._write_block(node)
        elif op == "TileProduct":
            self._shadow_copy(node, node.operands[0], None, constant_node(U64, TILE_BYTES))
        elif op == "MaskedScatterINTEL":
            self._scatter(node)
        elif row.category is Category.ATOMIC:
            self._atomic(node, found)
        elif op in ("Store", "PredicatedStoreINTEL") or op == "ExtInst":
            for access in accesses(node):
                if access.words == "write":
                    self._store(node, access)

    def _store(self, node: Node, access: Access) -> None:
        value = self._stored(node)
        space = self.memory.space(access.pointer)
        if space == NONE or value is None:
            return
        type_, shadow = value
        if space == PRIVATE:
            self._write_private(node, type_, shadow)
            return
        address = self._address(node, access)
        if node.op == "PredicatedStoreINTEL":
            address = self._if(node, node.operands[2], address)
        source = node.operands[0 if node.op == "ExtInst" else 1]
        self._shadow_store(node, access, address, type_, shadow, source)

    def _shadow_store(
        self,
        node: Node,
        access: Access,
        address: Node,
        type_: Type,
        shadow: Node | None,
        source: Node | None = None,
    ) -> None:
        space = self.memory.space(access.pointer)
        site, mode = -1, WHOLE
        if shadow is not None and source is not None and space != LOCAL:
            site = self._site(node, source, "store", access=access.words, bytes=access.size)
            mode = ANY if _is_computed(source) else WHOLE
        self.writes |= self._arguments(access.pointer)
        value = shadow if shadow is not None else zeros(type_)
        if self.keeps_all_written and space in ALLOCATIONS:
            mode = UNLESS_WRITTEN
        literals = (site, access.size, max(1, access.align), space, mode, int(shadow is not None))
        self.values.made.append(node.derive("ShadowStore", Void(), [address, value], literals))

    def _arguments(self, pointer: Node) -> int:
        """The arguments that a pointer to an allocation may come from, as bits."""
        if self.memory.space(pointer) not in ALLOCATIONS:
            return 0
        found = 0
        for root in self.memory.provenance.roots(pointer):
            number = int(str(root.literals[0])) if root.op == "Argument" else OTHERS
            found |= 1 << min(number, OTHERS)
        return found

    def _stored(self, node: Node) -> tuple[Type, Node | None] | None:
        """The shadow of what a node writes, and its type; the shadow may be none."""
        values, name = self.values, operation(node).name
        if node.op in ("Store", "PredicatedStoreINTEL"):
            value = node.operands[1]
        elif name.startswith("vstore"):
            value = node.operands[0]
        else:
            return self._second_result(node)
        type_ = self.types.of(value.type)
        if type_ is None:
            return None
        shadow = values.shadows.get(value)
        if "half" not in name:
            return type_, shadow
        stored = _halves(type_)
        return stored, None if shadow is None else values._resized(node, shadow, stored)

    def _second_result(self, node: Node) -> tuple[Type, Node | None] | None:
        """What functions such as `fract` write behind a pointer."""
        name, type_ = operation(node).name, self.types.of(node.type)
        if type_ is None:
            return None
        if name in INTEGER_RESULTS:
            word = Int(32, False)
            type_ = Vector(word, type_.count) if isinstance(type_, Vector) else word
        shadow = self.values.shadows.get(node.operands[0])
        return type_, None if shadow is None else self.values._resized(node, shadow, type_)

    def _write_private(self, node: Node, type_: Type, shadow: Node | None) -> None:
        known = ones(type_) if shadow is None else self._inverted(node, shadow)
        operands = [self.memory.address(node.operands[0]), known, *self._quiet_guards(node)]
        self.values.made.append(node.derive("Store", Void(), operands, node.literals))

    def _atomic(self, node: Node, found: Node | None) -> None:
        """What an atomic operation leaves in memory. One that adds to what is there makes nothing
        initialised that was not; it may make it uninitialised."""
        values = self.values
        access = next(iter(accesses(node)))
        if self.memory.space(access.pointer) not in AT_A_DISTANCE:
            return
        brought = [each for each in node.operands[3:4] if each.op != "Guard"]
        value = brought[0] if brought and not node.op.startswith("AtomicCompare") else None
        shadow = values.shadows.get(value) if value is not None else None
        if node.op in REPLACES:
            type_ = self.types.of(value.type) if value is not None else Int(32, False)
            assert type_ is not None
            self._shadow_store(node, access, access.pointer, type_, shadow, value)
        elif not node.op.startswith("AtomicCompare") and node.op != "AtomicLoad":
            left = self._changed(node, found, value)
            if left is not None:
                self._shadow_store(node, access, access.pointer, left.type, left, node)

    def _changed(self, node: Node, found: Node | None, value: Node | None) -> Node | None:
        """The shadow of what an atomic operation makes of what it finds and what it is given."""
        brought = self.values.shadows.get(value) if value is not None else None
        if brought is None and found is not None and value is not None and node.op in BITWISE:
            kept = self._inverted(node, value) if node.op == "AtomicOr" else value
            return self.values.make(node, "BitwiseAnd", found.type, [found, kept])
        return self.values.both(node, found, brought)

    def _copy(self, node: Node) -> None:
        target, source = node.operands[:2]
        if node.op == "CopyMemorySized":
            count = as_u64(node.operands[2], self.values.made, node)
        else:
            count = constant_node(U64, next(iter(accesses(node))).size)
        self._shadow_copy(node, target, source, count)

    def _async_copy(self, node: Node) -> None:
        target, source = node.operands[1:3]
        made = self.values.made
        if node.op == "GroupAsyncCopy":
            pointee = target.type.pointee if isinstance(target.type, Pointer) else None
            size = constant_node(U64, pointee.size if pointee is not None else 1)
            count, stride = (as_u64(each, made, node) for each in node.operands[3:5])
        else:
            size, count, stride = (as_u64(each, made, node) for each in node.operands[3:6])
        self._shadow_copy(node, target, source, count, size, stride)

    def _shadow_copy(
        self,
        node: Node,
        target: Node,
        source: Node | None,
        count: Node,
        size: Node | None = None,
        stride: Node | None = None,
    ) -> None:
        """Copies shadows, or clears them where the source has none. Of two memories the one that
        is not local has its elements a stride apart."""
        one = constant_node(U64, 1)
        if self.memory.space(target) not in AT_A_DISTANCE:
            return
        is_known = source is None or self.memory.space(source) not in AT_A_DISTANCE
        if is_known or source is None:
            source = Node("Constant", target.type, literals=(null(target.type), 0))
        steps = [one, one]
        if stride is not None and constant_int(stride) != 1:
            for place, each in enumerate((target, source)):
                steps[place] = one if self.memory.space(each) == LOCAL else stride
        self.writes |= self._arguments(target)
        self.reads |= self._arguments(source) if not is_known else 0
        operands = [target, source, count, size or one, *steps]
        self.values.made.append(node.derive("ShadowCopy", Void(), operands))

    def _write_block(self, node: Node) -> None:
        values = self.values
        lanes = values.make(node, "Builtin", U64, [], ("SubgroupMaxSize",))
        access = next(iter(accesses(node)))
        count = values.make(node, "IMul", U64, [lanes, constant_node(U64, access.size)])
        self._shadow_copy(node, access.pointer, None, count)

    def _scatter(self, node: Node) -> None:
        """Lanes of a vector of addresses."""
        values, (value, pointers, mask) = self.values, node.operands[:3]
        for index in range(member_count(pointers.type)):
            parts = []
            for each in (pointers, mask):
                part = member_type(each.type, index)
                assert part is not None
                parts.append(values.make(node, "CompositeExtract", part, [each], (index,)))
            size = constant_node(U64, scalar_of(value.type).size)
            self._shadow_copy(node, self._if(node, parts[1], parts[0]), None, size)

    # --- Sites ----------------------------------------------------------------------------------

    def _load_site(self, node: Node, access: Access) -> int:
        if node not in self.load_sites:
            self.load_sites[node] = len(self.kernel.sites)
            facts = self._facts(access.pointer)
            self.kernel.sites.append(
                make_site("uninit", node, use="load", bytes=access.size, **facts)
            )
        return self.load_sites[node]

    def _variable_site(self, node: Node) -> int:
        """Where a variable is declared."""
        if node not in self.load_sites:
            self.load_sites[node] = len(self.kernel.sites)
            facts = {"memory": "variable", "argument": None, "variable": None}
            self.kernel.sites.append(make_site("uninit", node, use="variable", **facts))
        return self.load_sites[node]

    def _facts(self, pointer: Node) -> dict[str, Any]:
        """What memory a pointer leads to."""
        root = self.memory.provenance.root(pointer)
        facts: dict[str, Any] = {"memory": self.memory.space(pointer), "argument": None}
        facts["variable"] = None
        if root is not None and root.op == "Argument":
            facts["argument"] = root.literals[0]
        variable = root.literals[0] if root is not None and root.op == "Global" else None
        if isinstance(variable, Variable) and root is not None:
            facts["variable"] = [int(str(root.literals[1])), variable.id]
        return facts

    def _site(self, node: Node, value: Node, use: str, **facts: object) -> int:
        origins, is_unwritten = self._origins(value)
        site = make_site("uninit", node, use=use, origins=origins, unwritten=is_unwritten, **facts)
        if use == "branch":
            site["operation"] = "branch"
        self.kernel.sites.append(site)
        return len(self.kernel.sites) - 1

    def _origins(self, value: Node) -> tuple[list[int], bool]:
        """The loads that a value may come from, the nearest first, and whether it may be a
        variable that is not written on some way."""
        found: list[int] = []
        is_unwritten = False
        seen, waiting = {value}, [value]
        while waiting and len(seen) < MOST_STEPS:
            node = waiting.pop(0)
            is_unwritten = is_unwritten or self._is_unwritten(node)
            if node.op == "Unwritten" and node.location is not None:
                found.append(self._variable_site(node))
                is_unwritten = False
                continue
            if self._is_source(node) and self.types.of(node.type) is not None:
                access = next(iter(accesses(node)))
                found.append(self._load_site(node, access))
                continue
            taken = node.operands if node.op == "Phi" else self.values.taken(node)
            for each in taken if node.operands else ():
                if each not in seen:
                    seen.add(each)
                    waiting.append(each)
        return found, is_unwritten


def _halves(type_: Type) -> Type:
    """The shadows of as many 16-bit numbers."""
    half = Int(16, False)
    return Vector(half, type_.count) if isinstance(type_, Vector) else half


def _is_computed(value: Node) -> bool:
    """True if any uninitialised bit of a value means that it is not what it should be. What is
    copied, or put together of bytes, may have padding in it."""
    seen, waiting = {value}, [value]
    while waiting:
        each = waiting.pop()
        if each.op in ("Phi", "Select"):
            choices = each.operands if each.op == "Phi" else each.operands[1:]
            waiting += [choice for choice in choices if choice not in seen]
            seen.update(choices)
        elif each.op != "Constant" and not _mixes_numbers(each):
            return False
    return True


def _mixes_numbers(value: Node) -> bool:
    """True for what computes a number of others, and does not only move their bits."""
    return operation(value).category in COMPUTED and value.op not in MIXES_BITS
