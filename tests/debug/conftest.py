"""A program that is debugged, and the SPIR-V of its kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from groundstate.compiler.opencl.frontend import compile_opencl
from tests.debug.attached import Debuggee, Debugger

KERNELS = Path(__file__).parent / "spin.cl"


@pytest.fixture(scope="session")
def spin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file with the SPIR-V of the kernels."""
    file = tmp_path_factory.mktemp("kernels") / "spin.spv"
    file.write_bytes(compile_opencl(KERNELS.read_text(), options=("-O0", "-g"), name="spin.cl"))
    return file


@pytest.fixture
def debuggee(spin: Path) -> Iterator[Debuggee]:
    """A program that has been started, and has done nothing yet."""
    started = Debuggee(spin)
    yield started
    started.close()


@pytest.fixture
def attach(device: int) -> Iterator[Callable[[Debuggee], Debugger]]:
    """Attaches debuggers, which are detached at the end."""
    made: list[Debugger] = []

    def attached(debuggee: Debuggee) -> Debugger:
        made.append(Debugger(device, debuggee.process.pid))
        return made[-1]

    yield attached
    for each in made:
        each.close()


@pytest.fixture
def debugger(attach: Callable[[Debuggee], Debugger], debuggee: Debuggee) -> Debugger:
    """A debugger that is attached to the program before that has begun."""
    found = attach(debuggee)
    assert found.result == 0
    return found
