"""Gets the compiler ready for a kernel that will have to be compiled, while clang reads its source.

Whoever waits for another process calls `step` again and again: LLVM's process is started first,
because that starts by itself from then on, and then the compiler is imported, a piece at a time.
What is not ready when the wait is over is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

PIECES = (
    "spirv.instructions",
    "spirv.bodies",
    "spirv.reader",
    "spirv_to_ir.instruction_support",
    "ir.kernel",
    "spirv_to_ir.assembly",
    "cache.kernel_cache",
    "target.description",
    "program",
    "ir.operation",
    "ir.type_rules",
    "ir.ops",
    "analysis.affine",
    "analysis.divergence",
    "analysis.facts",
    "codegen.values",
    "codegen.control.masks",
    "codegen.function",
    "analysis.rows",
    "codegen.control.all_lanes",
    "codegen.control.flow",
    "math.coefficients",
    "math.functions",
    "math.inverse",
    "math.trigonometric",
    "codegen.memory.layout",
    "codegen.arithmetic.opencl",
    "codegen.memory.accesses",
    "codegen.groups.operations",
    "codegen.images.sampling",
    "codegen.images.operations",
    "codegen.arithmetic.conversions",
    "codegen.arithmetic.intrinsics",
    "codegen.groups.workgroups",
    "codegen.images.races",
    "codegen.memory.atomics",
    "codegen.memory.tiles",
    "codegen.group_loop",
    "analysis.intervals",
    "analysis.waiting",
    "codegen.kernel",
    "lower.copies",
    "lower.group_operations",
    "opt.hoist_loads",
    "opt.distribute",
    "opt.mem2reg",
    "opt.indices.nowrap",
    "opt.prefetch",
    "opt.unroll_barriers",
    "opt.unroll_rows",
    "target.vector_width",
    "spirv_to_ir.inlining",
    "spirv_to_ir.kernel_ir",
    "pipeline",
    "target.host",
    "llvm.server",
)
"""Modules of the compiler in an order in which each brings few others: a wait is soon over."""

LINKER = "llvm.backend"
"""LLVM's linker, in this process. On x86-64 kernels do without (`program/object_loader.py`)."""


def preparation() -> Callable[[], bool]:
    """Does one step each time it is called, and returns whether there are more."""
    steps = _steps()
    return lambda: next(steps, False)


def _steps() -> Iterator[bool]:
    from groundstate.compiler.llvm import service

    service.start()
    yield True
    from os import uname

    for piece in PIECES if uname().machine == "x86_64" else (*PIECES, LINKER):
        import_quietly(f"groundstate.compiler.{piece}")
        yield True


def import_quietly(name: str) -> None:
    """Imports a module without looking for garbage: next to nothing of it is."""
    import gc
    from importlib import import_module

    was_collecting = gc.isenabled()
    gc.disable()
    try:
        import_module(name)
    finally:
        if was_collecting:
            gc.enable()
