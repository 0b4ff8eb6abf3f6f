"""Small modules for surveys, and shared objects that hold them as SYCL programs do."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.compiler.spirv.assembler import assemble

START = """
OpCapability Addresses
OpCapability Kernel
OpCapability Linkage
OpCapability Pipes
OpMemoryModel Physical64 OpenCL
"""
TYPES = """
%void = OpTypeVoid
%u32 = OpTypeInt 32 0
%global = OpTypePointer CrossWorkgroup %u32
%kernel.type = OpTypeFunction %void %global
%type.of.one = OpTypeFunction %u32
"""


def kernel(name: str, number: int) -> bytes:
    """A kernel that stores a number."""
    return assemble(
        f'{START} OpEntryPoint Kernel %k "{name}"{TYPES}'
        f"""
        %number = OpConstant %u32 {number}
        %k = OpFunction %void None %kernel.type
        %to = OpFunctionParameter %global
        %begin = OpLabel
        OpStore %to %number Aligned 4
        OpReturn
        OpFunctionEnd
        """
    )


def importing(name: str, symbol: str) -> bytes:
    """A kernel that stores what a function of another module returns."""
    return assemble(
        f"""{START} OpEntryPoint Kernel %k "{name}"
        OpDecorate %one LinkageAttributes "{symbol}" Import
        {TYPES}
        %one = OpFunction %u32 None %type.of.one
        OpFunctionEnd
        %k = OpFunction %void None %kernel.type
        %to = OpFunctionParameter %global
        %begin = OpLabel
        %number = OpFunctionCall %u32 %one
        OpStore %to %number Aligned 4
        OpReturn
        OpFunctionEnd
        """
    )


def exporting(symbol: str) -> bytes:
    """A module without kernels, whose function another may use."""
    return assemble(
        f"""{START} OpDecorate %one LinkageAttributes "{symbol}" Export
        {TYPES}
        %number = OpConstant %u32 17
        %one = OpFunction %u32 None %type.of.one
        %begin = OpLabel
        OpReturnValue %number
        OpFunctionEnd
        """
    )


def refused(name: str) -> bytes:
    """A kernel with an instruction that the device does not have."""
    return assemble(
        f"""{START} OpEntryPoint Kernel %k "{name}" {TYPES}
        %k = OpFunction %void None %kernel.type
        %to = OpFunctionParameter %global
        %begin = OpLabel
        OpKill
        OpFunctionEnd
        """
    )


def for_vector_registers() -> bytes:
    """A module with a vector of as many numbers as the registers of one GPU hold."""
    return assemble(
        f"""OpCapability VectorAnyINTEL {START} {TYPES}
        %many = OpTypeVector %u32 768
        """
    )


def shared_object(folder: Path, images: list[tuple[bytes, int]], has_table: bool = True) -> Path:
    """A library with images for devices, each with the size that its list says it has."""
    lines = ['.section "__CLANG_OFFLOAD_BUNDLE__sycl-spir64", "a"', '.ascii "not an image"']
    for number, (content, _) in enumerate(images):
        file = folder / f"image{number}"
        file.write_bytes(content)
        lines += [".balign 16", f"image{number}:", f'.incbin "{file}"']
    if has_table:
        lines += ['.section ".tgtimg", "aw"']
        lines += [f".quad image{number}, {size}" for number, (_, size) in enumerate(images)]
    source, library = folder / "images.s", folder / "libimages.so"
    source.write_text("\n".join(lines) + "\n")
    command = ["cc", "-shared", "-nostdlib", "-o", str(library), str(source)]
    subprocess.run(command, check=True, timeout=60)
    return library
