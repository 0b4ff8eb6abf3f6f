"""Loads and stores with hints for the caches of Intel's GPUs: plain ones here."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.errors import BuildError
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from tests.compiler.math.math_support import run

COUNT = 64
KINDS = ("uint", "uint2", "uint4", "uint8", "ulong", "ulong2")
NARROW = {"uchar": "u1", "ushort": "u2"}


def source(kind: str, space: str, load: str, store: str, value: str) -> str:
    declared = f"""
{value} __builtin_IB_lsc_load_{space}_{load}(const {space} {kind} *, int, int);
void __builtin_IB_lsc_store_{space}_{store}({space} {kind} *, int, {value}, int);
"""
    fetch = f"{value} v = __builtin_IB_lsc_load_{space}_{load}(in, 1, 4);"
    if space == "global":
        return f"""{declared} kernel void f(global const {kind} *from, global {kind} *to) {{
            size_t i = get_global_id(0);
            global const {kind} *in = from + i;
            {fetch}
            __builtin_IB_lsc_store_global_{store}(to + i - 2, 2, v + 1, 1); }}"""
    return f"""{declared} kernel void f(global const {kind} *from, global {kind} *to) {{
            size_t i = get_global_id(0);
            local {kind} kept[{COUNT} + 1], *in = kept + i;
            kept[i + 1] = from[i + 1];
            {fetch}
            __builtin_IB_lsc_store_local_{store}(in, 1, v + 1, 1);
            to[i] = kept[i + 1]; }}"""


@pytest.mark.parametrize("space", ["global", "local"])
@pytest.mark.parametrize("kind", [*KINDS, *NARROW])
def test_access_with_hints_reads_and_writes(kind: str, space: str) -> None:
    narrow = kind in NARROW
    load, store = (f"{kind}_to_uint", f"{kind}_from_uint") if narrow else (kind, kind)
    text = source(kind, space, load, store, "uint" if narrow else kind)
    form = NARROW.get(kind) or ("u8" if "long" in kind else "u4")
    components = int(kind[-1]) if kind[-1].isdigit() else 1
    values = np.arange(components * (COUNT + 1)).astype(form) * 3
    out = np.zeros(components * COUNT, form)
    run(text, "f", COUNT, values, out)
    np.testing.assert_array_equal(out, (values[components:] + 1).astype(form))


def test_prefetch_with_hints_changes_nothing() -> None:
    text = """void __builtin_IB_lsc_prefetch_global_uint(const global uint *, int, int);
        kernel void f(global uint *a) { size_t i = get_global_id(0);
            __builtin_IB_lsc_prefetch_global_uint(a + i, 1 << 30, 4); a[i] += 1; }"""
    values = np.arange(COUNT, dtype=np.uint32)
    run(text, "f", COUNT, values)
    np.testing.assert_array_equal(values, np.arange(COUNT) + 1)


def test_function_of_that_name_with_other_types_is_unknown() -> None:
    text = """uint __builtin_IB_lsc_load_global_ulong(const global ulong *, int, int);
        kernel void f(global ulong *a) { *a = __builtin_IB_lsc_load_global_ulong(a, 0, 0); }"""
    assert Program(compile_opencl(text)).imports == ("__builtin_IB_lsc_load_global_ulong",)
    with pytest.raises(BuildError):
        Program(compile_opencl(text)).compile("f", (1, 1, 1))
