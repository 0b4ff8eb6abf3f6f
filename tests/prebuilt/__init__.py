"""The SPIR-V of the tests' OpenCL C, for machines without the compiler.

Each test file that compiles OpenCL C has a zip file here, in a folder named like its own, whose
comment says which compiler made what is in it. After a change of the compiler, `make spirv`
compiles everything in them again. After a change of tests, `make spirv
SPIRV=tests/core/test_module.py` finds out what they compile now.
"""

from __future__ import annotations

import importlib.metadata
import zipfile
from collections.abc import Iterator
from pathlib import Path

from groundstate.compiler.opencl import clang, prebuilt
from groundstate.compiler.opencl.frontend import Compiled, CompileError, compile_with_log
from groundstate.compiler.opencl.prebuilt import Prebuilt

TESTS = Path(__file__).parents[1]
FOLDER = Path(__file__).parent

FIRST_DATE = (1980, 1, 1, 0, 0, 0)
"""The date of all entries, so that equal ones make equal files."""


def missing_compiler() -> str:
    """Why OpenCL C cannot be compiled here; nothing if it can."""
    try:
        clang.find()
    except clang.ClangMissingError as problem:
        return str(problem)
    return ""


def compiler_version() -> str:
    """The compiler that the kept SPIR-V is made with: the one of ziglang."""
    return f"ziglang {importlib.metadata.version('ziglang')}"


def archives() -> list[Path]:
    """All zip files."""
    return sorted(FOLDER.glob("**/*.zip"))


def archive_of(module: Path) -> Path:
    """The zip file of a test file."""
    return FOLDER / module.resolve().relative_to(TESTS).with_suffix(".zip")


def module_of(archive: Path) -> Path:
    """The test file of a zip file, or the folder of tests that were run together."""
    folder = TESTS / archive.relative_to(FOLDER).with_suffix("")
    return folder if folder.is_dir() else folder.with_suffix(".py")


def made_by(archive: Path) -> str:
    """The compiler that made what is in a zip file."""
    with zipfile.ZipFile(archive) as file:
        return file.comment.decode()


def entries(archive: Path) -> Iterator[tuple[str, Prebuilt]]:
    """What is in a zip file, by the names of the entries."""
    with zipfile.ZipFile(archive) as file:
        for name in file.namelist():
            entry = prebuilt.unpack(file.read(name))
            assert entry is not None, f"{archive}: {name} is damaged"
            yield name, entry


def write(archive: Path, kept: dict[str, bytes]) -> None:
    """Writes a zip file of these entries, or removes it if there are none."""
    if not kept:
        archive.unlink(missing_ok=True)
        return
    archive.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(archive, "w", compresslevel=9) as file:
        file.comment = compiler_version().encode()
        for name, content in sorted(kept.items()):
            file.writestr(zipfile.ZipInfo(name, FIRST_DATE), content, zipfile.ZIP_DEFLATED)


def compiled_again(entry: Prebuilt) -> Prebuilt:
    """The entry as the compiler makes it of the same source today."""
    words = [f"-cl-std={entry.standard}", *([] if entry.optimise else ["-O0"]), *entry.given]
    try:
        made = compile_with_log(entry.source, options=words, name=entry.name)
    except CompileError as problem:
        made = Compiled(b"", problem.log)
    settings = (entry.source, entry.name, entry.standard, entry.optimise, entry.given)
    return Prebuilt(*settings, made.log, made.spirv)


def compile_again(archive: Path) -> bool:
    """Compiles everything in a zip file again; says whether all of it still can be, or cannot."""
    before = dict(entries(archive))
    after = {name: compiled_again(entry) for name, entry in before.items()}
    write(archive, {name: prebuilt.pack(entry) for name, entry in after.items()})
    return all(bool(before[name].spirv) == bool(after[name].spirv) for name in before)
