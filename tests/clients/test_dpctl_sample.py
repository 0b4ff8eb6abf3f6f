"""A sample of dpctl's own tests, on both adapters; `make test-clients` runs all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from .devices import DEVICES
from .running import DIED, FAILED, PASSED, FileRun
from .suites import ROOT, SUITES

SYCL = ROOT / ".venv" / "sycl"
WITHOUT_BUILDS = "not test_cython_api and not test_c_headers and not test_main"
"""What those build or start takes longer than all the others."""


@pytest.mark.parametrize(("device", "seed"), [("older", 1), ("newer", 2)])
def test_a_sample_of_them_passes(device: str, seed: int, tmp_path: Path) -> None:
    files = SUITES["dpctl"].files(SYCL)
    if not files:
        pytest.skip("there is no Python with dpctl: make .venv/sycl/.installed")
    run = FileRun(
        client=SYCL,
        device=DEVICES[device],
        file=files[0].parent,
        journal=tmp_path / "dpctl.jsonl",
        limit_s=200,
        sample=200,
        seed=seed,
        options=("-k", WITHOUT_BUILDS),
    )
    result = run.run()
    assert not result.trouble, (tmp_path / "dpctl.log").read_text(encoding="utf-8")[-2000:]
    counts = result.counts
    assert {
        name: each for name, each in result.tests.items() if each.result in (FAILED, DIED)
    } == {}
    assert counts[PASSED] > 50
