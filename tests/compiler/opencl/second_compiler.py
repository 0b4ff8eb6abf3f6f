"""OpenCL C to SPIR-V by programs that are not ours: Debian's clang, opt and llvm-spirv.

They write SPIR-V as other OpenCL drivers are used to it: every variable in memory when nothing is
optimised, and built-in functions in another choice of instructions than our front end takes.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

CLANG, OPTIMISER, TRANSLATOR = "clang-15", "opt-15", "llvm-spirv-15"
PACKAGES = {CLANG: "clang-15", OPTIMISER: "llvm-15", TRANSLATOR: "llvm-spirv-15"}

PASSES = {
    "plain": "verify",
    "optimised": "function(sroa,early-cse,simplifycfg,reassociate,loop-mssa(loop-rotate,licm),"
    "gvn,sccp,dce,loop-simplify,lcssa,simplifycfg),globaldce",
}
"""What is done before translating. Not -O2: it makes integers of 3 bits and frozen values, which
the translator does not know."""


class MissingError(LookupError):
    """The programs are not installed."""


@cache
def compile_opencl(source: str, standard: str, way: str) -> bytes:
    """The SPIR-V of a source, made in one of the ways of `PASSES`."""
    for name, package in PACKAGES.items():
        if shutil.which(name) is None:
            raise MissingError(f"{name} of the package {package} is not installed")
    bitcode = _run(
        [
            *(CLANG, "-x", "cl", "-target", "spir64", f"-cl-std={standard}", "-O0", "-w"),
            *("-Xclang", "-disable-O0-optnone", "-Xclang", "-finclude-default-header"),
            *("-Xclang", "-cl-ext=+all", "-emit-llvm", "-c", "-o", "-", "-"),
        ],
        source.encode(),
    )
    bitcode = _run([OPTIMISER, f"-passes={PASSES[way]}", "-o", "-", "-"], bitcode)
    return _run([TRANSLATOR, "--spirv-ext=+all", "-o", "-", "-"], bitcode)


def _run(command: list[str], text: bytes) -> bytes:
    done = subprocess.run(command, input=text, capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {done.stderr.decode('utf-8', 'replace')}")
    return done.stdout
