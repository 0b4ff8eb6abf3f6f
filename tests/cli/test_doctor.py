"""`groundstate doctor`: truthful where all is well, and still there where something is broken."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import groundstate as gs
from groundstate import standin
from groundstate.doctor import installed, places, settings
from groundstate.doctor.finding import State

ROOT = Path(__file__).parents[2]
SECTIONS = ["Installed", "Programs", "Variables", "Places", "Device"]


def doctor(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    clean = {name: text for name, text in os.environ.items() if not name.startswith("GROUNDSTATE_")}
    return subprocess.run(
        [sys.executable, "-m", "groundstate", "doctor", *arguments],
        env={**clean, **variables},
        capture_output=True,
        text=True,
        timeout=200,
    )


def findings(**variables: str) -> dict[tuple[str, str], dict[str, Any]]:
    done = doctor("--json", **variables)
    assert done.stderr == ""
    listed = json.loads(done.stdout)["findings"]
    assert {each["section"] for each in listed} == set(SECTIONS)
    assert done.returncode == int(any(each["state"] == "wrong" for each in listed))
    return {(each["section"], each["name"]): each for each in listed}


def test_a_machine_that_works_fits_on_one_screen() -> None:
    done = doctor()
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    lines = done.stdout.splitlines()
    assert [line for line in lines if line in SECTIONS] == SECTIONS
    assert lines[-1] == "Everything works."
    assert max(len(line) for line in lines if "->" not in line and "/" not in line) <= 80
    assert len(lines) < 50
    device = gs.devices()[0]
    assert f"{device.name}, " in done.stdout
    has_clang = "-- OpenCL C " not in done.stdout
    for kernel in ("SPIR-V kernel", "OpenCL C kernel") if has_clang else ("SPIR-V kernel",):
        (line,) = [line for line in lines if kernel in line]
        assert line.startswith("  ok ")
        assert line.endswith(" 4096 right numbers")


def test_missing_driver_is_wrong_and_rest_shown(tmp_path: Path) -> None:
    found = findings(GROUNDSTATE_LIBRARY=str(tmp_path / "none.so"))
    assert found["Installed", "driver"]["state"] == "wrong"
    assert "make native" in found["Installed", "driver"]["text"]
    assert found["Device", "kernel"]["state"] == "wrong"
    assert found["Installed", "llvmlite"]["state"] == "ok"


def test_driver_that_aborts_the_process_is_wrong(tmp_path: Path) -> None:
    source = tmp_path / "bad.c"
    source.write_text(
        "#include <stdlib.h>\n__attribute__((constructor)) static void f(void) { abort(); }\n"
    )
    compiler = shutil.which(os.environ.get("CC", "cc"))
    assert compiler is not None
    library = tmp_path / "libze_groundstate.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", library], check=True)
    found = findings(GROUNDSTATE_LIBRARY=str(library))
    assert found["Device", "kernel"]["text"] == "ended by SIGABRT"
    assert found["Programs", "check"]["state"] == "wrong"


def test_compiler_import_failure_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "llvmlite").mkdir()
    (tmp_path / "llvmlite" / "__init__.py").write_text("raise ImportError('libstdc++ is missing')")
    found = findings(PYTHONPATH=os.pathsep.join((str(tmp_path), *sys.path)))
    assert found["Device", "kernel"]["state"] == "wrong"
    assert "libstdc++ is missing" in found["Device", "kernel"]["text"]


def test_uninstalled_package_is_reported_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "version_of", lambda name: None)
    is_not = list(installed.package())[1]
    assert (is_not.name, is_not.state) == ("package", State.MISSING)
    assert "runs without being installed" in is_not.text
    assert is_not.fix.endswith(f"pip install {ROOT}")
    assert not list(installed.extras())
    assert not list(installed.required())


def test_misspelt_variable_is_wrong_others_shown() -> None:
    found = findings(GROUNDSTATE_TOPLOGY="2x2", GROUNDSTATE_THREADS="2", GROUNDSTATE_MEMORY="lots")
    assert found["Variables", "GROUNDSTATE_THREADS=2"]["state"] == "ok"
    assert found["Variables", "GROUNDSTATE_MEMORY=lots"]["state"] == "wrong"
    wrong = found["Variables", "GROUNDSTATE_TOPLOGY=2x2"]
    assert wrong["state"] == "wrong"
    assert wrong["text"].endswith("did you mean GROUNDSTATE_TOPOLOGY?")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("GROUNDSTATE_TREADS", "GROUNDSTATE_THREADS"),
        ("GROUDSTATE_TOPOLOGY", "GROUNDSTATE_TOPOLOGY"),
        ("ZE_AFINITY_MASK", "ZE_AFFINITY_MASK"),
        ("GROUNDSTATE_COLOUR_OF_THE_SKY", None),
    ],
)
def test_misspelt_variables_are_recognised(name: str, meant: str | None) -> None:
    (finding,) = settings.misspelt({name: "1"})
    assert finding.state is State.WRONG
    assert (f"did you mean {meant}?" in finding.text) == (meant is not None)


@pytest.mark.parametrize(
    "name", ["ZE_ENABLE_ALT_DRIVERS", "ZE_ENABLE_VALIDATION_LAYER", "HOME", "GROUNDSTATE_MEMORY"]
)
def test_variables_of_others_are_left_alone(name: str) -> None:
    assert not list(settings.misspelt({name: "1"}))


def test_own_environment_selects_own_driver() -> None:
    found = findings(**standin.environment(os.environ))
    assert found["Programs", "loader"]["text"].startswith("Groundstate in the loader's place")


def test_missing_packages_name_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(installed, "version_of", {"groundstate": gs.__version__}.get)
    finding = installed.optional("monitor", "top, metrics")
    assert finding.state is State.MISSING
    assert finding.text == "for top, metrics: no prometheus-client, textual"
    assert finding.fix.endswith("pip install 'groundstate[monitor]'")


def test_cache_that_cannot_be_written_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_CACHE", "/proc/nothing")
    (finding,) = places.check()
    assert finding.state is State.MISSING
    monkeypatch.setenv("GROUNDSTATE_CACHE", "0")
    (finding,) = places.check()
    assert finding.text == "kernels are not kept: GROUNDSTATE_CACHE=0"
