"""Code of a GPU that is kept: native binaries, and what the next process finds on disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import groundstate as gs
from groundstate.compiler.cache import disk
from groundstate.compiler.errors import BuildError
from groundstate.compiler.program import ptx_program

SOURCE = """
constant float table[4] = {1, 2, 3, 4};
global int calls = 40;
kernel void scale(global float *out, float by) {
    out[get_global_id(0)] = out[get_global_id(0)] * by + table[get_global_id(0) & 3];
}
kernel void count(global int *out) { if (get_global_id(0) == 0) *out = ++calls; }
"""
AGAIN = """
import sys
import groundstate as gs
from groundstate.compiler.llvm import service
def start(): raise SystemExit("LLVM was started")
service.start = start
gpu = next(device for device in gs.devices() if device.properties.vendor_id == 0x10DE)
with gs.Context(gpu) as context:
    with open(sys.argv[1], "rb") as file:
        module = gs.Module(context, spirv=file.read())
    with gs.CommandList.immediate(context, in_order=True) as commands:
        out = context.alloc_host(4, "float32")
        out.numpy()[:] = 2
        module["scale"].launch(out, 3.0, global_size=4, group_size=4, on=commands)
        commands.synchronize()
        print(out.tolist())
"""


def check(ctx: gs.Context, module: gs.Module, commands: gs.CommandList) -> None:
    """Runs the kernels of a module."""
    out = ctx.alloc_host(64, "float32")
    out.numpy()[:] = np.arange(64)
    module["scale"].launch(out, np.float32(2), global_size=64, group_size=32, on=commands)
    calls = ctx.alloc_host(1, "int32")
    for _ in range(2):
        module["count"].launch(calls, global_size=32, group_size=32, on=commands)
    commands.synchronize()
    assert out.tolist() == [2.0 * each + 1 + each % 4 for each in range(64)]
    assert calls.tolist() == [42]


def test_native_binary_runs_without_the_compiler(
    ctx: gs.Context, commands: gs.CommandList, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gs.Module(ctx, opencl=SOURCE) as module:
        check(ctx, module, commands)
        binary = module.native_binary()

    def compile_program(program: object, kernels: object = None) -> None:
        raise BuildError("nothing is compiled here")

    monkeypatch.setattr(disk, "get", lambda key: None)
    monkeypatch.setattr(ptx_program, "compile_program", compile_program)
    with gs.Module(ctx, native=binary) as again:
        check(ctx, again, commands)


def test_another_process_starts_no_compiler(ctx: gs.Context, tmp_path: Path) -> None:
    with gs.Module(ctx, opencl=SOURCE) as module:
        assert module.spirv is not None
        path = tmp_path / "k.spv"
        path.write_bytes(module.spirv)
    command = [sys.executable, "-c", AGAIN, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[7.0, 8.0, 9.0, 10.0]"
