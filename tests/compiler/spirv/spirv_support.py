"""Modules for the tests of the SPIR-V reader: assembled from text, or put together word by word."""

from __future__ import annotations

import shutil
import struct
import subprocess
from functools import cache
from pathlib import Path

import pytest

from groundstate.compiler.spirv import Module, read
from groundstate.compiler.spirv.strings import string_words

MODULES = Path(__file__).parent / "modules"
MAGIC = 0x07230203


def assemble(text: str, version: str = "1.4") -> bytes:
    """The binary of a text, made by Debian's assembler."""
    if shutil.which("spirv-as") is None:
        reason = "spirv-as of the package spirv-tools is not installed"
        pytest.skip(reason, allow_module_level=True)
    done = subprocess.run(
        ["spirv-as", "--preserve-numeric-ids", "--target-env", f"spv{version}", "-o", "-", "-"],
        input=text.encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@cache
def module_data(name: str) -> bytes:
    """The binary of one of the modules beside these tests."""
    return assemble((MODULES / f"{name}.spvasm").read_text(encoding="utf-8"))


MODULE_NAMES = sorted(path.stem for path in MODULES.glob("*.spvasm"))

HEADER = """
    OpCapability Addresses
    OpCapability Kernel
    OpCapability Linkage
    OpCapability Int8
    OpCapability Int16
    OpCapability Int64
    OpCapability Float16
    OpCapability Float64
    OpCapability Vector16
    OpCapability GenericPointer
    OpMemoryModel Physical64 OpenCL
"""
TYPES = """
    %void = OpTypeVoid
    %bool = OpTypeBool
    %uchar = OpTypeInt 8 0
    %ushort = OpTypeInt 16 0
    %uint = OpTypeInt 32 0
    %ulong = OpTypeInt 64 0
    %half = OpTypeFloat 16
    %float = OpTypeFloat 32
    %double = OpTypeFloat 64
"""


def read_text(body: str, before: str = "") -> Module:
    """The module of some declarations and functions, with the usual header and number types.

    `before` holds what comes in front of types: names, decorations, entry points.
    """
    return read(assemble(HEADER + before + TYPES + body))


def by_name(module: Module, name: str) -> int:
    """The id that a module gives a name."""
    return next(id for id, text in module.names.items() if text == name)


def instruction(opcode: int, *operands: int | str) -> list[int]:
    """The words of one instruction."""
    words: list[int] = []
    for operand in operands:
        words += string_words(operand) if isinstance(operand, str) else [operand]
    return [(len(words) + 1) << 16 | opcode, *words]


def binary(*instructions: list[int], bound: int = 100, version: int = 0x10200) -> bytes:
    """A binary of some instructions behind a header."""
    words = [MAGIC, version, 0, bound, 0]
    for one in instructions:
        words += one
    return struct.pack(f"<{len(words)}I", *words)
