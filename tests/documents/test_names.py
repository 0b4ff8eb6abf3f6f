"""The files, modules, variables and make targets that the pages name are there."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from groundstate import knobs

from .pages import PAGES, ROOT, fenced_blocks, name_of
from .world import World

ENDINGS = "c|cfg|cl|cpp|h|json|lua|md|py|yml"
FILE = re.compile(rf"(?<![\w/.*$<{{-])((?:[\w.-]+/)*[\w-]+\.(?:{ENDINGS}))\b(?![\w/*-])")
NOT_OURS = {
    "add.py": "a program that docs/howto/running.md shows",
    "app.py": "the reader's",
    "build/fuzz/calls/seed-77.json": "is written by 'make fuzz'",
    "check.json": "is written by 'groundstate check --json'",
    "interpreter.cfg": "is built",
    "kernel/pipelining.py": "a file of numba-dpex",
    "layout.json": "is written by 'groundstate stream dump'",
    "learn.py": "a program that docs/howto/running.md shows",
    "product.cpp": "a program that docs/howto/running.md shows",
    "profile.json": "is written by 'groundstate profile --json'",
    "ranks.py": "a program that docs/howto/clusters.md shows",
    "spmv.cl": "the reader's",
    "tests/test_blur.py": "the reader's",
    "trace.json": "is written by 'groundstate profile --trace' and 'groundstate stream timeline'",
    "transpose.cl": "the kernels in examples/slow/transpose.py",
}
"""Files that are named and not in the repository."""
OTHER_VARIABLES = {"GROUNDSTATE_STRICT_TESTS"}

every_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


@cache
def tracked() -> frozenset[str]:
    """All files of the repository, and each of the paths that end with their names."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    parts = (path.split("/") for path in listed.splitlines())
    return frozenset("/".join(each[i:]) for each in parts for i in range(len(each)))


@every_page
def test_files_that_a_page_names_exist(page: Path, world: World) -> None:
    known = tracked() | NOT_OURS.keys() | world.makers.keys()
    for name in FILE.findall(page.read_text(encoding="utf-8")):
        short = os.path.normpath(name).replace("../", "").removeprefix("_native/")
        assert short in known or (page.parent / name).exists(), name


@every_page
def test_variables_that_a_page_names_exist(page: Path) -> None:
    known = {knob.name for knob in knobs.KNOBS}
    named = set(re.findall(r"\bGROUNDSTATE_[A-Z_]*[A-Z]\b", page.read_text(encoding="utf-8")))
    assert named <= known | OTHER_VARIABLES


@every_page
def test_modules_that_a_page_names_exist(page: Path) -> None:
    files = r"\b\S*[/-]groundstate\S*|groundstate\.fish"
    text = re.sub(files, "", page.read_text(encoding="utf-8"))
    for name in set(re.findall(r"(?<![\w.])groundstate(?:\.[a-z_]\w*)+", text)):
        module, thing = "groundstate", importlib.import_module("groundstate")
        for part in name.split(".")[1:]:
            if not hasattr(thing, part):
                thing = importlib.import_module(f"{module}.{part}")
            else:
                thing = getattr(thing, part)
            module += f".{part}"


@every_page
def test_make_targets_that_a_page_names_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", makefile, re.M))
    in_sentences = re.findall(r"`make ([a-z][a-z0-9-]*)", page.read_text(encoding="utf-8"))
    commands = "".join(block.text for block in fenced_blocks(page))
    assert {*in_sentences, *re.findall(r"^make ([a-z][a-z0-9-]*)", commands, re.M)} <= targets
