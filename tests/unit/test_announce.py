"""Work that takes long is announced, on a terminal only."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.terminal import errors_on_a_terminal

WORK = """
import time
from groundstate import announce
announce.DELAY_S = {delay}
with announce.Announced("counting sheep"):
    time.sleep({work})
"""

COMPILE = """
from groundstate import announce
announce.DELAY_S = 0.0
import groundstate as gs

source = "".join(
    f"kernel void {name}(global int *a) {{ a[get_global_id(0)] = {number}; }}"
    for number, name in enumerate(("first", "second"))
)
with gs.Context(gs.devices()[0]) as context, gs.CommandList.immediate(context) as commands:
    with gs.Module(context, opencl=source) as module:
        memory = context.alloc_shared(64, "int32")
        for name in ("second", "first"):
            with gs.Kernel(module, name) as kernel:
                kernel(commands, 1, 64, memory)
                commands.synchronize()
"""


def on_a_terminal(code: str, **variables: str) -> str:
    """What a program writes to its standard error, which is a terminal."""
    return errors_on_a_terminal("-c", code, **variables)


def test_long_work_is_announced_on_a_terminal() -> None:
    shown = on_a_terminal(WORK.format(delay=0.0, work=0.5))
    assert shown == "groundstate: counting sheep...\n"


def test_short_work_is_not_announced() -> None:
    assert on_a_terminal(WORK.format(delay=60.0, work=0.0)) == ""


def test_nothing_is_announced_when_switched_off() -> None:
    assert on_a_terminal(WORK.format(delay=0.0, work=0.2), GROUNDSTATE_PROGRESS="0") == ""


@pytest.mark.parametrize("variables", [{}, {"GROUNDSTATE_PROGRESS": "1"}])
def test_nothing_is_announced_into_a_pipe(variables: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WORK.format(delay=0.0, work=0.2)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_kernels_are_announced_with_their_number() -> None:
    shown = on_a_terminal(COMPILE, GROUNDSTATE_CACHE="0").splitlines()
    assert "groundstate: compiling kernel second (1 of 2)..." in shown
    assert "groundstate: compiling kernel first (2 of 2)..." in shown
