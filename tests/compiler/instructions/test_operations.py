"""The table of operations: complete, and the only place that knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import groundstate.compiler.codegen.kernel  # noqa: F401 - registers all writers
from groundstate.compiler import ir
from groundstate.compiler.analysis.lane_values import SHUFFLES
from groundstate.compiler.codegen.arithmetic.tables import WRITERS
from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.ir.ops import LEAVES, OPERATIONS, Category, named
from groundstate.compiler.ir.verifier import KINDS

NEVER_WRITTEN = LEAVES | {"Phi", "Copy", "SampledImage", "GroupWaitEvents", "Refused"}
"""Leaves and phis, and what passes and control flow take care of."""


def test_every_operation_is_written_in_one_way() -> None:
    templates = {name for name, row in OPERATIONS.items() if row.llvm}
    assert not templates & Emitter.HANDLERS.keys()
    assert not WRITERS.keys() & Emitter.HANDLERS.keys()
    assert not templates & WRITERS.keys()
    written = templates | WRITERS.keys() | Emitter.HANDLERS.keys()
    assert written == OPERATIONS.keys() - NEVER_WRITTEN


def test_shuffles_are_those_of_the_table() -> None:
    assert SHUFFLES.keys() == named(Category.SHUFFLE)


@pytest.mark.parametrize("row", OPERATIONS.values(), ids=lambda row: row.name)
def test_signature_has_known_kinds(row: ir.ops.Operation) -> None:
    assert {*row.operands, row.result.removesuffix("?")} <= {*KINDS, "...", "void"}


def test_addition_is_known_to_its_row_and_few_others() -> None:
    """What is known of an operation stands in its row: names of operations are rare elsewhere."""
    folder = Path(ir.__file__).parents[1]
    naming = {
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        if re.search(r'"IAdd"', path.read_text(encoding="utf-8"))
    }
    assert len(naming) <= 9, sorted(naming)
