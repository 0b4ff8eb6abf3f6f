"""Runs the cases on another implementation of OpenCL, to compare with: PoCL, or any that is found.

`python -m tests.compiler.peer_pocl` runs all cases on it and says which it could not run;
`Peer.run` gives one case's results to a test. A case is built from its source by the peer's own
compiler, or from SPIR-V of ours if the peer reads it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from groundstate.compiler.opencl.frontend import compile_opencl
from tests.compiler.cases import CASES
from tests.compiler.kernels import Array, Case, Local, arguments, differences

POCL = "Portable Computing Language"


@dataclass
class Outcome:
    """What a case left in its buffers, by their place among the arguments, and what it printed."""

    buffers: dict[int, Array] = field(default_factory=dict)
    printed: str = ""


class Peer:
    """One device of another implementation."""

    def __init__(self, platform: str = POCL) -> None:
        """Finds the platform whose name contains `platform`; raises LookupError if there is
        none."""
        try:
            import pyopencl
        except ImportError:
            raise LookupError("pyopencl is not installed") from None
        self.cl: Any = pyopencl
        try:
            platforms = pyopencl.get_platforms()
        except pyopencl.LogicError as problem:
            raise LookupError(f"there is no OpenCL here: {problem}") from None
        for found in platforms:
            if platform in found.name and found.get_devices():
                self.device: Any = found.get_devices()[0]
                break
        else:
            raise LookupError(f"there is no OpenCL platform named {platform}")
        self.name = str(found.name)
        self.context = pyopencl.Context([self.device])
        self.queue = pyopencl.CommandQueue(self.context)
        self.built: dict[tuple[str, str], Any] = {}

    def lacks(self, case: Case) -> set[str]:
        """What the case needs and this device does not have."""
        return set(case.needs) - self.features

    @property
    def features(self) -> set[str]:
        """What it has of `kernels.FEATURES`."""
        extensions = set(self.device.extensions.split())
        has = {
            "cl2": "OpenCL C 1" not in self.device.opencl_c_version,
            "collectives": "OpenCL C 1" not in self.device.opencl_c_version,
            "subgroups": bool({"cl_khr_subgroups", "cl_intel_subgroups"} & extensions),
            "subgroup_extensions": "cl_khr_subgroup_clustered_reduce" in extensions,
            "float_atomics": "cl_ext_float_atomics" in extensions,
            "int64_atomics": "cl_khr_int64_extended_atomics" in extensions,
        }
        return {name for name, there in has.items() if there}

    def run(self, case: Case, spirv: bytes | None = None) -> Outcome:
        """Runs a case, from its source or from SPIR-V, and hands back what it did."""
        kernel = self.cl.Kernel(self._program(case, spirv), case.name)
        made = arguments(case)
        buffers: dict[int, Any] = {}
        for place, argument in enumerate(made):
            if isinstance(argument, Local):
                size = argument.bytes_per_item * case.group_items
                kernel.set_arg(place, self.cl.LocalMemory(size))
            elif argument.shape == ():
                kernel.set_arg(place, argument.tobytes())
            else:
                flags = self.cl.mem_flags.READ_WRITE | self.cl.mem_flags.COPY_HOST_PTR
                buffers[place] = self.cl.Buffer(self.context, flags, hostbuf=argument)
                kernel.set_arg(place, buffers[place])
        offset = case.offset or None
        with _captured() as printed:
            self.cl.enqueue_nd_range_kernel(self.queue, kernel, case.size, case.group, offset)
            self.queue.finish()
        outcome = Outcome(printed="".join(printed))
        for place, buffer in buffers.items():
            result = np.empty_like(made[place])
            self.cl.enqueue_copy(self.queue, result, buffer)
            outcome.buffers[place] = result
        return outcome

    def _program(self, case: Case, spirv: bytes | None) -> Any:
        options = [f"-cl-std={case.standard}"] if spirv is None else []
        if spirv is not None:
            return self._build(spirv, options)
        key = (case.file, case.standard)
        if key not in self.built:
            self.built[key] = self._build(case.source, options)
        return self.built[key]

    def _build(self, code: str | bytes, options: list[str]) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.cl.Program(self.context, code).build(options)


@contextlib.contextmanager
def _captured() -> Iterator[list[str]]:
    """Collects what the process writes to its standard output, from C as well."""
    text: list[str] = []
    libc = ctypes.CDLL(None)
    sys.stdout.flush()
    libc.fflush(None)
    with tempfile.TemporaryFile() as file:
        saved = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            yield text
        finally:
            libc.fflush(None)
            os.dup2(saved, 1)
            os.close(saved)
            file.seek(0)
            text.append(file.read().decode("utf-8", "replace"))


def check(case: Case, outcome: Outcome) -> list[str]:
    """What is wrong with an outcome, judged by what the case itself says."""
    found = []
    if case.expect is not None:
        expected = case.expect(*arguments(case))
        found += differences(case, outcome.buffers, expected)
    if outcome.printed != case.prints:
        found.append(f"{case.identity}: printed {outcome.printed!r} instead of {case.prints!r}")
    return found


def main() -> int:
    """Runs every case and prints what it could not run or got wrong."""
    words = [word for word in sys.argv[1:] if word != "--spirv"]
    peer = Peer(words[0] if words else POCL)
    ran, wrong = 0, 0
    for case in CASES:
        lacking = peer.lacks(case)
        if lacking:
            print(f"{case.identity}: needs {', '.join(sorted(lacking))}")
            continue
        spirv = None
        if "--spirv" in sys.argv:
            spirv = compile_opencl(case.source, options=[f"-cl-std={case.standard}"])
        problems = check(case, peer.run(case, spirv))
        ran, wrong = ran + 1, wrong + bool(problems)
        print("\n".join(problems), end="\n" if problems else "")
    print(f"{peer.name}: {ran} of {len(CASES)} cases run, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
