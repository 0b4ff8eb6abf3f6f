"""What the roof of a machine is kept under."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundstate.profiler.roof import _cpu

ARM = "processor : 0\nCPU implementer : 0x41\nCPU part : {part:#x}\n"
X86 = "processor : 0\nmodel name : Some CPU {part:#x}\n"


@pytest.mark.parametrize("text", [ARM, X86], ids=["aarch64", "x86-64"])
def test_each_cpu_has_a_roof_of_its_own(tmp_path: Path, text: str) -> None:
    found = set()
    for part in (0xD0C, 0xD40):
        cpuinfo = tmp_path / str(part)
        cpuinfo.write_text(text.format(part=part))
        found.add(_cpu(cpuinfo))
    assert len(found) == 2


def test_other_cpus_of_a_machine_are_not_looked_at(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(ARM.format(part=1))
    alone = _cpu(cpuinfo)
    cpuinfo.write_text(ARM.format(part=1) + "\n" + ARM.format(part=2))
    assert _cpu(cpuinfo) == alone
    cpuinfo.unlink()
    assert _cpu(cpuinfo) != alone
