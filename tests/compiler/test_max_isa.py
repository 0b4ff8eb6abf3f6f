"""`GROUNDSTATE_MAX_ISA`: code for older CPUs than the one at hand."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

PROGRAM = """
from groundstate.compiler.target.host import host
from groundstate.driver.devices.cpu import Machine
from groundstate.compiler.llvm import backend
module = backend.parse('''
define void @add(ptr %a, ptr %b) {
  %x = load <16 x float>, ptr %a
  %y = load <16 x float>, ptr %b
  %sum = fadd <16 x float> %x, %y
  store <16 x float> %sum, ptr %a
  ret void
}
''')
print(host().lanes, Machine().simd_bits)
print(backend.native_machine().machine.emit_assembly(module))
"""


@pytest.mark.parametrize(("isa", "lanes", "banned"), [("avx2", 8, "zmm"), ("sse4", 4, "ymm")])
def test_limited_code_uses_no_newer_registers(isa: str, lanes: int, banned: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "GROUNDSTATE_MAX_ISA": isa},
        capture_output=True,
        text=True,
        check=True,
    )
    widths, assembly = done.stdout.split("\n", 1)
    assert banned not in assembly
    lanes_here, bits_here = map(int, widths.split())
    assert bits_here == 32 * lanes_here
    assert lanes_here <= lanes
    if platform.machine() == "x86_64" and isa == "sse4":
        assert lanes_here == lanes
        assert "xmm" in assembly
