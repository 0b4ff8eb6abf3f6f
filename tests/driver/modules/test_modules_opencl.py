"""Modules in OpenCL C, as Intel's driver takes them: ZE_MODULE_FORMAT_OCLC."""

import random
from collections.abc import Iterator

import pytest

from groundstate import ze
from groundstate.compiler.opencl import clang, prebuilt
from groundstate.extras import MODULE_FORMAT_OPENCL_C
from tests.conftest import last_error
from tests.driver.kernels import KernelBench, launch, module_description
from tests.driver.modules.test_modules import create, names
from tests.driver.support import finish

SCALE = b"kernel void scale(global int *out) { out[get_global_id(0)] *= FACTOR; }"


@pytest.fixture
def real(driver: int, device: int) -> Iterator[KernelBench]:
    bench = KernelBench(driver, device)
    yield bench
    bench.close()


def build(bench: KernelBench, source: bytes, options: bytes = b"") -> tuple[int, int, str]:
    return create(bench, module_description(source, options, format=MODULE_FORMAT_OPENCL_C))


@pytest.mark.parametrize("end", [b"", b"\0"])
def test_source_with_options_becomes_a_module(real: KernelBench, end: bytes) -> None:
    options = b"-cl-std=CL2.0 -D FACTOR=3 -cl-mad-enable -ze-opt-level 2"
    result, module, log = build(real, SCALE + end, options)
    assert (result, log) == (ze.ZE_RESULT_SUCCESS, "")
    assert names(module) == ["scale"]
    out, commands = real.array(8, "int32"), real.immediate()
    out[:] = range(8)
    launch(commands, real.kernel_in(module, "scale", out, size=(8, 1, 1)), 1)
    finish(commands)
    assert (out == [3 * each for each in range(8)]).all()


def test_mistake_in_source_is_told_in_the_log(real: KernelBench) -> None:
    result, _, log = build(real, SCALE)
    assert result == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    assert "kernel.cl:1:" in log
    assert "undeclared identifier 'FACTOR'" in log


def test_unknown_option_with_source_is_a_warning(real: KernelBench) -> None:
    result, _, log = build(real, SCALE, b"-D FACTOR=1 -cl-intel-256-GRF-per-thread")
    assert result == ze.ZE_RESULT_SUCCESS
    assert "-cl-intel-256-GRF-per-thread is not known and was ignored" in log


def test_open_quotation_in_options_of_source_fails(real: KernelBench) -> None:
    result, _, log = build(real, SCALE, b"-D FACTOR='1")
    assert result == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    assert "the options cannot be read" in log


def test_source_without_a_compiler_says_what_to_install(
    real: KernelBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise clang.ClangMissingError(clang.NOT_FOUND)

    monkeypatch.setattr(clang, "find", missing)
    monkeypatch.setattr(prebuilt, "get", lambda *_: None)
    result, _, log = build(real, SCALE, b"-D FACTOR=5")
    assert result == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    assert "pip install 'groundstate[opencl]'" in log


@pytest.mark.needs_compiler
def test_garbage_as_source_fails_and_no_more(real: KernelBench) -> None:
    for garbage in (
        b"\0",
        b"\xff\xfe\x80",
        b"\x03\x02\x23\x07" * 8,
        random.Random(1).randbytes(300),
    ):
        result, module, log = build(real, garbage)
        if result == ze.ZE_RESULT_SUCCESS:
            assert names(module) == []
        else:
            assert result == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
            assert log[:40] in last_error()
