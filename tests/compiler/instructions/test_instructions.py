"""Each instruction of SPIR-V by itself, with one lane and with several, against NumPy."""

from __future__ import annotations

import pytest

import tests.compiler.instructions.arithmetic
import tests.compiler.instructions.atomics
import tests.compiler.instructions.builtins
import tests.compiler.instructions.composites
import tests.compiler.instructions.control
import tests.compiler.instructions.conversions
import tests.compiler.instructions.groups
import tests.compiler.instructions.integers
import tests.compiler.instructions.memory
import tests.compiler.instructions.memory_more
import tests.compiler.instructions.opencl_std
import tests.compiler.instructions.shuffles  # noqa: F401 - each adds its cases
from tests.compiler.instructions.instruction_support import Batch, batches

BATCHES = batches()


@pytest.mark.parametrize("batch", BATCHES, ids=lambda batch: batch.name)
def test_instructions_compute_what_they_should(batch: Batch) -> None:
    batch.check()
