"""A double of the compiler for GPUs: "PTX" that the stand-in for the CUDA driver knows how to run.

It has the interface of `groundstate.compiler.program.ptx_program` and `...target.nvptx`, and lays
parameters out as `standin/kernels.c` reads them. Nothing is compiled: the stand-in has the kernels
as C functions of the same names.
"""

from __future__ import annotations

import sys
from types import ModuleType

from groundstate.compiler.errors import BuildError
from groundstate.compiler.light_dataclass import replace
from groundstate.compiler.program import Program
from groundstate.compiler.program.ptx_program import PtxArgument, PtxKernel, PtxModule
from groundstate.compiler.target import ANY_CPU, Target

IMPLICIT = {
    "global_offset": (0, 24),
    "global_size": (24, 24),
    "enqueued_local_size": (48, 12),
    "work_dim": (60, 4),
    "print_buffer": (64, 8),
}
IMPLICIT_BYTES = 72
STATIC_SHARED = {"values": 100}
"""As the stand-in says of its kernels."""
LOCAL_BYTES = 4


def nvptx(sm: int) -> Target:
    """A target that is called a GPU; nothing is compiled for it."""
    assert sm == 90, "the stand-in has compute capability 9.0"
    return replace(ANY_CPU, cpu="sm_90", compute_capability=sm)


def _kernel(program: Program, name: str) -> PtxKernel:
    offset, arguments = 0, []
    signature = program.signature(name)
    for given in signature.arguments:
        size = LOCAL_BYTES if given.kind == "local" else given.size
        offset = -(-offset // size) * size
        arguments.append(PtxArgument(given.kind, offset, size, size))
        offset += size
    offset = -(-offset // 8) * 8
    prints = name in ("say", "tell")
    implicit = {key: offset + place for key, (place, _) in IMPLICIT.items()}
    if not prints:
        del implicit["print_buffer"]
    return PtxKernel(
        name,
        name,
        tuple(arguments),
        offset + IMPLICIT_BYTES,
        implicit,
        STATIC_SHARED.get(name, 0),
        signature.required_group_size,
        32,
        prints,
        cooperative=False,
    )


def compile_program(program: Program, kernels: object = None) -> PtxModule:
    """What the stand-in takes for a module with the kernels of a program."""
    if "refused" in program.kernel_names:
        raise BuildError("error: kernel 'refused' is refused by the double")
    version = "" if "unloadable" in program.kernel_names else ".version 8.0\n"
    variables = {name: (name, size) for name, (_, size) in program.global_offsets.items()}
    entries = "".join(f".entry {name}()\n" for name in program.kernel_names)
    places = "".join(f".global {name} {size}\n" for name, (_, size) in variables.items())
    made = {name: _kernel(program, name) for name in program.kernel_names}
    return PtxModule(version + places + entries, made, variables, (b"number %d\n", b"text %s\n"))


def install() -> None:
    """Puts the double in the compiler's place, for this process."""
    double = sys.modules[__name__]
    sys.modules["groundstate.compiler.program.ptx_program"] = double
    target = ModuleType("groundstate.compiler.target.nvptx")
    target.nvptx = nvptx  # type: ignore[attr-defined]
    sys.modules["groundstate.compiler.target.nvptx"] = target
