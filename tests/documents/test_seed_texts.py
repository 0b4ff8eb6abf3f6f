"""The code blocks of the other documents that the project began with run as they are written."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from groundstate import dnnl, standin

from .pages import ROOT
from .seeds.texts import COUNTERS, LUA, ONEDNN, PYZES, SeedBlock, blocks, text_of

NAME = "{0.number}".format
GROUNDSTATE = (sys.executable, "-m", "groundstate")


def run(*command: str | Path, **variables: str) -> str:
    """What a program prints that has to end well, and without complaints."""
    done = subprocess.run(
        list(map(str, command)),
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )
    complaints = re.sub(r"^groundstate record: the recording is in .*\n", "", done.stderr)
    assert (done.returncode, complaints) == (0, ""), done.stdout
    return done.stdout


# --- The README of pyzes --------------------------------------------------------------------------

DEVICES = """\
zesInit(0)
_count = c_uint32(1)
_drivers = (zes_driver_handle_t * 1)()
zesDriverGet(byref(_count), _drivers)
devices = (zes_device_handle_t * 1)()
zesDeviceGet(_drivers[0], byref(_count), devices)
i = 0
"""
PYZES_BLOCKS = {
    2: ("", "Driver Count: 1\n", ()),
    3: (DEVICES, "", ()),
    4: (
        DEVICES + "props = zes_device_properties_t()\nzesDeviceGetProperties(devices[i], props)\n",
        r"numSubdevices: 0\nserialNumber:  .*\ncoreClockMHz: \d+\n",
        (),
    ),
    5: (DEVICES, r"Extension properties flags: \d+\n", (("base.pNext", "props.pNext"),)),
}
"""What comes before a block, what it prints, and the names that it gets wrong."""
INSTALLS = 1
"""The block that installs the real package, with another Python."""


def test_no_block_of_pyzes_readme_is_left_out() -> None:
    assert {each.number for each in blocks(PYZES)} == {INSTALLS, *PYZES_BLOCKS}


@pytest.mark.parametrize("block", [b for b in blocks(PYZES) if b.number != INSTALLS], ids=NAME)
def test_the_python_of_the_readme_of_pyzes_runs(block: SeedBlock, tmp_path: Path) -> None:
    before, printed, corrections = PYZES_BLOCKS[block.number]
    lines = re.findall(r"^>>> ?(.*)$", block.text, re.M)
    typed = "\n".join(lines)
    for wrong, right in corrections:
        assert wrong in typed
        typed = typed.replace(wrong, right)
    program = tmp_path / "program.py"
    start = "" if "import *" in typed else "from pyzes import *\n"
    program.write_text(f"{start}{before}{typed}\n")
    shown = run(sys.executable, "-m", "groundstate.pyzes", program)
    assert re.fullmatch(printed, shown, re.S)


@pytest.mark.parametrize("block", [b for b in blocks(PYZES) if "base.pNext" in b.text], ids=NAME)
def test_pyzes_readme_means_props_by_base(block: SeedBlock) -> None:
    names = set(re.findall(r"^>>> ?(\w+) =", block.text, re.M))
    assert "props" in names
    assert "base" not in names


# --- Scripts for GITS -----------------------------------------------------------------------------

MAKES_A_POOL = """\
import groundstate as gs

with gs.Context(gs.devices()[0]) as context:
    pool = gs.EventPool(context, 2, ipc=True)
"""
CALLS_THE_FUNCTION = """
PTR_SIZE = gits.getPtrSize()
MAX_NUMBER_OF_EVENTS_PER_EVENT_POOL = 16
function zeContextCreateEx(hDriver, desc, numDevices, phDevices, phContext)
  local result = drvl0.zeContextCreateEx(hDriver, desc, numDevices, phDevices, phContext)
  CreateGitsEventPool(gits.getUdt(phContext, 0))
  print(EVENT_POOL_HANDLE ~= nil and EVENT_POOL_HANDLE ~= gits.nullUdt())
  return result
end
"""


@pytest.mark.parametrize("block", blocks(LUA), ids=NAME)
def test_a_script_for_gits_runs(block: SeedBlock, tmp_path: Path) -> None:
    script, trace = tmp_path / "block.lua", tmp_path / "trace"
    is_hook = block.text.startswith("function ze")
    script.write_text(block.text if is_hook else block.text + CALLS_THE_FUNCTION)
    options = ("--script", script, "--stop-on-error", "-o", trace)
    shown = run(*GROUNDSTATE, "record", *options, "--", sys.executable, "-c", MAKES_A_POOL)
    assert shown == ("" if is_hook else "true\n")
    calls = run(*GROUNDSTATE, "stream", "calls", trace, "--function", "zeEventPoolCreate", "--json")
    made = [json.loads(line) for line in calls.splitlines()]
    assert made
    assert "ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP" in calls


# --- oneDNN's functions for Level Zero ------------------------------------------------------------


def declared_functions() -> list[str]:
    """The declarations of functions, each of which the text has twice."""
    found = re.findall(r"^dnnl_status_t DNNL_API \w+\([^)]*\)", text_of(ONEDNN), re.M)
    return list(dict.fromkeys(found))


def test_onednn_declarations_match_own_header(tmp_path: Path) -> None:
    declarations = declared_functions()
    assert len(declarations) == 8
    source, output = tmp_path / "declared.c", tmp_path / "declared"
    names = [re.findall(r"(\w+)\(", each)[0] for each in declarations]
    source.write_text(
        "#define DNNL_API\n#include <groundstate/dnnl.h>\n"
        + "".join(f"{each};\n" for each in declarations)
        + f"void *all[] = {{{', '.join(f'(void *){name}' for name in names)}}};\n"
        + "int main(void) { return all[0] == 0; }\n"
    )
    flags = [*dnnl.compiler_flags().split(), *dnnl.linker_flags().split(), "-lze_loader"]
    run("cc", "-Wall", "-Wextra", source, "-o", output, *flags)
    run(output)


# --- Counter-based event pools --------------------------------------------------------------------

WRONG = "ze_result_t = zeEventPoolCreate(context, &eventPoolDesc, 1, &device, &eventPool));"
RIGHT = "ze_result_t result = zeEventPoolCreate(context, &eventPoolDesc, 1, &device, &eventPool);"
AROUND = """\
extern "C" {
#include "functions.h"
}
#include <cstdio>
int main() {
    uint32_t one = 1;
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    ze_context_handle_t context;
    ze_context_desc_t description = {ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    zeInit(0);
    zeDriverGet(&one, &driver);
    zeDeviceGet(driver, &one, &device);
    zeContextCreate(driver, &description, &context);
    %s
    printf("%%d\\n", result);
}
"""


@pytest.mark.parametrize("block", blocks(COUNTERS), ids=NAME)
def test_the_block_on_counter_based_pools_runs(block: SeedBlock, tmp_path: Path) -> None:
    source, output = tmp_path / "block.cpp", tmp_path / "block"
    command = ["g++", "-std=c++17", "-w", "-D_Static_assert=static_assert", str(source)]
    command += [f"-I{ROOT / 'native' / 'generated'}"]
    source.write_text(AROUND % block.text)
    done = subprocess.run([*command, "-fsyntax-only"], capture_output=True, text=True)
    assert "expected unqualified-id before" in done.stderr, "a type is no variable"
    source.write_text(AROUND % block.text.replace(WRONG, RIGHT))
    run(*command, "-o", output, "-lze_loader")
    variables = {"ZE_ENABLE_ALT_DRIVERS": str(standin.library()), "GROUNDSTATE_ERRORS": "1"}
    assert run(output, **variables) == "0\n"
