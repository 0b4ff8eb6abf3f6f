"""`groundstate compile --emit`: each stage on the way to machine code."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from groundstate.cli.main import main
from groundstate.cli.stages import STAGES
from groundstate.compiler.ir.parser import parse_kernel
from groundstate.compiler.ir.printer import print_kernel
from tests.compiler.spirv.test_support import with_instruction

SOURCE = """
kernel void scale(global const float *in, global float *out, float factor, int n) {
    int i = get_global_id(0);
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < (i & 7); k++) sum += in[i] * factor;
    out[i] = sin(sum);
}

kernel __attribute__((reqd_work_group_size(8, 8, 1))) void fill(global int *out) {
    out[get_global_id(1) * 8 + get_global_id(0)] = 1;
}
"""
Shown = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GROUNDSTATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.cl").write_text(SOURCE)
    return tmp_path


def emitted(capfd: Shown, *words: str) -> str:
    """What a stage prints."""
    assert main(["compile", "k.cl", *words]) == 0
    shown = capfd.readouterr()
    assert shown.err == ""
    return shown.out


def test_emitted_ir_shows_divergence_across_lanes(capfd: Shown) -> None:
    text = emitted(capfd, "--emit=ir", "--kernel", "scale", "--lanes", "8", "--group-size", "64")
    lines = text.splitlines()
    assert lines[:2] == ["; groups of 64 x 1 x 1, 8 lanes", 'kernel "scale"']
    assert "argument 2: f32" in lines
    assert re.search(r': u64 = Builtin \["GlobalInvocationId", 0\].* ; \+1$', text, re.M)
    assert re.search(r": f32 = Load %\d+ \[2, 4\].* ; varying$", text, re.M)
    assert re.search(r": f32 = ExtInst %\d+ .* +; sin, varying$", text, re.M)
    assert re.search(r"^block \d+: +; loop header, divergent$", text, re.M)
    assert re.search(r"^  branch %\d+, block \d+, block \d+$", text, re.M)
    assert print_kernel(parse_kernel(text)) == re.sub(r" +;.*", "", "\n".join(lines[1:])) + "\n"
    assert "fill" not in text


def test_with_one_lane_nothing_differs(capfd: Shown) -> None:
    text = emitted(capfd, "--emit=ir", "--lanes", "1")
    assert "groups of 256 x 1 x 1, 1 lane\n" in text
    assert "groups of 8 x 8 x 1, 1 lane\n" in text
    assert "; varying" not in text


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        ("llvm", "define internal i32 @step("),
        ("optimised", "define void @run("),
        ("asm", "run:"),
    ],
)
def test_text_of_every_kernel(stage: str, expected: str, capfd: Shown) -> None:
    text = emitted(capfd, f"--emit={stage}")
    comment = STAGES[stage].comment
    assert text.count(expected) == 2
    assert f"{comment} kernel scale, for groups of 256 x 1 x 1\n" in text
    assert f"{comment} kernel fill, for groups of 8 x 8 x 1\n" in text


def test_lanes_are_the_width_of_vectors(capfd: Shown) -> None:
    for lanes in (4, 8, 16):
        text = emitted(capfd, "--emit=llvm", "--kernel", "scale", "--lanes", str(lanes))
        assert f"<{lanes} x float>" in text
    assert " x float>" not in emitted(capfd, "--emit=llvm", "--kernel", "scale", "--lanes", "1")


def test_scalar_target_has_one_lane(capfd: Shown) -> None:
    words = ("compile", "k.cl", "--emit=ir", "--target=scalar", "--time-passes")
    assert main(list(words)) == 0
    shown = capfd.readouterr()
    assert "groups of 256 x 1 x 1, 1 lane\n" in shown.out
    assert "mem2reg" in shown.err
    assert "unroll" not in shown.err


def test_an_object_file_beside_the_source(project: Path, capfd: Shown) -> None:
    assert emitted(capfd, "--emit=object", "--kernel", "fill") == ""
    content = (project / "k.o").read_bytes()
    assert content.startswith(b"\x7fELF")
    assert b"run" in content


def test_an_object_file_is_of_one_kernel(capfd: Shown) -> None:
    assert main(["compile", "k.cl", "--emit=object"]) == 1
    assert "name it with --kernel: scale, fill" in capfd.readouterr().err


def test_text_goes_where_it_is_told(project: Path, capfd: Shown) -> None:
    assert emitted(capfd, "--emit=asm", "-o", "k.s") == ""
    assert "run:" in (project / "k.s").read_text()


def test_stages_of_spirv(project: Path, capfd: Shown) -> None:
    assert main(["compile", "k.cl"]) == 0
    assert main(["compile", "k.spv", "--emit=llvm", "--kernel", "fill"]) == 0
    assert capfd.readouterr().out == emitted(capfd, "--emit=llvm", "--kernel", "fill")


def test_spirv_of_spirv(project: Path, capfd: Shown) -> None:
    assert main(["compile", "k.cl"]) == 0
    assert main(["compile", "k.spv"]) == 1
    assert "'k.spv' is SPIR-V already" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (["--emit=asm", "--kernel", "blur"], 1, "no kernel 'blur'; there are: scale, fill"),
        (["--emit=asm", "--group-size", "0"], 2, "'0' is not a group size such as 64 or 16,8"),
        (["--emit=asm", "--group-size", "1,2,3,4"], 2, "is not a group size"),
        (["--emit=asm", "--lanes", "5"], 2, "--lanes"),
        (["--emit=picture"], 2, "--emit"),
        (["--lanes", "8"], 2, "--lanes changes nothing of --emit=spirv; it is for later stages"),
        (["--target", "sm_90"], 2, "later stages, such as --emit=ptx"),
        (["--print-after=unroll"], 2, "--print-after changes nothing of --emit=spirv"),
        (["--emit=ptx", "--group-size", "64"], 2, "--group-size changes nothing of --emit=ptx"),
        (["--emit=ptx", "--target=host"], 2, "PTX is for a GPU, such as --target sm_90"),
        (["--emit=asm", "--target=sm_90"], 1, "for a GPU there is PTX alone"),
    ],
)
def test_mistakes(words: list[str], status: int, sentence: str, capfd: Shown) -> None:
    try:
        found = main(["compile", "k.cl", *words])
    except SystemExit as end:
        found = int(str(end.code))
    assert found == status
    assert sentence in capfd.readouterr().err


def test_what_cannot_be_compiled_is_named(project: Path, capfd: Shown) -> None:
    (project / "k.spv").write_bytes(with_instruction("EnqueueMarker"))
    assert main(["compile", "k.spv", "--emit=asm"]) == 1
    assert "in function 'kernel', OpEnqueueMarker: kernels cannot" in capfd.readouterr().err


def test_the_printed_assembly_can_be_assembled(project: Path, capfd: Shown) -> None:
    emitted(capfd, "--emit=asm", "--kernel", "scale", "-o", "k.s")
    done = subprocess.run(["as", "k.s", "-o", "k.o"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_passes_are_listed_in_order(capfd: Shown) -> None:
    with pytest.raises(SystemExit) as end:
        main(["compile", "--list-passes"])
    assert end.value.code == 0
    names = [line.split()[0] for line in capfd.readouterr().out.splitlines()]
    assert names.index("mem2reg") < names.index("split-at-barriers") < names.index("unroll")


def test_passes_are_printed_timed_and_verified(capfd: Shown) -> None:
    words = "--emit=ir --kernel fill --print-before=unroll --print-after=mem2reg --time-passes"
    assert main(["compile", "k.cl", *words.split(), "--verify"]) == 0
    said = capfd.readouterr().err
    assert said.index("; after mem2reg") < said.index("; before unroll")
    assert re.search(r"^all passes +\d+\.\d\d$", said, re.M)


def test_only_chosen_passes_run(capfd: Shown) -> None:
    words = ["compile", "k.cl", "--emit=ir", "--time-passes"]
    assert main([*words, "--passes=unroll,no-wrap"]) == 0
    said = capfd.readouterr().err
    assert "unroll" in said
    assert "no-wrap" in said
    assert "merge-loads" not in said
    assert main([*words, "--passes=none"]) == 0
    assert "unroll" not in capfd.readouterr().err
    assert main([*words, "--passes=mem2reg"]) == 1
    assert "always runs" in capfd.readouterr().err
    assert main([*words, "--print-after=mem2rag"]) == 1
    assert "there is no pass 'mem2rag'" in capfd.readouterr().err


def test_ptx_has_all_kernels_in_one_module(project: Path, capfd: Shown) -> None:
    assert emitted(capfd, "--emit=ptx", "--target", "sm_80", "-o", "k.ptx") == ""
    text = (project / "k.ptx").read_text()
    assert text.count(".target sm_80") == 1
    assert ".visible .entry scale(" in text
    assert ".visible .entry fill(" in text


def test_ptx_of_one_kernel_of_spirv(capfd: Shown) -> None:
    assert main(["compile", "k.cl"]) == 0
    assert main(["compile", "k.spv", "--emit=ptx", "--kernel", "fill"]) == 0
    text = capfd.readouterr().out
    assert ".target sm_90" in text
    assert ".entry fill(" in text
    assert ".entry scale(" not in text


def test_a_gpu_has_ptx_alone(capfd: Shown) -> None:
    assert main(["compile", "k.cl", "--emit=asm", "--target", "sm_90"]) == 1
    assert "--emit=ptx --target sm_90" in capfd.readouterr().err


@pytest.mark.parametrize("target", ["sm_20", "zen4"])
def test_a_target_that_is_none(target: str, capfd: Shown) -> None:
    with pytest.raises(SystemExit):
        main(["compile", "k.cl", "--emit=ptx", "--target", target])
    assert target in capfd.readouterr().err
