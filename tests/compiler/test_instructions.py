"""Each instruction of SPIR-V by itself, with one lane and with several, against NumPy."""

from __future__ import annotations

import pytest

import tests.compiler.instructions_arithmetic
import tests.compiler.instructions_atomics
import tests.compiler.instructions_builtins
import tests.compiler.instructions_composites
import tests.compiler.instructions_control
import tests.compiler.instructions_conversions
import tests.compiler.instructions_groups
import tests.compiler.instructions_integers
import tests.compiler.instructions_memory
import tests.compiler.instructions_memory_more
import tests.compiler.instructions_opencl
import tests.compiler.instructions_shuffles  # noqa: F401 - each adds its cases
from tests.compiler.instruction_support import Batch, batches

BATCHES = batches()


@pytest.mark.parametrize("batch", BATCHES, ids=lambda batch: batch.name)
def test_instructions_compute_what_they_should(batch: Batch) -> None:
    batch.check()
