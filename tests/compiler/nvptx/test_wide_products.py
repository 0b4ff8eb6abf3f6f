"""Strides in PTX are widening multiplications, written once."""

from __future__ import annotations

import re

from groundstate.compiler.codegen.thread import wide_products
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program.ptx_program import compile_ptx

COLUMN = """\
kernel void column(global const float *a, global const float *b, global float *c, int n) {
    int column = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}
"""


def function(*lines: str) -> str:
    return "\n".join(("{", *(f"\t{each}" for each in lines), "}", ""))


def test_shift_of_widened_number_is_product() -> None:
    given = function(
        "ld.param.b32 \t%r1, [p];", "cvt.u64.u32 \t%rd1, %r1;", "shl.b64 \t%rd2, %rd1, 2;"
    )
    assert "\tmul.wide.u32 \t%rd2, %r1, 4;" in wide_products.use(given)
    signed = given.replace("cvt.u64.u32", "cvt.s64.s32")
    assert "\tmul.wide.s32 \t%rd2, %r1, 4;" in wide_products.use(signed)


def test_number_that_changes_is_shifted() -> None:
    given = function(
        "ld.param.b32 \t%r1, [p];",
        "cvt.u64.u32 \t%rd1, %r1;",
        "add.s32 \t%r1, %r1, 1;",
        "shl.b64 \t%rd2, %rd1, 2;",
    )
    assert wide_products.use(given) == given


def test_number_that_is_loaded_wide_is_multiplied() -> None:
    given = function("ld.param.s32 \t%rd1, [p];", "shl.b64 \t%rd2, %rd1, 2;")
    found = wide_products.use(given)
    assert "\tld.param.s32 \t%word0, [p];\n\tcvt.s64.s32 \t%rd1, %word0;" in found
    assert "\tmul.wide.s32 \t%rd2, %word0, 4;" in found
    assert "\t.reg .b32 \t%word<1>;" in found
    unsigned = wide_products.use(given.replace("s32", "b32"))
    assert "\tmul.wide.u32 \t%rd2, %word0, 4;" in unsigned


def test_low_half_of_long_number_is_shifted() -> None:
    given = function(
        "ld.param.b64 \t%rd3, [p];", "cvt.s64.s32 \t%rd1, %rd3;", "shl.b64 \t%rd2, %rd1, 2;"
    )
    assert wide_products.use(given) == given


def test_widened_number_that_changes_is_shifted() -> None:
    given = function(
        "ld.param.b32 \t%r1, [p];",
        "cvt.u64.u32 \t%rd1, %r1;",
        "add.s64 \t%rd1, %rd1, 1;",
        "shl.b64 \t%rd2, %rd1, 2;",
    )
    assert wide_products.use(given) == given


def test_lower_half_of_register_is_shifted() -> None:
    given = function(
        "ld.param.b64 \t%rd1, [p];", "cvt.s64.s32 \t%rd2, %rd1;", "shl.b64 \t%rd3, %rd2, 2;"
    )
    assert wide_products.use(given) == given


def test_product_on_two_ways_is_computed_once() -> None:
    found = wide_products.use(
        function(
            "ld.param.b32 \t%r1, [p];",
            "cvt.u64.u32 \t%rd1, %r1;",
            "@%p1 bra \t$there;",
            "shl.b64 \t%rd2, %rd1, 2;",
            "bra.uni \t$behind;",
            "shl.b64 \t%rd2, %rd1, 2;",
        )
    ).split("\n")
    assert found.count("\tmul.wide.u32 \t%rd2, %r1, 4;") == 1
    assert found[2] == "\tmul.wide.u32 \t%rd2, %r1, 4;"


def test_register_with_two_values_keeps_both() -> None:
    found = wide_products.use(
        function(
            "ld.param.b32 \t%r1, [p];",
            "cvt.u64.u32 \t%rd1, %r1;",
            "shl.b64 \t%rd2, %rd1, 2;",
            "@%p1 bra \t$there;",
            "shl.b64 \t%rd2, %rd1, 3;",
        )
    )
    assert "\tmul.wide.u32 \t%rd2, %r1, 4;" in found
    assert "\tmul.wide.u32 \t%rd2, %r1, 8;" in found


def test_column_of_matrix_is_walked_by_one_product() -> None:
    text = compile_ptx(compile_opencl(COLUMN), sm=90).text
    loops = re.findall(r"^(\$L\w+):(.*?)@%p\d+ bra\s+\1;", text, re.MULTILINE | re.DOTALL)
    assert loops
    body = max((body for _, body in loops), key=len)
    assert len(re.findall("ld.global", body)) == 16
    strides = re.findall(r"add\.s64 \t%rd\d+, %rd\d+, (%rd\d+);", body)
    assert len(strides) == 8
    (stride,) = set(strides)
    written = re.findall(rf"^\t(\S+) \t{stride}, (.*);", text, re.MULTILINE)
    assert len(written) == 1
    assert written[0][0] == "mul.wide.u32"
