"""Random graphs of blocks give the same results with one lane and with several."""

from __future__ import annotations

import pytest

from tests.compiler.random.random_flow import differences


@pytest.mark.parametrize("seed", [92, *range(24)])
def test_one_lane_and_several_agree(seed: int) -> None:
    assert not differences(seed)
