"""The pipelines: from a kernel in SPIR-V to LLVM IR, as lists of passes. A target names its own.

`lower` runs once for a kernel, and knows nothing of group sizes. `specialise` makes a variant of a
copy: it chooses how many work-items run side by side, and runs the passes that depend on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from groundstate import knobs
from groundstate.compiler.analysis import facts
from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.analysis.index_digits import MOST_ITEMS
from groundstate.compiler.analysis.rows import ONE_BY_ONE, Lockstep, rows_together
from groundstate.compiler.codegen.control.flow import NeedsOneLane
from groundstate.compiler.codegen.kernel import Code, KernelWriter
from groundstate.compiler.codegen.tile_loop import TileLoop, TileWriter, tiled_code
from groundstate.compiler.errors import BuildError
from groundstate.compiler.instrument.drop_guards import drop_guards
from groundstate.compiler.instrument.forget_indices import forget_indices
from groundstate.compiler.ir import Kernel, deadline
from groundstate.compiler.ir.passes import Analyses, Pass, Variant, run_passes
from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.limits import check_private
from groundstate.compiler.lower.barriers import split_at_barriers
from groundstate.compiler.lower.builtins import lower_builtins
from groundstate.compiler.lower.casts import lower_known_casts
from groundstate.compiler.lower.copies import lower_copies
from groundstate.compiler.lower.group_operations import lower_group_operations
from groundstate.compiler.lower.sampled_images import split_sampled_images
from groundstate.compiler.opt.distribute import distribute_loops
from groundstate.compiler.opt.fuse_dots import fuse_dots
from groundstate.compiler.opt.hoist_loads import hoist_loads
from groundstate.compiler.opt.if_convert import if_convert
from groundstate.compiler.opt.indices.narrow import narrow_induction
from groundstate.compiler.opt.indices.narrow_counters import narrow_counters
from groundstate.compiler.opt.indices.nowrap import (
    version_for_no_wrap,
    version_products_for_no_wrap,
)
from groundstate.compiler.opt.indices.reduce_strides import reduce_strides
from groundstate.compiler.opt.indices.sum_disjoint import sum_disjoint
from groundstate.compiler.opt.indices.trust_indices import trust_indices
from groundstate.compiler.opt.look_up_tables import look_up_tables
from groundstate.compiler.opt.mem2reg import promote_variables
from groundstate.compiler.opt.merge_exits import merge_exits
from groundstate.compiler.opt.merge_loads import merge_loads
from groundstate.compiler.opt.merge_stores import merge_stores
from groundstate.compiler.opt.nan_extremes import nan_extremes
from groundstate.compiler.opt.narrow_exits import narrow_exits
from groundstate.compiler.opt.prefetch import prefetch
from groundstate.compiler.opt.relieve_pressure import relieve_pressure
from groundstate.compiler.opt.simplify import simplify
from groundstate.compiler.opt.sink_common import sink_common
from groundstate.compiler.opt.thread_comparisons import thread_comparisons
from groundstate.compiler.opt.unroll import unroll
from groundstate.compiler.opt.unroll_barriers import unroll_barrier_loops
from groundstate.compiler.opt.unroll_rows import unroll_rows
from groundstate.compiler.program.signature import describe_arguments
from groundstate.compiler.program.symbols import Symbols
from groundstate.compiler.program.variables import place_variables
from groundstate.compiler.spirv.opcodes import ExecutionMode
from groundstate.compiler.spirv_to_ir.kernel_ir import build_kernel
from groundstate.compiler.spirv_to_ir.legality import check_lowered
from groundstate.compiler.target import Target
from groundstate.compiler.target.range_tiles import Tiles, tiles_of
from groundstate.compiler.target.shapes import shape_alone, shape_of, shapes, variant_of
from groundstate.compiler.target.vector_width import plan, vector_of_subgroup

if TYPE_CHECKING:
    from groundstate.compiler.program.kernel_compiler import GroupSize
    from groundstate.compiler.program.program import Program

SIMPLIFY = Pass("simplify", simplify, keeps=(CFG,))
NARROW_COUNTERS = Pass("narrow-counters", narrow_counters, keeps=(CFG,), is_optional=True)
IF_CONVERT = Pass("if-convert", if_convert, is_optional=True)

LOWERING = (
    SIMPLIFY,
    Pass("mem2reg", promote_variables),
    Pass("split-sampled-images", split_sampled_images, keeps=(CFG,)),
    Pass("lower-builtins", lower_builtins, keeps=(CFG,)),
    Pass("lower-known-casts", lower_known_casts, keeps=(CFG,)),
    Pass("lower-copies", lower_copies, keeps=(CFG,)),
    Pass("lower-group-operations", lower_group_operations, keeps=(CFG,)),
    Pass("split-at-barriers", split_at_barriers),
    SIMPLIFY,
)
"""What every target needs, whatever the group size."""

VECTOR_LOWERING = (
    *LOWERING,
    Pass("sink-common", sink_common, keeps=(CFG,), is_optional=True),
    Pass("thread-comparisons", thread_comparisons, keeps=(CFG,), is_optional=True),
    Pass("nan-extremes", nan_extremes, keeps=(CFG,), is_optional=True),
    Pass("narrow-exits", narrow_exits, keeps=(CFG,), is_optional=True),
    Pass("narrow-induction", narrow_induction, keeps=(CFG,), is_optional=True),
    Pass("trust-indices", trust_indices, keeps=(CFG,), is_optional=True),
    SIMPLIFY,
)
"""The same for a CPU with vectors, and what shows how lanes go along memory."""

SIZED = (Pass("sum-disjoint", sum_disjoint, keeps=(CFG,), is_optional=True),)
"""For a CPU with vectors, before it is known how many work-items run side by side."""

VECTOR = (
    NARROW_COUNTERS,
    IF_CONVERT,
    Pass("unroll-barriers", unroll_barrier_loops, is_optional=True),
    Pass("unroll", unroll, is_optional=True),
    Pass("unroll-rows", unroll_rows, is_optional=True),
    Pass("drop-guards", drop_guards, keeps=(CFG,), is_optional=True),
    Pass("look-up-tables", look_up_tables, keeps=(CFG,), is_optional=True),
    Pass("merge-loads", merge_loads, keeps=(CFG,), is_optional=True),
    Pass("merge-stores", merge_stores, keeps=(CFG,), is_optional=True),
    Pass("prefetch", prefetch, keeps=(CFG,), is_optional=True),
    Pass("relieve-pressure", relieve_pressure, is_optional=True),
    Pass("hoist-loads", hoist_loads, is_optional=True),
    Pass("no-wrap", version_for_no_wrap, is_optional=True),
    Pass("distribute-loops", distribute_loops, is_optional=True),
    Pass("fuse-dots", fuse_dots, keeps=(CFG,), is_optional=True),
    SIMPLIFY,
)
"""For a CPU with vectors, when it is known how many work-items run side by side."""


REFILLED_VECTOR = (
    NARROW_COUNTERS,
    IF_CONVERT,
    Pass("look-up-tables", look_up_tables, keeps=(CFG,), is_optional=True),
    Pass("merge-loads", merge_loads, keeps=(CFG,), is_optional=True),
    Pass("merge-stores", merge_stores, keeps=(CFG,), is_optional=True),
    Pass("fuse-dots", fuse_dots, keeps=(CFG,), is_optional=True),
    SIMPLIFY,
)
"""The same where lanes are in different iterations."""


THREAD_LOWERING = (
    *LOWERING,
    Pass("no-wrap-products", version_products_for_no_wrap, is_optional=True),
    Pass("reduce-strides", reduce_strides, keeps=(CFG,), is_optional=True),
    Pass("merge-exits", merge_exits, is_optional=True),
    SIMPLIFY,
)
"""For a GPU, where LLVM and the assembler do the rest."""


@light_dataclass()
class Pipeline:
    """The passes of one kind of target."""

    lowering: tuple[Pass, ...]
    """Run once for a kernel."""
    variant: tuple[Pass, ...]
    """Run for each group size, on a copy."""
    refilled: tuple[Pass, ...] = (SIMPLIFY,)
    """The same if lanes take the next work-items when they are done: no loop is copied."""
    sized: tuple[Pass, ...] = ()
    """Run for each group size before those, and before it is known how lanes run."""


PIPELINES = {
    "vector": Pipeline(VECTOR_LOWERING, VECTOR, REFILLED_VECTOR, SIZED),
    "scalar": Pipeline(LOWERING, (SIMPLIFY,)),
    "thread": Pipeline(THREAD_LOWERING, ()),
}
"""By the name that a target gives (`Target.pipeline`)."""

INITIALISER = "__const."
"""How clang calls what a variable begins with, which it may use instead of the variable."""

TILED_SHAPES = ("measured", "vector")
"""What `GROUNDSTATE_SHAPE` may say for ranges to run in tiles."""

FORGET_INDICES = Pass("forget-indices", forget_indices, keeps=(CFG,))

PASSES = {
    step.name: step
    for each in PIPELINES.values()
    for step in each.lowering + each.sized + each.variant
}
PASSES[FORGET_INDICES.name] = FORGET_INDICES
"""The passes of all pipelines, by name; those of checked mode are in `instrument/passes.py`."""


def lower(symbols: Symbols, name: str, target: Target, checks: Sequence[str] = ()) -> Kernel:
    """A kernel, built anew, ready to be specialised to any group size; with what checkers need."""
    with deadline.limited(name):
        kernel = build_kernel(symbols, name)
        kernel.keeps_loads = bool(checks)
        analyses = Analyses(kernel, target)
        run_passes(PIPELINES[target.pipeline].lowering, kernel, analyses)
        kernel.keeps_loads = False
        if "memory" not in checks:
            run_passes([FORGET_INDICES], kernel, analyses)
        if checks:
            from groundstate.compiler.instrument import passes

            run_passes(passes.wanted(checks), kernel, analyses)
        _name_variables(kernel, symbols)
    check_private(name, facts.private_bytes(kernel))
    return kernel


def _name_variables(kernel: Kernel, symbols: Symbols) -> None:
    """Gives the variables in sites the names that their modules have for them."""
    for site in kernel.sites:
        if isinstance(site.get("variable"), list):
            home, identifier = site["variable"]
            name = symbols.modules[home].names.get(identifier, "")
            site["variable"] = name.removeprefix(INITIALISER)


def check(program: Program, name: str) -> None:
    """Raises BuildError if a kernel cannot be compiled, whatever the group size."""
    kernel = program.kernel(name)
    placement, _ = place_variables(kernel, program.globals)
    lanes = _subgroup_size(program, name)
    check_lowered(kernel, placement, lanes if CFG(kernel).reducible else 1)


def _subgroup_size(program: Program, name: str, width: int | None = None) -> int:
    """How many work-items a sub-group has: as many as asked for, or as the kernel says."""
    lanes = width or program.signature(name).subgroup_size
    if lanes not in program.target.subgroup_sizes:
        raise BuildError(
            f"kernel '{name}', OpExecutionMode SubgroupSize: a sub-group of {lanes} work-items is "
            "not supported"
        )
    return lanes


def specialise(
    program: Program, name: str, group_size: GroupSize, width: int | None = None
) -> Divergence:
    """A copy of a kernel for a group size, with what is known of its values: all that code
    generation needs."""
    return _optimised(_plan(program, name, _sized(program, name, group_size), group_size, width))


def _optimised(divergence: Divergence) -> Divergence:
    """What is known of a kernel's values when the passes for a variant have run."""
    analyses = Analyses(divergence.kernel, divergence.target, divergence.variant)
    analyses.put(divergence.cfg)
    analyses.put(divergence)
    pipeline = PIPELINES[divergence.target.pipeline]
    passes = pipeline.refilled if divergence.variant.refills else pipeline.variant
    run_passes(passes, divergence.kernel, analyses)
    return analyses.get(Divergence)


def _sized(program: Program, name: str, group_size: GroupSize) -> Kernel:
    """A copy of a kernel, with what follows from the group size alone."""
    kernel = program.kernel(name).copy()
    analyses = Analyses(kernel, program.target, Variant(group_size, 1, 1))
    run_passes(PIPELINES[program.target.pipeline].sized, kernel, analyses)
    return kernel


def _is_width_free(program: Program, name: str, kernel: Kernel) -> bool:
    """True if nobody can tell how many work-items run side by side."""
    is_promised = ExecutionMode.SubgroupSize in program.modes(name)
    return not is_promised and not kernel.observes_subgroups


def shapes_of(program: Program, name: str, group_size: GroupSize) -> tuple[int, ...]:
    """The widths that a kernel may run with, the one to begin with first; none: as it is best."""
    kernel = program.kernel(name)
    if not _is_width_free(program, name, kernel) or not CFG(kernel).reducible:
        return ()
    usual = plan(_sized(program, name, group_size), group_size, program.target)
    return () if _tiles(program, usual) is not None else shapes(usual)


def _tiles(program: Program, usual: Divergence) -> Tiles | None:
    """The tiles that a kernel's range is best run in, if that is better than how it would run."""
    is_wanted = knobs.SHAPE.get() in TILED_SHAPES
    return tiles_of(usual) if is_wanted and not program.checks else None


def _plan(
    program: Program, name: str, kernel: Kernel, group_size: GroupSize, width: int | None
) -> Divergence:
    """The kernel's values for the number of lanes asked for, or for the best."""
    target = program.target
    if width is None and _is_width_free(program, name, kernel):
        return plan(kernel, group_size, target)
    if width is None:
        lanes = _subgroup_size(program, name)
        width = vector_of_subgroup(kernel, group_size, lanes, target.lanes)
        variant = Variant(group_size, width, lanes)
    else:
        variant = variant_of(width, group_size)
        if variant.width not in target.widths or not _is_width_free(program, name, kernel):
            _subgroup_size(program, name, variant.width)  # it must be one that there is
    return Divergence(kernel, CFG(kernel), variant, target)


def write(
    program: Program,
    name: str,
    group_size: GroupSize,
    width: int | None = None,
    is_marked: bool = False,
) -> Code:
    """LLVM IR of a kernel for a group size, with remarks on where it comes from if `is_marked`."""
    with deadline.limited(name):
        try:
            return _write(program, name, group_size, width, is_marked)
        except NeedsOneLane:
            return _write(program, name, group_size, shape_alone(width or 0), is_marked)


def _write(
    program: Program, name: str, group_size: GroupSize, width: int | None, is_marked: bool
) -> Code:
    planned = _plan(program, name, _sized(program, name, group_size), group_size, width)
    if width is None and _is_width_free(program, name, planned.kernel):
        tiles = _tiles(program, planned)
        if tiles is not None:
            return _write_tiles(program, name, planned, tiles)
    divergence = _optimised(planned)
    writer = _writer(program, name, KernelWriter, divergence, rows_together(divergence))
    writer.context.is_marked = is_marked
    return writer.write(divergence.kernel.cells)


W = TypeVar("W", bound=KernelWriter)


def _writer(
    program: Program, name: str, kind: type[W], divergence: Divergence, lockstep: Lockstep
) -> W:
    """What writes the code of a kernel whose values are known."""
    placement, _ = place_variables(program.kernel(name), program.globals)
    _, types = describe_arguments(*program.function(name))
    contract = ExecutionMode.ContractionOff not in program.modes(name)
    return kind(divergence, types, program.signature(name), placement, contract, lockstep)


def _write_tiles(program: Program, name: str, usual: Divergence, tiles: Tiles) -> Code:
    """LLVM IR of a kernel whose range is run in tiles."""
    target, (items, _, _) = usual.target, usual.group_size

    def written(values: Divergence) -> TileWriter:
        values = _optimised(values)
        lockstep = rows_together(values, True)
        writer = _writer(program, name, TileWriter, values, lockstep)
        writer.items_of_group = items
        return writer

    fast, edge = written(tiles.values(target)), None
    if not tiles.has_whole_vectors:
        edge = written(tiles.values_anywhere(target))
    elif tiles.rows > 1:
        edge = written(tiles.values(target, rows=1))
    by_item = Divergence(usual.kernel, usual.cfg, Variant(usual.group_size, 1, 1), target)
    item = _writer(program, name, KernelWriter, _optimised(by_item), ONE_BY_ONE)
    loop = TileLoop(
        items,
        tiles.range.columns,
        tiles.distance,
        tiles.range.limit or MOST_ITEMS,
        tiles.lanes,
        tiles.rows,
        tiles.vectors,
        fast.lockstep,
        tiles.has_whole_vectors,
        tiles.block,
        tiles.stride,
    )
    return tiled_code(loop, fast, edge, item, shape_of(usual.variant))
