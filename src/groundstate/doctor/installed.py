"""What is installed, what is missing, and the command that installs it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import groundstate
from groundstate import knobs, standin
from groundstate.doctor.finding import Finding, State
from groundstate.version import __version__

SECTION = "Installed"
EXTRAS = {
    "capture": "record, play",
    "script": "scripts in Lua",
    "monitor": "top, metrics",
    "dnn": "neural networks",
    "nvidia": "NVIDIA's GPUs in top",
}
"""The optional parts, and what they are for. OpenCL C, which has two compilers, is apart."""
LIBRARIES = (
    "libze_capture.so",
    "libze_redirect.so",
    "libgroundstate_opencl.so",
    "libgroundstate_dnnl.so.3",
)


def package() -> Iterator[Finding]:
    """What this is, on what."""
    libc = " ".join(platform.libc_ver()) or "an unknown C library"
    text = f"Python {platform.python_version()}, {platform.machine()}, {libc}"
    yield Finding(SECTION, f"groundstate {__version__}", State.OK, text)
    if version_of("groundstate") is None:
        where = Path(groundstate.__file__).parent
        text = f"{where} runs without being installed; the packages that it needs are not checked"
        yield Finding(SECTION, "package", State.MISSING, text, install(str(where.parents[1])))


def driver() -> Iterator[Finding]:
    """The libraries of the C half."""
    try:
        path = standin.library()
    except standin.LibraryMissing as problem:
        yield Finding(SECTION, "driver", State.WRONG, str(problem))
        return
    absent = [name for name in LIBRARIES if not path.with_name(name).is_file()]
    if absent:
        text = f"{', '.join(absent)} should be beside {path}"
        yield Finding(SECTION, "driver", State.WRONG, text, install("groundstate"))
    else:
        yield Finding(SECTION, "driver", State.OK, str(path))


def required() -> Iterator[Finding]:
    """The packages that nothing works without."""
    for name in packages_of(None):
        version = version_of(name)
        if version is None:
            yield Finding(SECTION, name, State.WRONG, "is not installed", install(name))
        else:
            yield Finding(SECTION, name, State.OK, version)


def opencl() -> Iterator[Finding]:
    """What compiles OpenCL C."""
    from groundstate.compiler.opencl import clang

    try:
        found = clang.find()
    except clang.ClangMissingError as problem:
        named = knobs.CLANG.text()
        why = str(problem) if named else "there is no compiler for OpenCL C"
        state = State.WRONG if named else State.MISSING
        yield Finding(SECTION, "OpenCL C", state, why, install("groundstate[opencl]"))
    else:
        yield Finding(SECTION, "OpenCL C", State.OK, " ".join(found.command))


def extras() -> Iterator[Finding]:
    """The optional parts that this version has."""
    if version_of("groundstate") is None:
        return
    offered = importlib.metadata.metadata("groundstate").get_all("Provides-Extra") or []
    for extra, purpose in EXTRAS.items():
        if extra in offered:
            yield optional(extra, purpose)


def optional(extra: str, purpose: str) -> Finding:
    """The packages of an optional part."""
    versions = {name: version_of(name) for name in packages_of(extra)}
    absent = [name for name, version in versions.items() if version is None]
    if absent:
        text = f"for {purpose}: no {', '.join(absent)}"
        return Finding(SECTION, extra, State.MISSING, text, install(f"groundstate[{extra}]"))
    text = ", ".join(f"{name} {version}" for name, version in versions.items())
    return Finding(SECTION, extra, State.OK, text)


def packages_of(extra: str | None) -> list[str]:
    """The packages that an optional part needs, or all of it, as the package's metadata says."""
    found: list[str] = []
    if version_of("groundstate") is None:
        return found
    for line in importlib.metadata.requires("groundstate") or ():
        requirement, _, marker = line.partition(";")
        name = re.match(r"[\w.-]+", requirement)
        wanted = f'extra == "{extra}"' in marker if extra else "extra" not in marker
        if name and wanted and name[0] != "groundstate":
            found.append(name[0])
    return found


def version_of(package: str) -> str | None:
    """The version of an installed package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def install(what: str) -> str:
    """The command that installs something into this Python."""
    quoted = f"'{what}'" if "[" in what else what
    is_own = sys.prefix != sys.base_prefix and os.environ.get("VIRTUAL_ENV") == sys.prefix
    return f"{'pip' if is_own else f'{sys.executable} -m pip'} install {quoted}"


CHECKS = (package, driver, required, opencl, extras)
