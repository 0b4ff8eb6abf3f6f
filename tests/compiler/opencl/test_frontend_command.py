"""`groundstate compile`, as a user types it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from groundstate.cli.main import main
from tests.compiler.opencl.frontend_support import disassemble, validate

pytestmark = pytest.mark.needs_compiler

SOURCE = '#include "size.h"\nkernel void f(global int *a) { a[get_global_id(0)] = SIZE + EXTRA; }\n'


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GROUNDSTATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.cl").write_text(SOURCE)
    (tmp_path / "size.h").write_text("#define SIZE 1000\n")
    return tmp_path


def test_output_beside_the_source(project: Path) -> None:
    assert main(["compile", "k.cl", "-DEXTRA=11"]) == 0
    spirv = (project / "k.spv").read_bytes()
    validate(spirv)
    assert "%uint 1011" in disassemble(spirv)


def test_every_kind_of_option(project: Path) -> None:
    (project / "include").mkdir()
    (project / "size.h").rename(project / "include" / "size.h")
    words = "compile k.cl -o out.spv -D EXTRA=22 -U OTHER -I include -cl-std=CL1.2 -cl-mad-enable"
    assert main([*words.split(), "-w", "-Wno-unused", "-Werror"]) == 0
    assert "%uint 1022" in disassemble((project / "out.spv").read_bytes())


def test_include_beside_source_found_from_any_cwd(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert main(["compile", str(project / "k.cl"), "-DEXTRA=1"]) == 0
    assert (project / "k.spv").exists()


def test_standard_streams(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("kernel void f(global int *a) { a[0] = 1; }"))
    assert main(["compile", "-", "-o", "k.spv"]) == 0
    validate((project / "k.spv").read_bytes())


def test_mistake_in_the_source(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "k.cl"]) == 1
    error = capsys.readouterr().err
    assert error.splitlines()[0] == "k.cl:2:61: error: use of undeclared identifier 'EXTRA'"
    assert error.splitlines()[2].endswith("^~~~~")
    assert not (project / "k.spv").exists()


def test_warning_is_shown(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "k.cl", "-DEXTRA=(1/0)"]) == 0
    assert "warning: division by zero" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere.cl"], "groundstate compile: nowhere.cl: no such file"),
        (["k.cl", "-DEXTRA=1", "-o", "no/such/k.spv"], "no/such/k.spv: no such file"),
        (["k.cl", "-cl-std=CL9"], "the standards are"),
    ],
)
def test_plain_sentences(
    words: list[str], sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", *words]) == 1
    assert sentence in capfd.readouterr().err


def test_binary_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "k.cl").write_bytes(b"\xff\xfe\x00")
    assert main(["compile", "k.cl"]) == 1
    assert "k.cl: is not text" in capsys.readouterr().err
