"""What was found out about kernels, on disk, so that the next process need not compile them.

An entry is filed under everything that it depends on: the modules with their constants and options,
the kernel, the group size, the CPU, LLVM, and the compiler's own source. So it can be found without
building the kernel's graph, let alone writing code.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from functools import cache
from typing import Any

from groundstate import knobs
from groundstate.compiler.cache import disk
from groundstate.version import __version__

LENGTH_BYTES = 4
NO_PART = ("__pycache__", "opencl")
"""Folders beside the compiler's own that do not change what becomes of SPIR-V."""


def get(identity: bytes, *what: object) -> tuple[dict[str, Any], bytes] | None:
    """What is known about something of a program: a description, and bytes."""
    found = disk.get(_key(identity, what))
    return unpack(found) if found is not None else None


def put(identity: bytes, description: dict[str, Any], content: bytes, *what: object) -> None:
    """Keeps a description and bytes.

    If the compiler was changed since this process began to use it, they are not what the changed
    one would compute, and nothing is kept.
    """
    if compiler_state() == _state_at_start:
        disk.put(_key(identity, what), pack(description, content))


def pack(description: dict[str, Any], content: bytes) -> bytes:
    """Both in one piece."""
    text = json.dumps(description).encode()
    return len(text).to_bytes(LENGTH_BYTES, "little") + text + content


def unpack(packed: bytes) -> tuple[dict[str, Any], bytes]:
    """The two parts again; ValueError if they are damaged."""
    end = LENGTH_BYTES + int.from_bytes(packed[:LENGTH_BYTES], "little")
    description = json.loads(packed[LENGTH_BYTES:end])
    if not isinstance(description, dict):
        raise ValueError("the description is not an object")
    return description, packed[end:]


def _key(identity: bytes, what: tuple[object, ...]) -> bytes:
    parts = [__version__, _state_at_start, machine_identity(), *map(repr, what)]
    return "\0".join(parts).encode() + b"\0" + identity


@cache
def machine_identity() -> str:
    """Changes with the CPU, with what of it is used, and with LLVM.

    Neither is asked: importing LLVM takes a while.
    """
    package = importlib.util.find_spec("llvmlite")
    origin = package.origin if package is not None else None
    status = os.stat(origin) if origin else None
    llvm = f"{origin} {status.st_mtime_ns}" if status is not None else ""
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        first = file.read(1 << 14).split("\n\n")[0]
    wanted = ("vendor_id", "cpu family", "model", "flags", "CPU ", "Features")
    lines = sorted(line for line in first.splitlines() if line.startswith(wanted))
    facts = [llvm, knobs.MAX_ISA.get(), *lines]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def compiler_state() -> str:
    """Changes with every file of the compiler; looks at their times, which takes no time."""
    digest = hashlib.sha256()
    folders = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    for folder in folders:
        with os.scandir(folder) as files:
            for file in sorted(files, key=lambda each: each.name):
                if file.name.endswith(".py"):
                    status = file.stat()
                    line = f"{file.name} {status.st_size} {status.st_mtime_ns}\n"
                    digest.update(line.encode())
                elif file.name not in NO_PART and file.is_dir():
                    folders.append(file.path)
    return digest.hexdigest()


_state_at_start = compiler_state()
