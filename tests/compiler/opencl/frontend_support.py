"""What the tests of the OpenCL C front end share: validating SPIR-V and looking into it."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess

import pytest

OPTIONAL_CAPABILITIES = {9, 12}
"""Float16 and Int64Atomics: spirv-val's OpenCL environment does not know that a device has them."""

OP_CAPABILITY = 17


def tool(name: str, arguments: list[str], spirv: bytes) -> subprocess.CompletedProcess[bytes]:
    """Runs one of SPIRV-Tools on a module."""
    if shutil.which(name) is None:
        pytest.skip(f"{name} of the package spirv-tools is not installed")
    return subprocess.run([name, *arguments, "-"], input=spirv, capture_output=True, check=False)


def validate(spirv: bytes) -> None:
    """Fails unless spirv-val accepts the module, as OpenCL if its version is one of OpenCL's."""
    _, version = struct.unpack_from("<2I", spirv)
    major, minor = version >> 16 & 255, version >> 8 & 255
    environment = f"spv{major}.{minor}"
    if (major, minor) == (1, 2) and not capabilities(spirv) & OPTIONAL_CAPABILITIES:
        environment = "opencl2.2"
    done = tool("spirv-val", ["--target-env", environment], spirv)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


def capabilities(spirv: bytes) -> set[int]:
    """The numbers of the capabilities that a module declares; they come first in it."""
    words = struct.unpack(f"<{len(spirv) // 4}I", spirv)
    found = set()
    position = 5
    while words[position] & 0xFFFF == OP_CAPABILITY:
        found.add(words[position + 1])
        position += words[position] >> 16
    return found


def disassemble(spirv: bytes) -> str:
    """The module as text."""
    done = tool("spirv-dis", ["--no-color"], spirv)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def imports(text: str) -> list[str]:
    """The names that a disassembled module imports, built-in variables aside."""
    found = re.findall(r'LinkageAttributes "([^"]+)" Import', text)
    return [name for name in found if not name.startswith("__spirv_BuiltIn")]


def opcodes(text: str) -> list[str]:
    """The instructions of a disassembled module, in order."""
    return re.findall(r"^\s*(?:%\w+ = )?(Op\w+)", text, re.MULTILINE)
