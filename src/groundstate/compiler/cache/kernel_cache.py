"""The kernel cache: what was found out about kernels, on disk, for the next process.

An entry is filed under everything that it depends on: the modules with their constants and options,
the kernel, the group size, the CPU, LLVM, and the compiler's own source. So it can be found without
building the kernel's IR, let alone writing code.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Callable, Iterator
from functools import cache
from time import monotonic
from typing import Any

from groundstate import knobs
from groundstate.compiler.cache import disk
from groundstate.version import __version__

LENGTH_BYTES = 4
LOOK_AFTER_S = 1.0
"""Of the process, from when on it looks whether the compiler has been changed: the first result
does not wait for that."""
UNRELATED = ("__pycache__", "opencl")
"""Folders beside the compiler's own that do not change what becomes of SPIR-V."""

PREFERRED = "preferred width"
OF_GPU = "\0code of a GPU"
"""Under which the code of all kernels for a GPU is kept: no kernel has such a name."""

Key = tuple[object, ...]
"""What something is known of: a kernel, by its name; code, also by group size and width. Or all
code for a GPU."""


def gpu_key(sm: int, driver: int) -> Key:
    """What the code for a GPU is kept under: a compute capability, and a version of the driver."""
    return OF_GPU, sm, driver


class KernelCache:
    """What is known of the kernels of one program: descriptions, and machine code."""

    def __init__(self, identity: Callable[[], bytes], checks: tuple[str, ...] = ()) -> None:
        self._checks = checks
        """The checkers that the code has: other checkers, other code."""
        self._identity = identity
        """Tells the program from any other; computed when it is first needed."""
        self.entries: dict[Key, bytes] = {}
        """What this process has seen, packed; a native binary holds the same."""
        self._seen: dict[Key, bytes] = {} if checks else self.entries
        """Likewise; no native binary has code with checks."""
        self.is_own = True
        """Whether this user's driver made all of that; otherwise no signature may say so."""

    def get(self, *key: object) -> tuple[dict[str, Any], bytes] | None:
        """A description, and bytes, from a native binary or from the disk."""
        if key in self._seen:
            return unpack(self._seen[key])
        found = disk.get(self._name(key))
        if found is None:
            return None
        self._seen[key] = found
        return unpack(found)

    def put(self, description: dict[str, Any], content: bytes, *key: object) -> None:
        """Keeps a description and bytes.

        Nothing that began with a stranger's binary stays on disk. If the compiler was changed since
        this process began to use it, they are not what the changed one would compute, and do not
        stay either.
        """
        self._seen[key] = pack(description, content)
        if self.is_own and _is_as_at_start():
            disk.put(self._name(key), self._seen[key])

    def preferred(self, *key: object) -> int:
        """The width that was found to be the fastest, or 0 if nobody knows."""
        found = disk.get(self._name((*key, PREFERRED)))
        return int.from_bytes(found, "little") if found is not None else 0

    def prefer(self, width: int, *key: object) -> None:
        """Keeps the width that was found to be the fastest. It is no part of a native binary."""
        if self.is_own:
            disk.put(self._name((*key, PREFERRED)), width.to_bytes(4, "little"))

    def _name(self, key: Key) -> bytes:
        """What an entry is filed under."""
        parts = [__version__, _state_at_start, machine_identity(), *map(repr, key), *self._checks]
        return "\0".join(parts).encode() + b"\0" + self._identity()


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
    facts = [llvm, knobs.MAX_ISA.get(), knobs.SHAPE.get(), *lines]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def compiler_state() -> str:
    """Changes with every file of the compiler; looks at their times, which takes no time."""
    digest = hashlib.sha256()
    for file in compiler_files():
        status = file.stat()
        digest.update(f"{file.name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def compiler_files() -> Iterator[os.DirEntry[str]]:
    """The files that decide what becomes of SPIR-V."""
    folders = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    for folder in folders:
        with os.scandir(folder) as files:
            for file in sorted(files, key=lambda each: each.name):
                if file.name.endswith(".py"):
                    yield file
                elif file.name not in UNRELATED and file.is_dir():
                    folders.append(file.path)


_state_at_start, _looked_s = compiler_state(), monotonic()


def _is_as_at_start() -> bool:
    """Whether the compiler's files are those that this process has. One that is changed within the
    first second is not noticed, which does no harm: nobody finds the entry under the new files."""
    return monotonic() - _looked_s < LOOK_AFTER_S or compiler_state() == _state_at_start
