"""Targets: which one a machine is, and that each compiles kernels to the same results."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from groundstate.compiler import pipeline
from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Kernel
from groundstate.compiler.ir.passes import Analyses, Pass
from groundstate.compiler.light_dataclass import replace
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.target import Target
from groundstate.compiler.target.aarch64 import NEON
from groundstate.compiler.target.host import host, on_this_machine
from groundstate.compiler.target.scalar import SCALAR
from groundstate.compiler.target.x86 import AVX, AVX2, AVX512, AVX512F, SSE
from tests.compiler import runner
from tests.compiler.instructions.test_barrier_fences import aarch64_assembly
from tests.compiler.kernels import Case, differences
from tests.compiler.vector.test_cases import HAS_ONE_ANSWER_PER_WIDTH, SILENT, run

X86 = "x86_64-unknown-linux-gnu"
SOURCE = """
kernel void collatz(global const uint *start, global uint *steps) {
    uint n = start[get_global_id(0)], count = 0;
    for (; n > 1; count++) n = n % 2 ? 3 * n + 1 : n / 2;
    steps[get_global_id(0)] = count;
}
kernel void who(global uint *out) { out[get_global_id(0)] = get_sub_group_size(); }
__attribute__((intel_reqd_sub_group_size(16)))
kernel void sixteen(global uint *out) { out[get_global_id(0)] = get_sub_group_size(); }
"""
START = np.arange(1, 97, dtype=np.uint32)


@cache
def spirv() -> bytes:
    return compile_opencl(SOURCE, options=["-cl-std=CL3.0"])


@cache
def scalar_program(file: str, standard: str) -> Program:
    source = next(case.source for case in SILENT if case.file == file)
    return Program(compile_opencl(source, options=[f"-cl-std={standard}"]), target=SCALAR)


def steps(target: Target | None) -> list[int]:
    counted = np.zeros_like(START)
    runner.run(Program(spirv(), target=target), "collatz", (3, 1, 1), (32, 1, 1), START, counted)
    return counted.tolist()


@pytest.mark.parametrize(
    ("features", "triple", "expected"),
    [
        ("+avx,+avx2,+avx512f,+avx512vl", X86, AVX512),
        ("+avx,+avx2,+avx512f,-avx512vl", X86, AVX512F),
        ("+avx,+avx2,-avx512f", X86, AVX2),
        ("+avx,-avx2", X86, AVX),
        ("+sse2", X86, SSE),
        ("+neon,+sve", "aarch64-unknown-linux-gnu", NEON),
    ],
)
def test_features_lead_to_a_description(features: str, triple: str, expected: Target) -> None:
    found = on_this_machine("cpu", features, triple)
    assert found == replace(expected, cpu="cpu", features=features, triple=triple)


HALVES = """
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void f(global half *a) {
    size_t i = get_global_id(0); a[i] = fma(a[i], a[i], (half)1); }
"""


def test_machine_with_half_arithmetic_uses_it() -> None:
    features = "+avx,+avx2,+f16c,+avx512f,+avx512vl,+avx512bw"
    spirv = compile_opencl(HALVES)
    plain, with_halves = (
        Program(spirv, target=on_this_machine("x86-64", each, X86)).write("f", (64, 1, 1)).text
        for each in (features, f"{features},+avx512fp16")
    )
    assert "llvm.fma.v" not in plain
    assert re.search(r"call <\d+ x half> @llvm\.fma\.v\d+f16", with_halves)


def test_every_target_has_a_pipeline() -> None:
    for target in (SSE, AVX, AVX2, AVX512F, AVX512, NEON, SCALAR):
        assert target.pipeline in pipeline.PIPELINES
        assert target.subgroup_size in target.subgroup_sizes


@pytest.mark.parametrize(
    "case",
    [case for case in SILENT if not case.needs & set(HAS_ONE_ANSWER_PER_WIDTH)],
    ids=lambda case: case.identity,
)
def test_scalar_and_host_agree(case: Case) -> None:
    scalar = run(case, None, scalar_program(case.file, case.standard))
    assert differences(case, run(case, None), scalar) == []


def test_scalar_code_has_one_lane() -> None:
    program = Program(spirv(), target=SCALAR)
    code = program.write("collatz", (64, 1, 1))
    assert code.lanes == 1
    assert " x i32>" not in code.text
    assert Program(spirv()).write("collatz", (64, 1, 1)).lanes == host().lanes * 2


def test_scalar_subgroups_have_one_work_item() -> None:
    sizes = np.zeros(8, np.uint32)
    runner.run(Program(spirv(), target=SCALAR), "who", (1, 1, 1), (8, 1, 1), sizes)
    assert sizes.tolist() == [1] * 8


def test_subgroup_size_unknown_to_target_refused() -> None:
    with pytest.raises(BuildError, match="a sub-group of 16 work-items is not supported"):
        Program(spirv(), target=SCALAR).check("sixteen")


def test_target_brings_its_own_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A back end is a description and a list of passes: nothing else has to know of it."""
    monkeypatch.setenv("GROUNDSTATE_CACHE", str(tmp_path / "cache"))
    seen: list[str] = []

    def look(kernel: Kernel, analyses: Analyses) -> bool:
        """Notes which kernels come along, and for which target."""
        seen.append(f"{kernel.name} for {analyses.target.name}")
        return False

    own = pipeline.Pipeline(pipeline.LOWERING, (Pass("look", look), pipeline.SIMPLIFY))
    monkeypatch.setitem(pipeline.PIPELINES, "own", own)
    target = replace(host(), name="mine", pipeline="own", vectors_per_value=1)
    assert steps(target) == steps(None) == steps(SCALAR)
    assert seen == ["collatz for mine"]


@pytest.mark.parametrize("target", [SSE, AVX2, SCALAR], ids=lambda target: target.name)
def test_targets_that_an_x86_can_run_agree(target: Target) -> None:
    if not host().triple.startswith("x86_64") or target.lanes > host().lanes:
        pytest.skip("this machine does not have it")
    assert steps(target) == steps(None)


@pytest.mark.parametrize("width", [None, 1])
def test_code_for_aarch64_has_its_vectors(width: int | None) -> None:
    text = Program(spirv(), target=NEON).write("collatz", (64, 1, 1), width).text
    assert ("<8 x i32>" in text) == (width is None)
    assert "x86" not in text
    assert (".4s" in aarch64_assembly(text, "+neon")) == (width is None)


def test_targets_have_separate_cache_entries() -> None:
    identities = {Program(spirv(), target=target).identity for target in (None, SCALAR, AVX2)}
    assert len(identities) == 3
