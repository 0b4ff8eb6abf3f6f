"""The table of operations: complete, and the only place that knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import groundstate.compiler.codegen.kernel  # noqa: F401 - registers all writers
from groundstate.compiler import ir
from groundstate.compiler.codegen.arithmetic.tables import WRITERS
from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.ir.ops import LEAVES, OPERATIONS, REDUCTIONS, Category, Operation
from groundstate.compiler.lower.sampled_images import SAMPLE
from groundstate.compiler.spirv.types import Bool, Float, Int

NEVER_WRITTEN = LEAVES | {
    "Phi",
    "Copy",
    "SampledImage",
    SAMPLE,
    "GroupWaitEvents",
    "Refused",
    "CheckIndex",
    *("DebugDeclare", "LifetimeStop"),  # for the debugger, which steps
}
"""Leaves and phis, and what passes, control flow and the debugger take care of."""
COMPILER = Path(ir.__file__).parents[1]


def test_every_operation_is_written_in_one_way() -> None:
    templates = {name for name, row in OPERATIONS.items() if row.llvm}
    assert not templates & Emitter.HANDLERS.keys()
    assert not WRITERS.keys() & Emitter.HANDLERS.keys()
    assert not templates & WRITERS.keys()
    written = templates | WRITERS.keys() | Emitter.HANDLERS.keys()
    assert written == OPERATIONS.keys() - NEVER_WRITTEN


def test_shuffles_alone_have_a_source_lane() -> None:
    with_source = {name for name, row in OPERATIONS.items() if row.source_lane is not None}
    assert with_source == {
        name for name, row in OPERATIONS.items() if row.category is Category.SHUFFLE
    }


def test_reductions_exist_for_groups_and_subgroups() -> None:
    assert len(REDUCTIONS) == 32
    subgroups = [OPERATIONS[name] for name in REDUCTIONS if OPERATIONS[name].is_of_subgroup]
    groups = [OPERATIONS[name] for name in REDUCTIONS if not OPERATIONS[name].is_of_subgroup]
    assert [row.combines for row in subgroups] == [row.combines for row in groups]


COMPARISONS = [row for row in OPERATIONS.values() if row.swapped]


@pytest.mark.parametrize("row", COMPARISONS, ids=lambda row: row.name)
def test_negated_and_swapped_comparisons_agree(row: Operation) -> None:
    def holds(name: str, a: int, b: int) -> int:
        fold = OPERATIONS[name].fold
        assert fold is not None
        return fold.compute(Int(8), Bool(), a, b)

    for a in (0, 1, 127, 128, 255):
        for b in (0, 1, 127, 128, 255):
            assert holds(row.negated, a, b) == 1 - holds(row.name, a, b)
            assert holds(row.swapped, b, a) == holds(row.name, a, b)


@pytest.mark.parametrize(
    "row", [row for row in OPERATIONS.values() if row.fold], ids=lambda row: row.name
)
def test_fold_takes_as_many_operands_as_its_row(row: Operation) -> None:
    assert row.fold is not None
    assert row.fold.arity == row.types.fewest == row.types.most
    source = Float(32) if row.types.operand(0).kind in ("float", "ieee") else Int(32)
    result = {"bool": Bool(), "float": Float(32), "ieee": Float(32)}.get(
        row.types.result.kind, Int(32)
    )
    bits = row.fold.compute(source, result, *[1] * row.fold.arity)
    assert bits >> 32 == 0


ELSEWHERE = {
    "IAdd": {
        *("spirv/fold.py", "codegen/groups/operations.py", "ir/ops_groups.py"),
        "opt/fuse_dots.py",  # of a dot product
        *("instrument/bounds.py", "instrument/provenance.py"),  # addresses as numbers
        "analysis/intervals.py",
        *("instrument/races.py", "instrument/uninitialised.py"),  # the address of a vload
        "instrument/own_elements.py",  # y * width + x
        "opt/unroll_rows.py",  # what is counted, some iterations ahead
        "instrument/arithmetic.py",  # what may overflow
        *("codegen/thread/atomics.py", "codegen/thread/reductions.py"),
        "opt/indices/reduce_strides.py",  # what an index has besides a constant
        *("analysis/known_zeros.py", "opt/indices/sum_disjoint.py"),  # sums written as x << 2 | y
        "instrument/counting.py",  # addresses with a fixed step
        "step/together.py",  # of all lanes
        "opt/look_up_tables.py",  # the number of an entry
        "analysis/places.py",  # what an index is the sum of
        *("analysis/index_digits.py", "opt/split_range.py"),  # sums of digits
        "opt/indices/narrow_counters.py",  # a counter of 32 bits
    },
    "FAdd": {
        *("codegen/groups/operations.py", "ir/ops_groups.py"),
        *("instrument/arithmetic.py", "codegen/thread/atomics.py"),
        "instrument/counting.py",  # which operations count as such
        "step/together.py",  # of all lanes
        "analysis/rows.py",  # what products are added to
    },
    "ISub": {
        *("spirv/fold.py", "instrument/bounds.py", "analysis/intervals.py"),
        "instrument/arithmetic.py",
        "opt/unroll_rows.py",  # how many iterations are left
        "analysis/index_digits.py",  # sums of digits
        "instrument/counting.py",  # addresses with a fixed step
    },
    "PtrAccessChain": {
        "spirv_to_ir/instruction_support.py",
        "spirv_to_ir/inlining.py",  # of a load or store with a hint
        "opt/indices/reduce_strides.py",  # pointers that move
        "instrument/group_copies.py",  # the elements of a copy
        "instrument/counting.py",  # addresses with a fixed step
    },
    "UMod": {  # indices that start over
        "analysis/speculated_strides.py",
        "codegen/arithmetic/quotients.py",  # one division for all lanes
        "codegen/arithmetic/constant_divisors.py",  # of 64 bits, by products
        "instrument/shadow_values.py",  # which bits of a result depend on which
        *("analysis/intervals.py", "analysis/lane_blocks.py", "instrument/arithmetic.py"),
        *("analysis/index_digits.py", "opt/split_range.py"),  # digits of a number
    },
    "FOrdEqual": set(),
    "GroupNonUniformShuffle": {"instrument/shadow_values.py", "instrument/convergence.py"},
    "Select": {
        *("opt/simplify.py", "spirv/fold.py"),  # constant choices
        *("opt/unroll.py", "codegen/control/extremes.py"),  # min and max
        "analysis/waiting.py",  # conditions
        *("instrument/bounds.py", "instrument/provenance.py"),  # of pointers and bounds
        *("instrument/shadow_values.py", "instrument/uninitialised.py"),  # of shadows
        "instrument/shadow_memory.py",  # of pointers
        "instrument/races.py",  # the address of an exchange that writes
        *("analysis/intervals.py", "analysis/known_zeros.py", "instrument/demand.py"),
        "opt/merge_exits.py",  # which of two exits it was
        "opt/if_convert.py",  # in the place of phis
        *("step/parts.py", "step/compiled.py"),  # of composites, and of truth values
        "opt/nan_extremes.py",  # the larger of two numbers, or NaN
    },
}
"""Files that name an operation besides its row and its writer: how constants that are addresses
are folded, how lanes are reduced, other names of an instruction, and patterns to look for."""
WRITER = r"@handles\([^)]*\"{0}\"|^    \"{0}\": _"


@pytest.mark.parametrize("name", ELSEWHERE)
def test_operation_is_named_in_few_files(name: str) -> None:
    naming = set()
    for path in COMPILER.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        is_writer = "codegen" in path.parts and re.search(WRITER.format(name), text, re.MULTILINE)
        is_row = path.parent.name == "ir" and path.name == "ops_arithmetic.py"
        is_row |= path.name == "ops_memory.py" or (path.name == "ops_groups.py" and "Group" in name)
        is_made_elsewhere = path.parent.name == "opencl" or path.name in (
            "opcodes.py",
            "grammar.py",
        )
        if is_writer or is_row or is_made_elsewhere:
            continue
        if re.search(rf'["\s]{name}["\s]|Op\.{name}\b', text):
            naming.add(str(path.relative_to(COMPILER)))
    assert naming == ELSEWHERE[name]
