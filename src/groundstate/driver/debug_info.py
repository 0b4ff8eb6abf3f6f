"""What others are told of compiled kernels: GDB, perf, and who asks for debug information."""

from __future__ import annotations

import os
from contextlib import suppress

from groundstate import knobs
from groundstate.driver import native_kernel, profiling
from groundstate.driver.api import handler
from groundstate.driver.module import EntryPoint, Module, answer_bytes, of_handle

TYPE_CHECKING = False  # as in platform.py; the compiler is imported when it is first needed
if TYPE_CHECKING:
    from groundstate.compiler.program import KernelCode
    from groundstate.compiler.program.debug_image import Code
    from groundstate.driver.native_kernel import Size

PERF_FOLDER = "/tmp"
"""Where perf looks for the maps of processes."""


def tell_tools(entry_point: EntryPoint, size: Size, code: KernelCode) -> None:
    """Makes new code known to debuggers and profilers, where somebody asks for that."""
    if knobs.GDB.get() or "-g" in entry_point.module.program.options.split():
        from groundstate.compiler.program.debug_image import NOT_ELF, debug_image

        with suppress(MemoryError, *NOT_ELF):
            image = debug_image([_described(entry_point, code)])
            entry_point.debugger_entries.append(native_kernel.debugger_add(image))
    if profiling.is_written():
        profiling.tell_lines(entry_point, size, code)
    if knobs.PERF_MAP.get():
        _add_to_map(entry_point.signature.name, size, _described(entry_point, code))


def _described(entry_point: EntryPoint, code: KernelCode) -> Code:
    from groundstate.compiler.program.debug_image import Code

    return Code(entry_point.signature.name, code.binary, code.address)


def _add_to_map(name: str, size: Size, code: Code) -> None:
    """Adds a line to the map that perf reads. It never fails."""
    from groundstate.compiler.program.debug_image import NOT_ELF, text_range

    path = os.path.join(PERF_FOLDER, f"perf-{os.getpid()}.map")
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    with suppress(OSError, *NOT_ELF):
        start, length = text_range(code)
        descriptor = os.open(path, flags, 0o600)
        with open(descriptor, "ab") as file:
            shape = "x".join(map(str, size))
            file.write(f"{start:x} {length:x} {name} [{shape}]\n".encode())


@handler
def zetModuleGetDebugInfo(hModule: int, format: int, pSize: int, pDebugInfo: int) -> None:
    """The kernels that were compiled so far, with DWARF if they have lines; all, if none was."""
    module = of_handle(hModule)
    if not pDebugInfo or module.debug_image is None:
        module.debug_image = _image(module)
    answer_bytes(module.debug_image, pSize, pDebugInfo)


def _image(module: Module) -> bytes:
    if module.is_of_gpu:
        return b""
    from groundstate.compiler.program.debug_image import debug_image
    from groundstate.driver.kernel import compile_for_default_size

    entry_points = list(module.entry_points.values())
    if not any(each.codes for each in entry_points):
        program = module.program
        names = [name for name in program.kernel_names if name not in program.refusals]
        entry_points = [compile_for_default_size(module, name) for name in names]
    codes = [
        _described(each, code)
        for each in entry_points
        for variants in each.variants.values()
        for code in variants
    ]
    return debug_image(codes) if codes else b""
