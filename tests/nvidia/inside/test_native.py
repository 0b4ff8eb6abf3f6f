"""Native binaries, and the code that the next module or process finds on disk."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pytest

import groundstate as gs
from groundstate import ze
from groundstate.compiler.cache import disk
from groundstate.compiler.errors import BuildError
from tests.nvidia.inside.conftest import SOURCE


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets nothing be compiled any more."""

    def compile_program(program: object, kernels: object = None) -> None:
        raise BuildError("nothing is compiled here")

    module = sys.modules["groundstate.compiler.program.ptx_program"]
    monkeypatch.setattr(module, "compile_program", compile_program)


def add(ctx: gs.Context, module: gs.Module, commands: gs.CommandList) -> None:
    """Runs a kernel of a module."""
    a = ctx.alloc_host(64, "float32")
    a.numpy()[:] = np.arange(64)
    module["add"].launch(a, a, a, global_size=64, group_size=64, on=commands)
    commands.synchronize()
    assert a.tolist() == [2.0 * each for each in range(64)]


def test_binary_runs_without_the_compiler(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary = module.native_binary()
    monkeypatch.setattr(disk, "get", lambda key: None)
    forbid(monkeypatch)
    with gs.Module(ctx, native=binary) as again:
        add(ctx, again, commands)
        assert again.kernel_names == module.kernel_names
        assert again.native_binary() == binary


def test_code_is_found_on_disk(
    ctx: gs.Context, commands: gs.CommandList, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = SOURCE.replace("counter[0]", "1")
    gs.Module(ctx, opencl=source).close()
    forbid(monkeypatch)
    with gs.Module(ctx, opencl=source) as found:
        add(ctx, found, commands)


def test_binary_of_cpu_is_for_another_gpu(ctx: gs.Context, cpu: gs.Device) -> None:
    with gs.Context(cpu) as other, gs.Module(other, opencl=SOURCE) as module:
        binary = module.native_binary()
    with pytest.raises(gs.LevelZeroError, match="for another GPU") as caught:
        gs.Module(ctx, native=binary)
    assert caught.value.code == ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY


def test_binary_of_gpu_is_for_another_cpu(module: gs.Module, cpu: gs.Device) -> None:
    with (
        gs.Context(cpu) as other,
        pytest.raises(gs.LevelZeroError, match=r"for another CPU \(GPU sm_90\)"),
    ):
        gs.Module(other, native=module.native_binary())


def test_what_cuda_does_not_take_is_compiled_again(
    ctx: gs.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = SOURCE.replace("counter[0]", "2")
    gs.Module(ctx, opencl=source).close()
    from groundstate.driver.devices.nvidia import native_gpu

    asked = []
    load = native_gpu.module_load

    def refuse_first(device: int, image: bytes) -> tuple[int, int, str]:
        asked.append(image)
        return load(device, b"no image" if len(asked) == 1 else image)

    monkeypatch.setattr(native_gpu, "module_load", refuse_first)
    gs.Module(ctx, opencl=source).close()
    assert [each[:6] for each in asked] == [b"cubin\n", b"cubin\n"]


def test_function_pointer_is_what_kernels_take(module: gs.Module) -> None:
    pointer = ctypes.c_void_p()
    result = ze.zeModuleGetFunctionPointer(module.handle, b"add", ctypes.byref(pointer))
    assert result == ze.ZE_RESULT_SUCCESS
    assert pointer.value
