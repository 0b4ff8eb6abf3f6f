"""What lanes without work divide costs the others nothing."""

from __future__ import annotations

import ctypes

import pytest

from groundstate.compiler import machine
from groundstate.compiler.emit.arithmetic import WRITERS
from groundstate.compiler.emit.text import Text

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
