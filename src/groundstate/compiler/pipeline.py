"""From a kernel in SPIR-V to LLVM IR: the stages, in order, for one group size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from groundstate.compiler import machine
from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.analysis.divergence import Divergence, lane_stride
from groundstate.compiler.emit.control import NeedsOneLane
from groundstate.compiler.emit.kernel import Code, KernelWriter
from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.ir.ops import Category, is_volatile, operation
from groundstate.compiler.kernel_ir import build_kernel
from groundstate.compiler.lanes import observes_subgroups, plan, vector_of_subgroup
from groundstate.compiler.limits import check_private
from groundstate.compiler.lower.barriers import split_at_barriers
from groundstate.compiler.lower.builtins import lower_builtins
from groundstate.compiler.lower.casts import lower_known_casts
from groundstate.compiler.lower.copies import lower_copies
from groundstate.compiler.lower.group_operations import lower_group_operations
from groundstate.compiler.lower.sampled_images import split_sampled_images
from groundstate.compiler.opt.loops import improve_loops
from groundstate.compiler.signature import SUPPORTED_WIDTHS, describe_arguments
from groundstate.compiler.spirv.opcodes import ExecutionMode
from groundstate.compiler.spirv.types import Pointer
from groundstate.compiler.storage import place_variables
from groundstate.compiler.symbols import Symbols

if TYPE_CHECKING:
    from groundstate.compiler.program import GroupSize, Program


@dataclass(frozen=True, slots=True)
class Prepared:
    """The graph of a kernel, ready to be written for any width."""

    kernel: Kernel
    has_barriers: bool
    cells: int
    """How many cells for each sub-group its work-group operations need."""
    observes_subgroups: bool

    @property
    def private_bytes(self) -> int:
        """The memory of one work-item's variables that have an address."""
        return sum(
            lane_stride(node.type.pointee)
            for node in self.kernel.nodes()
            if node.op == "Variable" and isinstance(node.type, Pointer)
        )

    @property
    def may_wait(self) -> bool:
        """True if it may wait in a loop for what others do, which only atomics and volatile
        accesses let it see."""
        return not self.is_loop_free and any(map(_sees_others, self.kernel.nodes()))

    @property
    def is_loop_free(self) -> bool:
        """True if control only ever goes forward."""
        return all(
            successor.index > block.index
            for block in self.kernel.blocks
            for successor in block.successors
        )


def _sees_others(node: Node) -> bool:
    is_access = node.op in ("Load", "Store")
    return (is_access and is_volatile(node)) or operation(node).category is Category.ATOMIC


def prepare(symbols: Symbols, name: str) -> Prepared:
    """The graph of a kernel, built anew."""
    kernel = build_kernel(symbols, name)
    split_sampled_images(kernel)
    lower_builtins(kernel)
    lower_known_casts(kernel)
    lower_copies(kernel)
    observes = observes_subgroups(kernel)
    cells = lower_group_operations(kernel)
    prepared = Prepared(kernel, split_at_barriers(kernel), cells, observes)
    check_private(name, prepared.private_bytes)
    return prepared


def write(
    program: Program,
    name: str,
    group_size: GroupSize,
    width: int | None = None,
) -> Code:
    """LLVM IR of a kernel for a group size."""
    try:
        return _write(program, name, group_size, width)
    except NeedsOneLane:
        return _write(program, name, group_size, 1)


def analyse(
    program: Program, name: str, group_size: GroupSize, width: int | None = None
) -> Divergence:
    """The graph of a kernel with what is known of its values, as LLVM IR is written from it."""
    plan = _plan(program, name, program.prepare(name), group_size, width)
    improved = improve_loops(plan, machine.target().natural_width)
    if improved is not plan:
        program.forget_graph()  # it is for this group size alone now
    return improved


def _plan(
    program: Program, name: str, prepared: Prepared, group_size: GroupSize, width: int | None
) -> Divergence:
    """The kernel's values for the number of lanes asked for, or for the best."""
    kernel = prepared.kernel
    is_free = not prepared.observes_subgroups and ExecutionMode.SubgroupSize not in program.modes(
        name
    )
    if width is None and is_free:
        return plan(kernel, group_size, machine.target().natural_width)
    lanes = width or program.signature(name).subgroup_size
    if lanes not in SUPPORTED_WIDTHS:
        raise BuildError(f"{name}: a sub-group of {lanes} work-items is not supported")
    if width is None:
        width = vector_of_subgroup(kernel, group_size, lanes, machine.target().natural_width)
    return Divergence(kernel, CFG(kernel), group_size, width, lanes)


def _write(program: Program, name: str, group_size: GroupSize, width: int | None) -> Code:
    prepared = program.prepare(name)
    divergence = analyse(program, name, group_size, width)
    placement, _ = place_variables(prepared.kernel, program.globals)
    _, types = describe_arguments(*program.function(name))
    contract = ExecutionMode.ContractionOff not in program.modes(name)
    registers = machine.target().registers
    signature = program.signature(name)
    writer = KernelWriter(divergence, types, signature, placement, contract, registers)
    return writer.write(prepared.has_barriers, prepared.cells)
