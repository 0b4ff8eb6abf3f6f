"""Programs that pass wrong pointers are answered, or crash, as without the recorder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from groundstate import standin
from groundstate.capture import place
from groundstate.capture.stream import StreamReader

from .conftest import TIMEOUT

pytestmark = pytest.mark.usefixtures("headers", "library")

GARBAGE = r"""
#include <level_zero/ze_api.h>
#include <stdio.h>

#define SAY(call) printf("%s %x\n", #call, (unsigned)(call))

int main(int count, char **arguments) {
    ze_driver_handle_t driver;
    ze_context_handle_t context;
    uint32_t one = 1;
    void *bad = (void *)64, *far = (void *)~0xfffull;
    SAY(zeInit(0));
    SAY(zeDriverGet(&one, &driver));
    SAY(zeContextCreate(NULL, bad, &context));
    SAY(zeContextCreate(driver, NULL, &context));
    SAY(zeKernelCreate(NULL, bad, far));
    SAY(zeModuleCreate(NULL, NULL, far, bad, bad));
    SAY(zeCommandListAppendLaunchKernel(NULL, NULL, bad, NULL, 5, far));
    SAY(zeCommandQueueExecuteCommandLists(NULL, 5, bad, NULL));
    SAY(zeDeviceGet(NULL, bad, bad));
    SAY(zeDeviceGet(driver, NULL, NULL));
    SAY(zeCommandListAppendMemoryCopyRegion(NULL, bad, bad, 5, 5, bad, bad, 5, 5, NULL, 5, bad));
    SAY(zeCommandListAppendMemoryCopy(NULL, bad, far, ~0ull, NULL, ~0u, bad));
    SAY(zeDriverGetExtensionFunctionAddress(NULL, bad, bad));
    fflush(stdout);
    return count > 1 ? (int)zeContextCreate(driver, bad, &context) : 0;
}
"""


@pytest.fixture(scope="module")
def garbage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("garbage")
    (folder / "garbage.c").write_text(GARBAGE)
    program = folder / "garbage"
    command = ["cc", str(folder / "garbage.c"), "-lze_loader", "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def record(out: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    start = [sys.executable, "-m", "groundstate", "record", "-o", str(out), "--"]
    return subprocess.run(
        [*start, *map(str, command)], capture_output=True, text=True, timeout=TIMEOUT
    )


def test_wrong_pointers_act_as_without_recorder(garbage: Path, tmp_path: Path) -> None:
    recorded = record(tmp_path / "out", garbage)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(standin.folder())}
    bare = subprocess.run([str(garbage)], capture_output=True, text=True, env=environment)
    assert (recorded.stdout, recorded.returncode) == (bare.stdout, 0)
    assert bare.stdout.count("\n") == 13


def test_call_in_which_program_crashed_is_known(garbage: Path, tmp_path: Path) -> None:
    done = record(tmp_path / "out", garbage, "crash")
    assert done.returncode == -signal.SIGSEGV
    (stream,) = place.streams_in(tmp_path / "out")
    with StreamReader(stream) as reader:
        (inside,) = reader.unreturned
        assert reader.damage is None
    assert inside.call is not None
    assert inside.call.arguments[1] == 64
    listing = [sys.executable, "-m", "groundstate", "stream", "calls", str(stream)]
    lines = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.splitlines()
    assert "zeContextCreate(hDriver=" in lines[-1]
    assert "desc=0x40" in lines[-1]
    assert lines[-1].endswith("did not return")
