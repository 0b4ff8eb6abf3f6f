"""What the roof of a machine is kept under."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundstate.driver.devices.cpu import Machine
from groundstate.profiler.roof import _cpu

ARM = "processor : 0\nCPU implementer : 0x41\nCPU part : {part:#x}\n"
X86 = "processor : 0\nmodel name : Some CPU {part:#x}\n"


@pytest.mark.parametrize("text", [ARM, X86], ids=["aarch64", "x86-64"])
def test_each_cpu_has_a_roof_of_its_own(tmp_path: Path, text: str) -> None:
    found = set()
    for part in (0xD0C, 0xD40):
        root = tmp_path / str(part)
        (root / "proc").mkdir(parents=True)
        (root / "proc" / "cpuinfo").write_text(text.format(part=part))
        found.add(_cpu(Machine(str(root))))
    assert len(found) == 2
