"""Lines of OpenCL C in the SPIR-V that the front end writes with `-g`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from groundstate.compiler.ir import Kernel
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.opencl.options import parse
from groundstate.compiler.program import Program
from groundstate.compiler.spirv import read

SOURCE = """#define LAST(a, n) a[(n) - 1]
float half_of(float x) {
    return x / 2;
}
kernel void work(global float *out, global const float *in, int n) {
    int i = get_global_id(0);
    float x = 0;
    switch (n) {
    case 1: x = native_sin(in[i]); break;
    case 2: x = half_of(in[i + n]); break;
    case 7: x = fma(x, 3.0f, in[2 * i]); break;
    default:
        for (int j = 0; j < n; j++)
            x += LAST(in, n - j);
    }
    out[i] = x;
}
"""

pytestmark = pytest.mark.needs_compiler


def compiled(*options: str) -> bytes:
    return compile_opencl(SOURCE, options=options, name="größe.cl")


def places(kernel: Kernel, op: str) -> list[tuple[str, int, str]]:
    found = []
    for node in kernel.nodes():
        if node.op == op:
            assert node.location is not None
            found.append((node.location.file, node.location.line, node.location.function))
    return found


def test_instructions_know_their_lines() -> None:
    kernel = Program(compiled("-g")).kernel("work")
    assert places(kernel, "Store") == [("größe.cl", 16, "work")]
    assert {line for _, line, _ in places(kernel, "Load")} == {9, 10, 11, 14}
    assert ("größe.cl", 3, "half_of") in places(kernel, "FMul")
    call = next(node.location for node in kernel.nodes() if node.op == "FMul")
    assert call is not None
    assert call.caller is not None
    assert (call.caller.line, call.caller.function) == (10, "work")
    assert call.caller.caller is None


def test_module_holds_its_source() -> None:
    debug_info = read(compiled("-g")).debug_info
    assert debug_info is not None
    assert debug_info.text_of("größe.cl") == SOURCE


def test_code_is_the_same_without_lines() -> None:
    codes = []
    for spirv in (compiled(), compiled("-g")):
        module = read(spirv)
        function = module.function(module.entry_points["work"].function)
        codes.append([[each.opcode for each in block.instructions] for block in function.blocks])
    assert codes[0] == codes[1]


def test_module_without_g_has_no_lines() -> None:
    assert parse("").has_lines is False
    assert read(compiled()).debug_info is None


def test_source_that_is_no_text_is_compiled() -> None:
    source = "// \udcff\n" + SOURCE
    assert read(compile_opencl(source, options=["-g"], name="a.cl")).debug_info is not None


def test_lines_are_valid_spirv(tmp_path: Path) -> None:
    validator = shutil.which("spirv-val")
    if validator is None:
        pytest.skip("spirv-val of the package spirv-tools is not installed")
    file = tmp_path / "lines.spv"
    file.write_bytes(compiled("-g"))
    done = subprocess.run(
        [validator, "--target-env", "opencl2.2", file], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("folder", ["", "here", "/", "elsewhere"])
def test_source_keeps_the_name_it_was_given(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """clang takes an absolute path apart where it leaves the folder that it runs in."""
    monkeypatch.chdir(tmp_path)
    here = {"here": f"{tmp_path}/", "elsewhere": f"{tmp_path.parent}/"}.get(folder, folder)
    source = "kernel void work(global int *out) { out[0] = 1; }"
    name = f"{here}work.cl"
    program = Program(compile_opencl(source, options=["-g"], name=name))
    assert {each[0] for each in places(program.kernel("work"), "Store")} == {name}
    assert program.source_texts.line(name, 1) == source
