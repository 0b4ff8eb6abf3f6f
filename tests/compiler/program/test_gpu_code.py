"""What is kept of a program's code for a GPU: it is read back, and nothing forged is believed."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

from groundstate.compiler.cache.kernel_cache import gpu_key
from groundstate.compiler.errors import BuildError
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program, gpu_code
from groundstate.compiler.program.native_binary import NativeBinary
from groundstate.compiler.program.ptx_program import compile_program
from groundstate.compiler.target.nvptx import nvptx

SOURCE = """
constant int table[4] = {1, 2, 3, 4};
global int counter = 3;
typedef struct { char c; double d; } pair;
kernel void first(global int *out, local int *part, pair p) {
    part[get_local_id(0)] = out[get_global_id(0)] + p.c;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_global_id(0) == 0) printf("%d\\n", part[0]);
    out[get_global_id(0)] = part[0] + table[get_global_id(0) & 3] + counter;
}
kernel __attribute__((reqd_work_group_size(8, 4, 1))) void second(global float *out, int n) {
    out[get_global_id(0) + n] *= 2;
}
"""
ROUNDS = 1500
KEY = gpu_key(90, 13000)
ODD = (None, True, -1, 1 << 20, 1 << 40, 10**30, 1.5, "", "\0", "x" * 99, "\ud800", [], {}, [1, 2])


@pytest.fixture(scope="module")
def program() -> Program:
    return Program(compile_opencl(SOURCE), target=nvptx(90))


@pytest.fixture(scope="module")
def description(program: Program) -> dict[str, Any]:
    return gpu_code.describe(compile_program(program))


def test_description_is_read_back(program: Program, description: dict[str, Any]) -> None:
    module = compile_program(program)
    found = gpu_code.read(json.loads(json.dumps(description)), program)
    assert found.kernels == module.kernels
    assert found.variables == module.variables
    assert found.print_formats == module.print_formats


def test_a_forged_description_is_refused(program: Program, description: dict[str, Any]) -> None:
    """Whatever is put into it, it is refused, or keeps launches within the block of parameters."""
    choose, refused = random.Random(1), 0
    for _ in range(ROUNDS):
        forged = copy.deepcopy(description)
        place, step = choose.choice(list(places(forged)))
        place[step] = choose.choice(ODD)
        try:
            found = gpu_code.read(forged, program)
        except ValueError:
            refused += 1
            continue
        for name, kernel in found.kernels.items():
            assert len(kernel.arguments) == len(program.arguments(name))
            assert kernel.parameter_bytes <= gpu_code.MOST_PARAMETER_BYTES
            for argument in kernel.arguments:
                assert 0 <= argument.offset <= kernel.parameter_bytes - argument.size
            for each, offset in kernel.implicit.items():
                end = offset + gpu_code.IMPLICIT_BYTES[each]
                assert 0 <= offset < end <= kernel.parameter_bytes
    assert refused > ROUNDS // 2


def places(inside: Any) -> Any:
    """Each place in lists and dictionaries within each other."""
    steps = inside if isinstance(inside, dict) else range(len(inside))
    for step in steps:
        yield inside, step
        if isinstance(inside[step], dict | list):
            yield from places(inside[step])


def test_binary_has_the_code_of_its_gpu(
    program: Program, description: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDSTATE_NATIVE", "trusted")
    program.cache.put(description, b"image", *KEY)
    binary = program.native_binary()
    again = Program.from_native(binary, target=nvptx(90))
    assert again.cache.entries[KEY] == program.cache.entries[KEY]
    with pytest.raises(BuildError, match=r"for another GPU \(GPU sm_90\)"):
        Program.from_native(binary, target=nvptx(80))
    with pytest.raises(BuildError, match=r"for another CPU \(GPU sm_90\)"):
        Program.from_native(binary)


@pytest.mark.parametrize("name", ["\0code of a GPU", "first"])
@pytest.mark.parametrize("numbers", [[], [90], [90, 13000], [90, 13000, 1, 1]])
def test_key_of_a_gpu_is_one(name: str, numbers: list[int], program: Program) -> None:
    packed = (2).to_bytes(4, "little") + b"{}image"
    known = {(name, *numbers): packed}
    made = NativeBinary("", (program.sources[0].spirv,), ({},), known, machine="GPU sm_90").pack()
    is_right = name.startswith("\0") and len(numbers) == 2
    if is_right:
        assert NativeBinary.unpack(made, "GPU sm_90").known == known
    else:
        with pytest.raises(BuildError, match="damaged"):
            NativeBinary.unpack(made, "GPU sm_90")
