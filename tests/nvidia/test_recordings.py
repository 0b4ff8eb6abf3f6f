"""Recordings of the CPU play on a GPU and back, and can be compared: with the stand-in's GPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.nvidia.library import HERE, build, environment

ROOT = HERE.parents[1]
PROGRAM = """
import sys
import numpy as np
import groundstate as gs
with gs.Context(gs.devices()[0]) as context:
    memory, back = context.alloc_device(1000), context.alloc_host(1000)
    with gs.CommandList.immediate(context, in_order=True) as commands:
        commands.fill(memory, int(sys.argv[1]))
        commands.copy(back, memory)
        commands.synchronize()
    with gs.Image(context, (4, 4), "r8uint") as image:
        image.upload(np.arange(16, dtype=np.uint8))
        print(image.download().sum() + back.numpy()[0])
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("standin"))


def groundstate(library: Path, device: str, *arguments: str) -> str:
    """What a command prints, with the CPU ("0") or the GPU ("only") as the device."""
    found = subprocess.run(
        [sys.executable, "-m", "groundstate", *arguments],
        cwd=ROOT,
        env=environment(library, GROUNDSTATE_NVIDIA=device),
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode in (0, 1), found.stderr
    return found.stdout + found.stderr


def test_recordings_play_on_the_other_device(library: Path, tmp_path: Path) -> None:
    streams = {}
    for device, other, fill in (("0", "only", "5"), ("only", "0", "5"), ("only", "only", "6")):
        file = str(tmp_path / f"{device}{fill}.gsstream")
        program = (sys.executable, "-c", PROGRAM, fill)
        printed = groundstate(library, device, "record", "-o", file, *program)
        assert str(120 + int(fill)) in printed
        assert " 0 not as recorded" in groundstate(library, other, "play", file)
        streams[device, fill] = file
    diff = ("stream", "diff", streams["0", "5"])
    alike = groundstate(library, "0", *diff, streams["only", "5"])
    assert " compared, 0 differ" in alike
    assert "2 buffers after 2 submissions, 2.0 KiB, alike" in alike
    assert "fill" in groundstate(library, "0", *diff, streams["only", "6"]).lower()
