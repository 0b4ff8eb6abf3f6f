"""A store of a part of a register names none that a floating-point operation wrote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from groundstate.compiler.codegen.thread.narrow_stores import cut
from groundstate.compiler.errors import BuildError
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program.ptx_program import compile_ptx
from tests.compiler.instructions.test_instructions import BATCHES
from tests.compiler.nvptx.test_ptxas import PREBUILT, modules

STORE = re.compile(r"\s*st\.\S*\.[bsu](8|16)\s+\[.*?\],\s*(.*);")
SIZE = {"%rs": 16, "%r": 32, "%rd": 64}
FLOATING = re.compile(r"\s*(?!setp|st|ld)\w+\.(?:\S+\.)?(?:bf16|f16|f32|f64)(?:x2)?\s+(%\w+),")
CONVERTED = re.compile(r"\s*cvt\.(?:\w+\.)*[us]\d+\.(?:bf16|f16|f32|f64)\s")
COPIED = re.compile(r"\s*(?:mov|cvt|selp)\.\S*[bus]\d+\s+(%\w+),\s*(.*);")
EVERY = 5
"""Of the modules of other tests and of the instructions: how many of them one is read of."""


def wrong_stores(text: str) -> list[str]:
    """The narrow stores of registers that hold floating-point numbers, or copies of some."""
    wrong = []
    for function in text.split("\n}\n"):
        rows = function.split("\n")
        floating = {
            found[1] for row in rows if (found := FLOATING.match(row)) and not CONVERTED.match(row)
        }
        copies = [found for row in rows if (found := COPIED.match(row))]
        before = -1
        while before != len(floating):
            before = len(floating)
            floating |= {each[1] for each in copies if floating & set(re.findall(r"%\w+", each[2]))}
        for row in rows:
            found = STORE.match(row)
            registers = set(re.findall(r"%\w+", found[2])) if found else set()
            for register in registers & floating:
                assert found is not None
                if SIZE[register.rstrip("0123456789")] > int(found[1]):
                    wrong.append(row)
    return wrong


def check(spirv: bytes) -> None:
    try:
        text = compile_ptx(spirv, sm=90).text
    except BuildError:
        return  # test_ptxas.py knows what may be refused
    assert wrong_stores(text) == []


PACKED = """
typedef struct __attribute__((packed)) { char first; TYPE number; } row;
kernel void k(global row *rows, global const TYPE *numbers) {
    rows[get_global_id(0)].number = numbers[get_global_id(0)] * (TYPE)3;
}
"""


@pytest.mark.parametrize("type_", ["float", "double", "half"])
def test_packed_numbers(type_: str) -> None:
    enabled = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
    text = compile_ptx(compile_opencl(enabled + PACKED.replace("TYPE", type_)), sm=90).text
    assert "st.global.b8" in text
    assert "%part0" in text
    assert wrong_stores(text) == []


def test_lowest_byte_of_a_number() -> None:
    source = "kernel void k(global uchar *x, float y) { *x = (uchar)as_uint(y * 3); }"
    text = compile_ptx(compile_opencl(source), sm=90).text
    assert wrong_stores(text) == []
    assert wrong_stores(re.sub(r"(st.global.b8.*)%part0", r"\1%r2", text)) != []


def test_whole_numbers_are_left_alone() -> None:
    source = "kernel void k(global uchar *x, uint y) { *x = (uchar)(y * 3); }"
    text = compile_ptx(compile_opencl(source), sm=90).text
    assert "%part" not in text
    assert cut(text) == text


@pytest.mark.parametrize("path", PREBUILT, ids=lambda path: path.stem)
def test_modules_of_tests(path: Path) -> None:
    for spirv in modules(path)[::EVERY]:
        check(spirv)


def test_instructions() -> None:
    for batch in BATCHES[::EVERY]:
        check(batch.spirv)
