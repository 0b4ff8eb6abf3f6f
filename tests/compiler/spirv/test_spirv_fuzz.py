"""A short run of the fuzzer, and everything that it once found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiler.spirv.fuzz_spirv import (
    BATCH,
    Failure,
    batches,
    check,
    corpus,
    keep,
    run_batch,
    seed_modules,
)

COUNT = 5_000


KEPT = dict(corpus())


@pytest.mark.parametrize("name", KEPT)
def test_past_fuzz_failures_do_not_fail_again(name: str) -> None:
    failure = check(0, KEPT[name])
    assert failure is None, failure.report if failure else ""


def test_changed_modules_are_read_or_refused() -> None:
    modules = seed_modules(None)
    failures = [failure for seeds in batches(0, COUNT) for failure in run_batch(modules, seeds)]
    assert [(failure.seed, failure.report) for failure in failures] == []


def test_batches_cover_every_seed_once() -> None:
    seeds = [seed for batch in batches(7, 2 * BATCH + 3) for seed in batch]
    assert seeds == list(range(7, 7 + 2 * BATCH + 3))


def test_a_failure_is_kept_as_text(tmp_path: Path) -> None:
    path = keep(Failure(5, b"\x01\x02\x03\x04" * 9, "a\nb"), tmp_path)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["; a", "; b"]
    assert bytes.fromhex("".join(lines[2:])) == b"\x01\x02\x03\x04" * 9
