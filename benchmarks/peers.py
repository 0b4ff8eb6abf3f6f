"""Finds what is measured: the two routes to our driver, and the runtimes it is compared with."""

from __future__ import annotations

import ctypes.util
import hashlib
import platform
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.programs import BUILT, ROOT, MeasuringError
from groundstate import knobs, standin
from groundstate.compiler.opencl import clang

INTEL = "Intel CPU OpenCL"
INTEL_LIMIT = "CL_CONFIG_CPU_TARGET_ARCH"
"""The variable that names the CPU that Intel's runtime compiles for."""
INTEL_ARCHITECTURES = {"avx2": "core-avx2", "sse4": "corei7"}
"""The CPUs that have no more than what `--max-isa` allows. PoCL compiles for the CPU it finds."""


@dataclass(frozen=True)
class Missing:
    """A loader or a peer that this machine does not have."""

    name: str
    install: str

    @property
    def note(self) -> str:
        """What a table says in its place."""
        return f"peer not installed: {self.install}"


@dataclass(frozen=True)
class Target:
    """A library to open, and the variables with which a program has to be started for it."""

    name: str
    library: str
    env: dict[str, str] = field(default_factory=dict)


def direct() -> Target:
    """Our library, with no loader before it."""
    try:
        path = str(standin.library())
    except standin.LibraryMissing as missing:
        raise MeasuringError(str(missing)) from None
    return Target("direct", path, {"GROUNDSTATE_LIBRARY": path, **_prebuilt()})


def _prebuilt() -> dict[str, str]:
    """Where there is no clang, our driver takes the SPIR-V of the kernels that the tests keep."""
    try:
        clang.find()
    except clang.ClangMissingError:
        return {knobs.PREBUILT_SPIRV.name: str(ROOT / "tests" / "prebuilt")}
    return {}


def dnn() -> Target:
    """Our library of neural-network primitives, on our driver."""
    driver = direct()
    library = Path(driver.library).with_name("libgroundstate_dnnl.so.3")
    if not library.exists():
        raise MeasuringError(f"{library.name} is not built: make native")
    return Target("dnn", str(library), driver.env)


def onednn() -> Target | Missing:
    """oneDNN for CPUs: the build that uses all cores by itself, in a folder of its own."""
    name = "oneDNN"
    folder = BUILT / "onednn"
    library = folder / "lib" / "libdnnl.so.3"
    if platform.machine() != "x86_64":
        return Missing(name, "it is packaged for x86-64 only")
    if not library.exists():
        python, prefix = shlex.quote(sys.executable), shlex.quote(str(folder))
        package = "onednn-cpu-gomp"
        return Missing(name, f"{python} -m pip install --prefix {prefix} {package}")
    return Target(name, str(library))


def loader() -> Target | Missing:
    """The machine's own Level Zero loader with our driver behind it."""
    name = ctypes.util.find_library("ze_loader")
    if name is None:
        return Missing("Level Zero loader", "apt-get install libze1")
    driver = direct()
    return Target("loader", name, {**driver.env, "ZE_ENABLE_ALT_DRIVERS": driver.library})


def loader_notes(route: Target | Missing) -> list[str]:
    """What a report says if nothing could go through the loader."""
    if isinstance(route, Target):
        return []
    return [f"{route.name} not installed, so no row goes through it: {route.install}"]


def opencl_peers(max_isa: str = "") -> list[Target | Missing]:
    """The OpenCL runtimes that drive a CPU: the free one, and Intel's. Intel's can be kept from
    using newer instructions than ours may, and says so by its name."""
    return [_pocl(), _intel(max_isa)]


def _pocl() -> Target | Missing:
    name = "PoCL"
    registered = sorted(Path("/etc/OpenCL/vendors").glob("pocl*.icd"))
    loader_name = ctypes.util.find_library("OpenCL")
    if not registered or loader_name is None:
        return Missing(name, "apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    driver = Path(registered[0].read_text(encoding="utf-8").strip())
    return Target(name, loader_name, {"OCL_ICD_VENDORS": str(_registration(driver))})


def _intel(max_isa: str) -> Target | Missing:
    if platform.machine() != "x86_64":
        return Missing(INTEL, "it exists for x86-64 only")
    folder = Path(sys.prefix) / "lib"
    driver = folder / "libintelocl.so"
    if not driver.exists():
        python = shlex.quote(sys.executable)
        return Missing(INTEL, f"{python} -m pip install intel-opencl-rt intel-cmplr-lib-rt")
    system = ctypes.util.find_library("OpenCL")
    # The folder holds an ICD loader too. The system's goes first, so that all peers use the same.
    opener = _system_path(system) if system is not None else str(folder / "libOpenCL.so.1")
    limit = INTEL_ARCHITECTURES.get(max_isa)
    if limit is None:
        return Target(INTEL, opener, alone(driver))
    return Target(f"{INTEL}, {max_isa}", opener, {**alone(driver), INTEL_LIMIT: limit})


def oclgrind() -> Target | Missing:
    """The simulator that looks for mistakes of kernels."""
    driver, opener = (
        Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so"),
        ctypes.util.find_library("OpenCL"),
    )
    if not driver.exists() or opener is None:
        return Missing("Oclgrind", "apt-get install oclgrind ocl-icd-libopencl1")
    return Target("Oclgrind", opener, {"OCL_ICD_VENDORS": str(_registration(driver))})


def alone(driver: Path) -> dict[str, str]:
    """The variables with which an OpenCL driver is the only one that programs find.

    Intel's wheel registers its driver under a path that does not exist, and the driver needs the
    libraries beside it.
    """
    return {"OCL_ICD_VENDORS": str(_registration(driver)), "LD_LIBRARY_PATH": str(driver.parent)}


def _registration(driver: Path) -> Path:
    """A folder that registers this one driver with an ICD loader."""
    folder = BUILT / "vendors" / hashlib.sha256(bytes(driver)).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "only.icd").write_text(f"{driver}\n", encoding="utf-8")
    return folder


def _system_path(library: str) -> str:
    """The file that the dynamic linker finds for a library name in the system's own folders."""
    folders = [*Path("/usr/lib").glob("*-linux-gnu"), Path("/usr/lib64"), Path("/usr/lib")]
    found = [folder / library for folder in folders if (folder / library).exists()]
    return str(found[0]) if found else library
