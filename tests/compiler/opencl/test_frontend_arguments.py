"""The types of a kernel's arguments as the source has them, kept as strings of the module."""

from __future__ import annotations

from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.spirv.reader import read

SOURCE = """
typedef float real;
typedef struct { int a; } record;
kernel void first(global uint *out, const global real *restrict in, uchar c, record r,
                  constant float4 *v) { out[0] = as_uint(in[0]) + c + r.a + (uint)v[0].x; }
kernel void second(local ushort *l, global atomic_int *a) { l[0] = atomic_load(a); }
kernel void nothing(void) {}
"""


def test_types_base_types_and_qualifiers_are_kept() -> None:
    strings = list(read(compile_opencl(SOURCE)).strings.values())
    assert [each for each in strings if each.startswith("kernel_arg_type.")] == [
        "kernel_arg_type.first.uint*,real*,uchar,record,float4*,",
        "kernel_arg_type.second.ushort*,atomic_int*,",
    ]
    assert "kernel_arg_type_qual.first.,restrict const,,,const," in strings
    bases = [each for each in strings if each.startswith("kernel_arg_base_type.first.")]
    assert bases[0].startswith("kernel_arg_base_type.first.uint*,float*,uchar,record,float")


def test_kernel_without_arguments_has_no_strings() -> None:
    assert read(compile_opencl("kernel void nothing(void) {}")).strings == {}
