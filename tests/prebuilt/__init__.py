"""The SPIR-V of the tests' OpenCL C, for machines without the compiler.

Each test file that compiles OpenCL C has a zip file here, in a folder named like its own. `make
spirv` writes them all again; `make spirv SPIRV=tests/core/test_module.py` those of some files. The
comment of a zip file says which compiler made what is in it.
"""

from __future__ import annotations

import importlib.metadata
import zipfile
from collections.abc import Iterator
from pathlib import Path

from groundstate.compiler.opencl import clang, prebuilt
from groundstate.compiler.opencl.prebuilt import Prebuilt

TESTS = Path(__file__).parents[1]
FOLDER = Path(__file__).parent

FIRST_DATE = (1980, 1, 1, 0, 0, 0)
"""The date of all entries, so that equal ones make equal files."""


def compiler_is_there() -> bool:
    """Whether OpenCL C can be compiled here."""
    try:
        clang.find()
    except clang.ClangMissingError:
        return False
    return True


def compiler_version() -> str:
    """The compiler that the kept SPIR-V is made with: the one of ziglang."""
    return f"ziglang {importlib.metadata.version('ziglang')}"


def archives() -> list[Path]:
    """All zip files."""
    return sorted(FOLDER.glob("*/*.zip"))


def archive_of(module: Path) -> Path:
    """The zip file of a test file."""
    return FOLDER / module.parent.name / f"{module.stem}.zip"


def module_of(archive: Path) -> Path:
    """The test file of a zip file."""
    return TESTS / archive.parent.name / f"{archive.stem}.py"


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


def write(archive: Path, recorded: Path) -> int:
    """Puts all entries in a folder into a zip file, or removes it if there are none."""
    found = sorted(recorded.glob(f"*{prebuilt.SUFFIX}"))
    if not found:
        archive.unlink(missing_ok=True)
        return 0
    archive.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(archive, "w", compresslevel=9) as file:
        file.comment = compiler_version().encode()
        for path in found:
            information = zipfile.ZipInfo(path.name, FIRST_DATE)
            file.writestr(information, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return len(found)
