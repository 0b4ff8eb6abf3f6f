"""The text of a kernel, as kernels really are: what is printed parses to the same kernel.

`GROUNDSTATE_ALL_KERNELS=1` takes all modules in `tests/prebuilt`, which takes minutes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundstate.compiler import pipeline
from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Kernel
from groundstate.compiler.ir.parser import parse_kernel
from groundstate.compiler.ir.printer import print_kernel
from groundstate.compiler.ir.verifier import verify
from groundstate.compiler.program import Program
from groundstate.compiler.spirv import InvalidModule
from tests import prebuilt

ARCHIVES = prebuilt.archives()
TAKES_ALL = os.environ.get("GROUNDSTATE_ALL_KERNELS", "") not in ("", "0")
EVERY = 1 if TAKES_ALL else 12
"""Of the modules in an archive, one of so many is read."""
GROUP = (64, 1, 1)


def programs(archive: Path) -> Iterator[Program]:
    for _, entry in list(prebuilt.entries(archive))[::EVERY]:
        if entry.spirv:
            try:
                yield Program(entry.spirv)
            except (BuildError, InvalidModule):
                continue  # some are there to be refused


def kernels(archive: Path) -> Iterator[Kernel]:
    """Kernels before they are specialised, and for a group size."""
    for program in programs(archive):
        for name in program.kernel_names:
            try:
                yield program.kernel(name)
                yield pipeline.specialise(program, name, GROUP).kernel
            except BuildError:
                continue


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_kernel_is_read_back_as_it_was(archive: Path) -> None:
    for kernel in kernels(archive):
        text = print_kernel(kernel)
        read = parse_kernel(text)
        assert print_kernel(read) == text
        read.renumber()
        verify(read, "reading it back")
        assert read.cells == kernel.cells
        assert read.observes_subgroups == kernel.observes_subgroups


def test_some_kernels_are_read() -> None:
    assert sum(1 for archive in ARCHIVES for _ in programs(archive)) > 20
