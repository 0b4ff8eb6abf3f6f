"""Variants of kernels: other shapes of the same code, and which the next process begins with.

A thread of the native half calls what is here (native/runtime/variant_requests.c), when a kernel
has run for so long that another shape is worth to be tried. No call of the program waits for it.
"""

from __future__ import annotations

import os

from groundstate.driver import debug_info, native_kernel
from groundstate.driver.api import request
from groundstate.driver.module import EntryPoint, entry_point_at

TYPE_CHECKING = False  # as in platform.py
if TYPE_CHECKING:
    from groundstate.compiler.program import KernelCode
    from groundstate.driver.native_kernel import Size

FORK_PATIENCE_NS = 5_000_000_000
"""How long a program that forks waits for a variant that is being compiled."""


def begin(entry_point: EntryPoint, size: Size, code: KernelCode) -> None:
    """Gives a kernel its first code for a group size. The module's lock is held."""
    widths = list(code.other_widths)
    address, to_come = entry_point.address, len(widths)
    handle, cached = entry_point.module.handle, _is_cached(entry_point, size, widths)
    native_kernel.code_add(handle, address, size, code, to_come, cached)
    entry_point.variants[size] = [code]
    entry_point.other_widths[size] = widths
    debug_info.tell_tools(entry_point, size, code)


def _is_cached(entry_point: EntryPoint, size: Size, widths: list[int]) -> bool:
    """True if the next variant only has to be loaded."""
    program, name = entry_point.module.program, entry_point.signature.name
    return bool(widths) and program.is_compiled(name, size, widths[0])


@request
def add_variant(entry_point: int, x: int, y: int, z: int, count: int) -> None:
    """Compiles the next variant of an entry point that has code for the group size."""
    del count
    found, size = entry_point_at(entry_point), (x, y, z)
    module, widths = found.module, found.other_widths[size]

    def is_unwanted() -> bool:
        return module.is_ended or native_kernel.requests_are_stopped()

    if not widths or is_unwanted():
        return
    program, name = module.program, found.signature.name
    code = program.compile_meanwhile(name, size, widths.pop(0), module.lock, is_unwanted)
    with module.lock:
        found.variants[size].append(code)
        debug_info.tell_tools(found, size, code)
        cached = _is_cached(found, size, widths)
        native_kernel.variant_add(found.address, size, code, len(widths), cached)


@request
def remember_variant(entry_point: int, x: int, y: int, z: int, variant: int) -> None:
    """Writes down the variant that was found to be the fastest, for the next process."""
    found, size = entry_point_at(entry_point), (x, y, z)
    code = found.variants[size][variant]
    found.module.program.prefer(found.signature.name, size, code.width)


# The native half waits by itself where the program's threads do not share the driver's interpreter.
os.register_at_fork(before=lambda: native_kernel.settle_requests(FORK_PATIENCE_NS))
