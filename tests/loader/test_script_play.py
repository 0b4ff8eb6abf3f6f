"""Scripts hook the calls of a recording that is played."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.loader_stub import WAYS

from .conftest import TIMEOUT
from .test_record import GROUNDSTATE, record, succeeded
from .test_script import hello

__all__ = ["hello"]

pytestmark = pytest.mark.usefixtures("headers", "library")


def play(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [*GROUNDSTATE, "play", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)


@pytest.mark.parametrize("options", WAYS)
def test_a_script_hooks_what_is_played(
    hello: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    succeeded(record(tmp_path / "out", hello))
    script = tmp_path / "hooks.lua"
    script.write_text(
        """
        for _, event in ipairs {"ProgramStart", "ProgramExit", "FrameBegin", "FrameEnd"} do
          local name = "gits" .. event
          _G[name] = function(number)
            io.stderr:write(name, " ", tostring(number), " ", gits.getArgsStr(), "\\n")
          end
        end
        function zeMemAllocDevice(hContext, desc, size, alignment, hDevice, pptr)
          io.stderr:write("allocates ", size, " ", gits.getCurrentFrame(), "\\n")
          return drvl0.zeMemAllocDevice(hContext, desc, size, alignment, hDevice, pptr)
        end
        """
    )
    done = play("--json", *options, "--script", script, "--script-args", "abc", tmp_path / "out")
    (report,) = json.loads(succeeded(done))
    assert report["differences"] == []
    assert done.stderr.splitlines() == [
        "gitsProgramStart nil abc",
        "gitsFrameBegin 1 abc",
        "allocates 64 1",
        "gitsFrameEnd 1 abc",
        "gitsProgramExit nil abc",
    ]


def test_a_changed_answer_is_a_difference(hello: Path, tmp_path: Path) -> None:
    succeeded(record(tmp_path / "out", hello))
    script = tmp_path / "hooks.py"
    script.write_text(
        "from groundstate import ze\nfrom groundstate.capture import hook\n"
        "@hook('zeMemFree')\n"
        "def free(call):\n"
        "    call.proceed()\n"
        "    return ze.ZE_RESULT_ERROR_UNKNOWN\n"
    )
    done = play("--script", script, tmp_path / "out")
    assert done.returncode == 1
    assert "zeMemFree" in done.stdout
    assert play("--script", "nosuch", tmp_path / "out").returncode == 1
