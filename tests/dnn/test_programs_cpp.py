"""C++ programs on dnnl::ze_interop: with our headers alone, and with oneDNN's."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from groundstate import dnnl

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
OFFICIAL = ROOT / ".venv" / "onednn-headers" / "include"
FLAGS = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]
TIMEOUT_SECONDS = 120


@pytest.fixture(scope="session")
def official() -> Path:
    """The folder with oneDNN's headers."""
    if not (OFFICIAL / "oneapi" / "dnnl" / "dnnl_ze.hpp").exists():
        pytest.skip("oneDNN's headers are missing: make .venv/onednn-headers/.downloaded")
    return OFFICIAL


@pytest.fixture
def without_interop(official: Path, tmp_path: Path) -> Path:
    """oneDNN's headers as they were before they had those for Level Zero."""
    folder = tmp_path / "include"
    shutil.copytree(official, folder, ignore=shutil.ignore_patterns("dnnl_ze*"))
    return folder


def build(program: str, target: Path, includes: list[Path], level_zero: str, std: str) -> None:
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        pytest.skip("there is no C++ compiler: apt-get install g++")
    if not Path("/usr/include/level_zero/ze_api.h").exists():
        pytest.skip("the Level Zero headers are missing: apt-get install libze-dev")
    ours = Path(dnnl.library_path())
    source = PROGRAMS / f"{program}.cpp"
    given = [f"-I{dnnl.include_folder()}", *(f"-isystem{folder}" for folder in includes)]
    link = [str(ours), level_zero, f"-Wl,-rpath,{ours.parent}"]
    command = [compiler, f"-std={std}", *FLAGS, *given, str(source), "-o", str(target), *link]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr


def run(target: Path, **variables: str) -> str:
    keep = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    done = subprocess.run(
        [str(target)],
        env={**keep, **variables},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("headers", "std"),
    [("ours", "c++11"), ("ours", "c++20"), ("official", "c++17"), ("without_interop", "c++11")],
)
def test_interop_program_runs_with_all_headers(
    headers: str, std: str, library: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    includes = [] if headers == "ours" else [request.getfixturevalue(headers)]
    build("interop", tmp_path / "interop", includes, str(library), std)
    assert run(tmp_path / "interop") == "interop: all is as it should be\n"


@pytest.mark.parametrize("way", ["direct", "loader"])
def test_official_header_program_runs_unmodified(
    way: str, official: Path, library: Path, tmp_path: Path
) -> None:
    level_zero = str(library) if way == "direct" else "-lze_loader"
    build("official", tmp_path / "official", [official], level_zero, "c++17")
    variables = {} if way == "direct" else {"ZE_ENABLE_ALT_DRIVERS": str(library)}
    assert run(tmp_path / "official", **variables) == "official: all is as it should be\n"


def test_package_headers_can_be_included_together(library: Path, tmp_path: Path) -> None:
    """In any order, and in two files of one program."""
    first, second = tmp_path / "first.cpp", tmp_path / "second.cpp"
    first.write_text(
        "#include <groundstate/dnnl_ze.hpp>\n#include <groundstate/dnnl.hpp>\n"
        "#include <groundstate/dnnl.h>\n"
        "bool is_gpu(const dnnl::engine &);\n"
        "int main() { return is_gpu(dnnl::engine(dnnl::engine::kind::gpu, 0)) ? 0 : 1; }\n"
    )
    second.write_text(
        "#include <groundstate/dnnl.h>\n#include <groundstate/dnnl_ze.hpp>\n"
        "bool is_gpu(const dnnl::engine &it) {"
        " return it.get_kind() == dnnl::engine::kind::gpu; }\n"
    )
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        pytest.skip("there is no C++ compiler: apt-get install g++")
    ours, target = Path(dnnl.library_path()), tmp_path / "both"
    link = [str(ours), str(library), f"-Wl,-rpath,{ours.parent}"]
    command = [compiler, "-std=c++11", *FLAGS, f"-I{dnnl.include_folder()}"]
    built = subprocess.run(
        [*command, str(first), str(second), "-o", str(target), *link],
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    assert run(target) == ""
