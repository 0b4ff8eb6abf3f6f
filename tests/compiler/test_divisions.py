"""What lanes without work divide costs the others nothing."""

from __future__ import annotations

import ctypes
import re

import pytest

from groundstate.compiler import machine
from groundstate.compiler.emit.arithmetic import WRITERS
from groundstate.compiler.emit.text import Text
from tests.compiler.runner import program_of

PAIR = "<2 x i32>"
FUNCTION = """
define void @run(ptr %from, ptr %to) {{
  %dividend = load {pair}, ptr %from
{lines}
  %known = extractelement {pair} {result}, i64 0
  store i32 %known, ptr %to
  ret void
}}
"""


@pytest.mark.parametrize(
    ("name", "expected"), [("UDiv", 14), ("SDiv", 14), ("UMod", 2), ("SRem", 2), ("SMod", 2)]
)
def test_a_divisor_that_nobody_knows_is_one_number(name: str, expected: int) -> None:
    """LLVM may take it for anything: if for a zero, it need not divide in the other lane either."""
    text = Text()
    result = WRITERS[name](text, PAIR, PAIR, ["%dividend", "<i32 7, i32 undef>"])
    function = FUNCTION.format(pair=PAIR, lines="\n".join(text.lines), result=result)
    linked = machine.link(machine.object_code(function, 4))
    dividends, quotient = (ctypes.c_int * 2)(100, 100), ctypes.c_int(-1)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(linked.address)
    run(ctypes.addressof(dividends), ctypes.addressof(quotient))
    assert quotient.value == expected


MASKED = """
kernel void rest(global const long *a, global const long *b, global long *out, uint step) {
    size_t i = get_global_id(0) * step;
    if (b[i] != 0) out[i] = a[i] % b[i];
}
kernel void rest_in_order(global const int *a, global const int *b, global int *out) {
    size_t i = get_global_id(0);
    if (b[i] != 0) out[i] = a[i] % b[i];
}
"""


@pytest.mark.parametrize("name", ["rest", "rest_in_order"])
def test_lanes_that_a_mask_excludes_load_a_known_number(name: str) -> None:
    """LLVM 22 gives poison that it drops from a masked load another register at each use."""
    text = program_of(MASKED).write(name, (3, 1, 1), 16).text
    loads = re.findall(r"call .*@llvm\.masked\.(?:load|gather)\..*", text)
    assert loads or "gather." in text
    assert not [line for line in loads if line.endswith("poison)")]
