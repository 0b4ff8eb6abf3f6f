"""A few random kernels; `python -m tests.compiler.random.fuzz_kernels` runs more."""

from __future__ import annotations

import pytest

from tests.compiler.opencl import second_compiler
from tests.compiler.random.fuzz_kernels import check, source
from tests.compiler.random.peer_pocl import POCL, Peer

SEEDS = range(5)
SEEDS_FOR_POCL = range(100, 102)


def test_a_seed_makes_one_kernel() -> None:
    assert source([7]) == source([7])
    assert source([7]) != source([8])


@pytest.mark.parametrize("seed", SEEDS)
def test_all_widths_and_both_compilers_agree(seed: int) -> None:
    try:
        assert check([seed]) == []
    except second_compiler.MissingError as problem:
        pytest.skip(str(problem))


def test_pocl_agrees() -> None:
    try:
        Peer()
    except LookupError as problem:
        pytest.skip(str(problem))
    assert check(SEEDS_FOR_POCL, POCL) == []
