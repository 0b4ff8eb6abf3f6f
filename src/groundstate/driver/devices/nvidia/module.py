"""Modules of a GPU: PTX that the CUDA driver has loaded, and its kernels as launches need them."""

from __future__ import annotations

import ctypes
from _thread import allocate_lock
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from groundstate.driver.devices.nvidia import native_gpu
from groundstate.driver.platform import Device
from groundstate.native_layouts import ARGUMENT_KINDS, CodeDescription, GpuCode, Parameter

TYPE_CHECKING = False  # as in platform.py
if TYPE_CHECKING:
    from groundstate.compiler.program import Program
    from groundstate.compiler.program.ptx_program import PtxKernel
    from groundstate.compiler.program.signature import Signature
    from groundstate.driver.native_kernel import Size

IMPLICIT = ("global_offset", "global_size", "work_dim", "enqueued_local_size", "print_buffer")
NONE = -1

_loaded: WeakKeyDictionary[Program, GpuModule] = WeakKeyDictionary()
"""Modules that were linked have one program, whose variables they share."""
_loading = allocate_lock()


class GpuKernel:
    """A kernel in a loaded module."""

    def __init__(self, device: int, module: int, generation: int, ptx: PtxKernel) -> None:
        self.ptx = ptx
        self.generation = generation
        self.function, facts = native_gpu.function(device, module, ptx.symbol)
        self.most_items, self.registers, self.static_bytes, self.private_bytes = facts


class GpuModule:
    """A program in the memory of a GPU. It is unloaded when nobody has it any more."""

    def __init__(self, device: Device, program: Program) -> None:
        from groundstate.compiler.program.ptx_program import compile_program

        self.device = device.handle
        self.handle = 0
        self.ptx = compile_program(program)
        self.handle, self.generation, self.log = native_gpu.module_load(
            device.handle, self.ptx.text.encode()
        )
        self.kernels: dict[str, GpuKernel] = {}
        self.variables: dict[str, tuple[int, int]] = {}

    def __del__(self) -> None:
        if self.handle and native_gpu:  # which is gone when the interpreter ends
            native_gpu.module_unload(self.device, self.handle, self.generation)

    def kernel(self, name: str) -> GpuKernel:
        """A kernel by its name in the program."""
        if name not in self.kernels:
            ptx = self.ptx.kernels[name]
            self.kernels[name] = GpuKernel(self.device, self.handle, self.generation, ptx)
        return self.kernels[name]

    def variable(self, name: str) -> tuple[int, int] | None:
        """Where a program-scope variable is, and its size; None if there is none of that name."""
        if name not in self.ptx.variables:
            return None
        if name not in self.variables:
            symbol, size = self.ptx.variables[name]
            address, _ = native_gpu.variable(self.device, self.handle, symbol)
            if not address:
                return None
            self.variables[name] = address, size
        return self.variables[name]


def load(device: Device, program: Program) -> GpuModule:
    """The program in the memory of the GPU; compiled and loaded once."""
    with _loading:
        found = _loaded.get(program)
        if found is None:
            found = _loaded[program] = GpuModule(device, program)
        return found


def describe(
    kernel: GpuKernel, signature: Signature, formats: Sequence[bytes], size: Size
) -> tuple[CodeDescription, object]:
    """A kernel for a group size as the native half wants it, and what the description refers to."""
    ptx = kernel.ptx
    texts = (ctypes.c_char_p * len(formats))(*formats)
    parameters = (Parameter * len(ptx.arguments))(
        *(
            Parameter(given.offset, there.offset, there.size, ARGUMENT_KINDS.index(there.kind))
            for given, there in zip(signature.arguments, ptx.arguments, strict=True)
        )
    )
    code = GpuCode(
        function=kernel.function,
        generation=kernel.generation,
        parameter_bytes=ptx.parameter_bytes,
        parameters=ctypes.addressof(parameters),
        parameter_count=len(parameters),
        **{name: ptx.implicit.get(name, NONE) for name in IMPLICIT},
    )
    description = CodeDescription(
        local_bytes=ptx.static_shared,
        private_bytes=kernel.private_bytes,
        formats=ctypes.addressof(texts),
        format_count=len(formats),
        has_loops=True,
        may_wait=True,
        group_size=size,
        gpu=ctypes.addressof(code),
    )
    return description, (code, parameters, texts)
