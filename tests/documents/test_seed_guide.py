"""The blocks of the core programming guide run as they are written."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from groundstate import standin
from groundstate.compiler.opencl.frontend import compile_opencl

from .seeds.guide import AROUND, CONTRADICTIONS, Around
from .seeds.texts import GUIDE, SeedBlock, blocks

pytestmark = pytest.mark.timeout(1200)  # many programs run one after the other

HERE = Path(__file__).with_name("seeds")
BLOCKS = {block.number: block for block in blocks(GUIDE)}
KERNEL = 27
"""The block that is a kernel in OpenCL C; it leaves its sampler to the reader."""
SAMPLER = "constant sampler_t SMPL_PREF = CLK_NORMALIZED_COORDS_TRUE | CLK_FILTER_LINEAR;\n"
FLAGS = ["-std=c++17", "-O0", "-w", "-fpermissive", "-ftrivial-auto-var-init=zero"]
"""Pseudo-code has no casts, and does not initialise structs: those are zeros here."""

PROGRAMS = [number for number in BLOCKS if number not in CONTRADICTIONS and number != KERNEL]
CORRECTED = [number for number, each in CONTRADICTIONS.items() if each.corrected]


def function(block: SeedBlock, around: Around, text: str) -> str:
    """A block as a function of C++, whose errors name the line of the guide."""
    dots = list(around.dots)
    text = re.sub(r"(?m)^\s*\.\.\.\s*$", lambda _: dots.pop(0) if dots else "", text)
    if around.renamed:
        text = re.sub(rf"\b{re.escape(around.renamed[0])}", around.renamed[1], text)
    return (
        f"static void block_{block.number}() {{\n{around.before}\n    {{\n"
        f'#line {block.line} "{block.seed}"\n{text}\n{around.after}\n    }}\n}}\n'
    )


def program(functions: dict[int, str]) -> str:
    """A program that runs the blocks whose numbers it is given, and says when one begins."""
    cases = "".join(f"    case {number}: block_{number}(); break;\n" for number in functions)
    return (
        f'#include "reader.h"\n{"".join(functions.values())}\n'
        "int main(int count, char **numbers) {\n"
        "    for (int each = 1; each < count; each++) {\n"
        '        fprintf(stderr, "== %s\\n", numbers[each]);\n'
        "        begin();\n"
        f"        switch (atoi(numbers[each])) {{\n{cases}        }}\n"
        "    }\n    return 0;\n}\n"
    )


def compiled(text: str, output: Path) -> str:
    """Compiles a program; what the compiler says about it."""
    source = output.with_suffix(".cpp")
    source.write_text(text)
    command = [*os.environ.get("CXX", "g++").split(), *FLAGS, f"-I{HERE}", str(source)]
    command += ["-o", str(output), "-lze_loader", "-lpthread"]
    return subprocess.run(command, capture_output=True, text=True).stderr


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[int, str]:
    """What all blocks, and the driver about them, printed in one run."""
    folder = tmp_path_factory.mktemp("guide")
    functions = {n: function(BLOCKS[n], AROUND.get(n, Around()), BLOCKS[n].text) for n in PROGRAMS}
    for number in CORRECTED:
        text, contradiction = BLOCKS[number].text, CONTRADICTIONS[number]
        for wrong, right in contradiction.corrected:
            assert wrong in text
            text = text.replace(wrong, right)
        functions[number] = function(BLOCKS[number], contradiction.around, text)
    assert compiled(program(functions), folder / "blocks") == ""
    scaling = SAMPLER + BLOCKS[KERNEL].text.replace("...", "")
    (folder / "image_scaling.spv").write_bytes(compile_opencl(scaling))
    kernels = (HERE / "blocks.cl").read_text(encoding="utf-8")
    (folder / "blocks.spv").write_bytes(compile_opencl(kernels))
    variables = {
        "PATH": os.defpath,
        "HOME": str(folder),
        "ZE_ENABLE_ALT_DRIVERS": str(standin.library()),
        "GROUNDSTATE_ERRORS": "1",
        "GROUNDSTATE_TOPOLOGY": "1x4",
    }
    command = [str(folder / "blocks"), *map(str, functions)]
    done = subprocess.run(
        command, cwd=folder, env=variables, stderr=subprocess.PIPE, text=True, timeout=240
    )
    parts = re.split(r"^== (\d+)\n", done.stderr, flags=re.M)[1:]
    assert done.returncode == 0, f"block {parts[-2]} -> {done.returncode}\n{parts[-1]}"
    return {int(number): text for number, text in zip(parts[::2], parts[1::2], strict=True)}


@pytest.mark.parametrize("number", [*PROGRAMS, *CORRECTED])
def test_a_block_of_the_guide_runs(number: int, said: dict[int, str]) -> None:
    objected = AROUND.get(number, Around()).says
    if objected:
        assert objected in said[number]
        assert "not true" not in said[number]
    else:
        assert said[number] == ""


@pytest.mark.parametrize("number", CONTRADICTIONS)
def test_block_against_headers_fails_to_compile(number: int, tmp_path: Path) -> None:
    contradiction = CONTRADICTIONS[number]
    text = program({number: function(BLOCKS[number], contradiction.around, BLOCKS[number].text)})
    assert re.search(contradiction.message, compiled(text, tmp_path / "block"))


def test_no_block_of_the_guide_is_left_out() -> None:
    assert set(BLOCKS) == {KERNEL, *PROGRAMS, *CONTRADICTIONS}
    assert len(BLOCKS) == 55
