"""Functions of a Lua script take the place of API functions in C programs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.loader_stub import WAYS

from .conftest import ROOT, TIMEOUT, Build
from .test_record import GROUNDSTATE, LINK, succeeded

pytestmark = pytest.mark.usefixtures("headers", "library")

Run = Callable[..., subprocess.CompletedProcess[str]]


def scripted(
    script: str | Path, *command: str | Path, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*GROUNDSTATE, "script", *options, str(script), "--", *map(str, command)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )


@pytest.fixture(scope="session")
def hello(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hello") / "hello"
    source = ROOT / "examples" / "hello.c"
    subprocess.run(["cc", str(source), "-lze_loader", "-o", str(path)], check=True)
    return path


@pytest.fixture
def run(hello: Path, tmp_path: Path) -> Run:
    """Runs hello with the text of a script."""

    def run_text(text: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "hooks.lua"
        path.write_text(text, encoding="utf-8")
        return scripted(path, hello, options=options)

    return run_text


@pytest.mark.parametrize("options", WAYS)
def test_a_hook_changes_what_the_program_sees(run: Run, options: tuple[str, ...]) -> None:
    text = """
    function zeDeviceGetProperties(hDevice, properties)
      local result = drvl0.zeDeviceGetProperties(hDevice, properties)
      properties.name = "the script"
      return result
    end
    """
    assert succeeded(run(text, options)) == "hello from the script\n"


def test_structs_are_read_and_written_in_place(run: Run) -> None:
    text = """
    function zeDeviceGetProperties(hDevice, properties)
      assert(properties.stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES)
      assert(type(properties) == "table" and properties._self == properties.__self)
      local result = drvl0.zeDeviceGetProperties(hDevice, properties)
      local again = drvl0.create_ze_device_properties_t(properties.__self)
      assert(again.type == ZE_DEVICE_TYPE_GPU and again.uuid.id[0] == properties.uuid.id[0])
      again.uuid.id[3] = 200
      assert(properties.uuid.id[3] == 200 and #properties.uuid.id == 16)
      assert(gits.getByte(properties.uuid.id, 3) == 200)
      local seen = {}
      for name, value in pairs(properties) do seen[name] = value end
      assert(seen.vendorId == properties.vendorId and seen.__self == properties.__self)
      assert(not pcall(function() properties.nmae = "x" end))
      assert(not pcall(function() properties.uuid.id[16] = 1 end))
      assert(not pcall(function() properties.vendorId = 1 << 40 end))
      properties.name = "fine"
      return result
    end
    """
    done = run(text)
    assert succeeded(done) == "hello from fine\n"
    assert done.stderr == ""


def test_error_reports_once_and_call_is_unchanged(run: Run, tmp_path: Path) -> None:
    text = """
    function zeContextCreate(hDriver, desc, phContext)
      desc.flags = 77
      gits.setInt(desc.__self, 0, 12345)
      error("no good")
    end
    function zeCommandListAppendMemoryCopy(...)
      drvl0.zeCommandListAppendMemoryCopy(...)
      return nothing.at.all
    end
    """
    done = run(text)
    assert succeeded(done).startswith("hello from Groundstate")
    assert str(tmp_path / "hooks.lua:5: no good") in done.stderr  # the path is not shortened
    lines = [line.partition("hooks.lua:")[2] for line in done.stderr.splitlines()]
    assert lines == [
        "5: no good (in zeContextCreate)",
        "9: attempt to index a nil value (global 'nothing') (in zeCommandListAppendMemoryCopy)",
        "5",
        "9",
    ]
    assert "failed 2 times at" in done.stderr


def test_a_program_is_stopped_if_asked_for(run: Run) -> None:
    done = run("function zeContextCreate(...) error('no') end", ("--stop-on-error",))
    assert done.returncode == 1
    assert done.stdout == ""
    assert "hooks.lua:1: no" in done.stderr


def test_unloadable_script_leaves_program_alone(run: Run) -> None:
    done = run("function zeInit() end error('no')")
    assert succeeded(done).startswith("hello from Groundstate")
    assert "hooks.lua:1:" in done.stderr


def test_the_bundled_scripts_are_listed_and_found(hello: Path) -> None:
    command = [*GROUNDSTATE, "script", "--json"]
    listed = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert "count_calls" in listed
    done = scripted("count_calls", hello)
    counted = {name: int(count) for count, name in map(str.split, done.stderr.splitlines())}
    assert counted["zeCommandListAppendMemoryCopy"] == 2
    assert counted["zeInit"] == 1
    wrong = scripted("cuont_calls", hello)
    assert wrong.returncode == 1
    assert "did you mean 'count_calls'?" in wrong.stderr


def test_threads_share_one_script(build: Build, tmp_path: Path) -> None:
    path = tmp_path / "threads.lua"
    path.write_text(
        """
        local count = 0
        for name, call_on in pairs(drvl0) do
          if name:match("^ze%u") then
            _G[name] = function(...)
              count = count + 1
              local garbage = {}
              for i = 1, 50 do garbage[i] = {i} end
              return call_on(...)
            end
          end
        end
        function gitsProgramExit() io.stderr:write(count, "\\n") end
        """,
        encoding="utf-8",
    )
    done = scripted(path, build("threads", *LINK, output="threads-script"))
    succeeded(done)
    assert int(done.stderr) > 100


def test_python_programs_are_hooked_too(tmp_path: Path) -> None:
    path = tmp_path / "hooks.lua"
    path.write_text("function zeDriverGet(...) return ZE_RESULT_ERROR_UNKNOWN end")
    program = "from groundstate import ze; import ctypes; n = ctypes.c_uint32(); ze.zeInit(0)\n"
    program += "print(hex(ze.zeDriverGet(ctypes.byref(n), None)))"
    done = scripted(path, sys.executable, "-c", program)
    assert succeeded(done) == "0x7ffffffe\n"
