"""The scripts that come with the package do what they say, in C programs."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import pytest

from groundstate.capture.scripting import script as scripts
from groundstate.compiler.opencl.frontend import compile_opencl
from tests.loader_stub import WAYS

from .conftest import PROGRAMS, Build
from .test_record import LINK, calls_of, only_stream, record, succeeded
from .test_script import hello, scripted

__all__ = ["hello"]

pytestmark = pytest.mark.usefixtures("headers", "library")


@pytest.fixture(scope="module")
def spirv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spirv") / "launches.spv"
    path.write_bytes(compile_opencl((PROGRAMS / "launches.cl").read_text(encoding="utf-8")))
    return path


@pytest.fixture
def hooked(build: Build) -> Path:
    return build("hooked", *LINK)


@pytest.fixture
def launches(build: Build, spirv: Path) -> list[str | Path]:
    """A program that launches kernels in every way there is."""
    return [build("launches", *LINK, output="launches-script"), spirv, "forms"]


def bundled(
    name: str, *command: str | Path, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    return scripted(name, *command, options=(*options, "--stop-on-error"))


@pytest.mark.parametrize("options", WAYS)
def test_performance_has_a_line_for_each_launch(
    hooked: Path, spirv: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    out = ("--script-out", str(tmp_path))
    done = bundled("performance", hooked, spirv, options=(*options, *out))
    assert succeeded(done).endswith("seen 4 8\nhooked ok\n")
    assert done.stderr == ""
    with (tmp_path / "performance.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["launch"] for row in rows] == ["1_1_1", "1_1_2", "2_1_1", "2_1_2"]
    ended = 0
    for row in rows:
        start, complete = int(row["start_ns"]), int(row["complete_ns"])
        assert ended <= start <= complete
        assert complete - start == int(row["duration_ns"])
        assert (row["kernel"], row["group_size"], row["groups"]) == ("mark", "2x1x1", "3x1x1")
        ended = complete


def test_performance_csv_escapes_hostile_names(build: Build, spirv: Path, tmp_path: Path) -> None:
    program = build("hooked", *LINK, '-DKERNEL="=,\\"x"', output="hooked-hostile")
    changed = tmp_path / "hostile.spv"
    changed.write_bytes(spirv.read_bytes().replace(b"mark\0", b'=,"x\0'))
    done = bundled("performance", program, changed, options=("--script-out", str(tmp_path)))
    assert succeeded(done).endswith("seen 4 8\nhooked ok\n")
    with (tmp_path / "performance.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["kernel"] for row in rows] == ["'=,\"x"] * 4
    assert [row["group_size"] for row in rows] == ["2x1x1"] * 4


def test_performance_knows_every_form_of_launch(launches: list[str | Path], tmp_path: Path) -> None:
    done = bundled("performance", *launches, options=("--script-out", str(tmp_path)))
    assert succeeded(done) == "launches ok\n"
    assert done.stderr == ""
    lines = (tmp_path / "performance.csv").read_text(encoding="utf-8").splitlines()
    counted = bundled("count_calls", *launches).stderr.splitlines()
    appended = sum(int(line.split()[0]) for line in counted if "AppendLaunch" in line)
    assert len(lines) - 1 == appended > 40


def test_build_options_are_added(hooked: Path, spirv: Path, tmp_path: Path) -> None:
    option = "-ze-opt-disable"
    out = tmp_path / "out"
    settings = ("--script", "inject_build_options", f"--script-args={option}")
    succeeded(record(out, hooked, spirv, options=settings))
    (call,) = [call for call in calls_of(only_stream(out)) if call.name == "zeModuleCreate"]
    assert option.encode() + b"\0" in [block.data for block in call.call.blocks]
    missing = bundled("inject_build_options", hooked)
    assert missing.returncode == 1
    assert "name the build options" in missing.stderr


def test_null_run_skips_launches_without_hanging(hooked: Path, spirv: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = record(out, hooked, spirv, options=("--script", "null_run"))
    assert succeeded(done).endswith("seen 0 0\nhooked ok\n")
    assert "skipped 2 launches" in done.stderr
    names = [call.name for call in calls_of(only_stream(out))]
    assert not any("AppendLaunch" in name for name in names)


def test_addresses_are_handed_out_once(build: Build, tmp_path: Path) -> None:
    checker = tmp_path / "check.lua"
    script = scripts.find("unique_addresses").read_text(encoding="utf-8")
    checker.write_text(
        script
        + """
        local seen, again, inner = {}, 0, zeMemAllocHost
        function zeMemAllocHost(hContext, desc, size, alignment, pptr)
          local result = inner(hContext, desc, size, alignment, pptr)
          local address = gits.udtToInt(gits.getUdt(pptr, 0))
          again = again + (seen[address] and 1 or 0)
          seen[address] = true
          return result
        end
        function gitsProgramExit()
          local count = 0
          for _ in pairs(seen) do count = count + 1 end
          io.stderr:write(count, " ", again, "\\n")
        end
        """
    )
    done = scripted(checker, build("pipeline", *LINK, output="pipeline-script"))
    succeeded(done)
    count, again = map(int, done.stderr.split())
    assert count > 0
    assert again == 0


def test_failures_are_printed(hello: Path, tmp_path: Path) -> None:
    done = bundled("print_failures", hello)
    assert succeeded(done).startswith("hello from")
    assert done.stderr == ""
    failing = tmp_path / "failing.lua"
    script = scripts.find("print_failures").read_text(encoding="utf-8")
    failing.write_text(
        f"drvl0.zeMemFree = function() return ZE_RESULT_ERROR_UNINITIALIZED end\n{script}"
    )
    done = scripted(failing, hello)
    assert "zeMemFree(0x" in done.stderr
    assert ") = ZE_RESULT_ERROR_UNINITIALIZED" in done.stderr
    stopped = scripted(failing, hello, options=("--script-args=stop",))
    assert stopped.returncode == 1


def test_first_line_of_each_script_is_its_summary() -> None:
    for name, path in scripts.bundled().items():
        assert scripts.find(name) == path
        assert scripts.summary(path).endswith(".")
