"""SPIR-V modules: reading them, what they contain, and showing them as text."""

from __future__ import annotations

from groundstate.compiler.spirv.constants import Address, Constant
from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.module import (
    Block,
    EntryPoint,
    Function,
    Instruction,
    Module,
    Variable,
)
from groundstate.compiler.spirv.opcodes import CL, Op
from groundstate.compiler.spirv.reader import is_spirv, read

__all__ = [
    "CL",
    "Address",
    "Block",
    "Constant",
    "EntryPoint",
    "Function",
    "Instruction",
    "InvalidModule",
    "Module",
    "Op",
    "Variable",
    "is_spirv",
    "read",
]
