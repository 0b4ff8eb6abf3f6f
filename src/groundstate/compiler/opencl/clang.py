"""Finds a clang that reads OpenCL C and writes SPIR-V, and runs it.

Two come into question: the one in the `ziglang` package, which is the same on every machine and is
what the tests use, and the machine's own if it is new enough. Older ones have no SPIR-V back end,
or write OpenCL's own types in a way that later tools no longer read.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from groundstate import knobs
from groundstate.compiler.light_dataclass import light_dataclass

if TYPE_CHECKING:  # imported when a clang is run or looked for: costly for who only asks the cache
    import subprocess

OLDEST_VERSION = 20
"""The first clang whose SPIR-V back end is built by default."""

NEWEST_TO_TRY = 40
"""How far to look for names such as clang-22."""

TIME_LIMIT_SECONDS = 300

NOT_FOUND = (
    "OpenCL C needs clang, and there is none here: install the 'opencl' extra "
    "(pip install 'groundstate[opencl]'), or a clang of version "
    f"{OLDEST_VERSION} or newer, or name one in {knobs.CLANG.name}"
)


Meanwhile: TypeAlias = "Callable[[], bool]"
"""Does a little of something else, and says whether there is more to do."""


class ClangMissingError(RuntimeError):
    """There is no clang on this machine that can be used."""


@light_dataclass()
class Clang:
    """One clang: how to start it, and what tells it from any other."""

    command: tuple[str, ...]
    """For example ("/usr/bin/clang-22",) or (".../ziglang/zig", "clang")."""

    @property
    def identity(self) -> str:
        """Changes when the program does, without running it."""
        status = os.stat(self.command[0])
        return f"{self.command[0]} {status.st_size} {status.st_mtime_ns}"

    def run(
        self, arguments: Sequence[str], text: bytes, meanwhile: Meanwhile | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Runs it on `text`, given as its standard input; `meanwhile` is called while it runs."""
        import subprocess

        command = [*self.command, *arguments]
        given = _file_of(text)
        try:
            process = subprocess.Popen(
                command, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        finally:
            os.close(given)
        with process:
            try:
                while meanwhile is not None and process.poll() is None and meanwhile():
                    pass
                output, said = process.communicate(timeout=TIME_LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                said = f"error: clang did not end within {TIME_LIMIT_SECONDS} s".encode()
                return subprocess.CompletedProcess(command, 1, b"", said)
            except BaseException:
                process.kill()
                raise
        return subprocess.CompletedProcess(command, process.returncode, output, said)


def _file_of(text: bytes) -> int:
    """A file in memory with a text: unlike a pipe, nobody has to fill it while clang runs."""
    file = os.memfd_create("groundstate-source", os.MFD_CLOEXEC)
    try:
        left = memoryview(text)
        while left:
            left = left[os.write(file, left) :]
        os.lseek(file, 0, os.SEEK_SET)
    except BaseException:
        os.close(file)
        raise
    return file


def find() -> Clang:
    """The clang to use: the one named by the knob, else ziglang's, else the machine's."""
    return _find(knobs.CLANG.get())


@functools.cache
def _find(named: str) -> Clang:
    if named:
        return _named_clang(named)
    found = _zig_clang() or _system_clang()
    if found is None:
        raise ClangMissingError(NOT_FOUND)
    return found


def _named_clang(named: str) -> Clang:
    from shutil import which

    path = which(named)
    if path is None:
        raise ClangMissingError(f"{knobs.CLANG.name}={named!r}: there is no such program")
    if os.path.basename(path) == "zig":
        return Clang((path, "clang"))
    if not _writes_spirv(path):
        raise ClangMissingError(f"{knobs.CLANG.name}={named!r}: this clang does not write SPIR-V")
    return Clang((path,))


def _zig_clang() -> Clang | None:
    package = importlib.util.find_spec("ziglang")
    if package is None or package.origin is None:
        return None
    zig = os.path.join(os.path.dirname(package.origin), "zig")
    return Clang((zig, "clang")) if os.access(zig, os.X_OK) else None


def _system_clang() -> Clang | None:
    from shutil import which

    names = ["clang", *(f"clang-{n}" for n in range(NEWEST_TO_TRY, OLDEST_VERSION - 1, -1))]
    for name in names:
        path = which(name)
        if path is not None and _writes_spirv(path):
            return Clang((path,))
    return None


def _writes_spirv(path: str) -> bool:
    """Whether the clang at `path` is new enough and has the SPIR-V back end."""
    version = re.search(r"clang version (\d+)", _answer(path, "--version"))
    if version is None or int(version[1]) < OLDEST_VERSION:
        return False
    return "spirv64" in _answer(path, "--print-targets")


def _answer(path: str, question: str) -> str:
    import subprocess

    return subprocess.run([path, question], capture_output=True, text=True, check=False).stdout
