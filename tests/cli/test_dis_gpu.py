"""`groundstate dis` for GPUs: PTX, and SASS by the tools of the CUDA toolkit."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundstate.cli import cuda_tools
from groundstate.cli.main import main
from groundstate.compiler.opencl.frontend import compile_opencl

SOURCE = """
kernel void add(global const float *a, global float *b) {
    b[get_global_id(0)] += a[get_global_id(0)];
}
kernel void clear(global float *b) { b[get_global_id(0)] = 0; }
"""


@pytest.fixture
def module(tmp_path: Path) -> str:
    path = tmp_path / "k.spv"
    path.write_bytes(compile_opencl(SOURCE))
    return str(path)


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of the path; no wheel has a tool."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr(cuda_tools, "PLACES", ())
    monkeypatch.setattr(cuda_tools, "WHEELS", dict.fromkeys(cuda_tools.WHEELS, "no-such-package"))
    return folder


def tool(folder: Path, name: str, script: str) -> None:
    """A tool that does what a shell script says."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_ptx_has_all_kernels(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dis", module, "--ptx", "sm_80"]) == 0
    shown = capsys.readouterr().out
    assert ".target sm_80" in shown
    assert ".entry add(" in shown
    assert ".entry clear(" in shown
    assert "\\t" not in shown


def test_ptx_is_for_hopper_unless_told(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dis", module, "--ptx"]) == 0
    assert ".target sm_90" in capsys.readouterr().out


def test_sass_goes_through_the_tools(
    module: str, nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tool(nowhere, "ptxas", '[ "$1" = -arch=sm_80 ] && sed "s/^/assembled: /" "$2" > "$4"')
    tool(nowhere, "nvdisasm", 'cat "$2"')
    assert main(["dis", module, "--sass", "sm_80"]) == 0
    shown = capsys.readouterr().out
    assert "assembled: .visible .entry add(" in shown


def test_tool_that_fails_has_its_words(
    module: str, nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tool(nowhere, "ptxas", "echo no such GPU >&2; exit 1")
    tool(nowhere, "nvdisasm", "true")
    assert main(["dis", module, "--sass"]) == 1
    assert "ptxas failed: no such GPU" in capsys.readouterr().err


def test_missing_tool_is_named(
    module: str, nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tool(nowhere, "ptxas", "true")
    assert main(["dis", module, "--sass"]) == 1
    assert "nvdisasm is not there: install NVIDIA's CUDA toolkit" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("gpu", "sentence"), [("sm_20", "there is no code for sm_20"), ("gtx", "'gtx' is no GPU")]
)
def test_other_gpus_are_refused(
    module: str, gpu: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["dis", module, "--ptx", gpu]) == 1
    assert sentence in capsys.readouterr().err
