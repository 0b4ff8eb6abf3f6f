"""Programs on a device: SPIR-V made from a plan's text, and the modules and kernels of it.

The front end keeps SPIR-V on disk, by the text that it was made from, which says everything there
is to say of shapes, types and attributes. A module is made once for each text and engine.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from typing import TYPE_CHECKING

from groundstate import ze
from groundstate.compiler.opencl import frontend
from groundstate.core.errors import LevelZeroError
from groundstate.dnn.errors import DnnError
from groundstate.dnn.types import Status

if TYPE_CHECKING:
    from groundstate.core.api import Api

OPTIONS = ("-cl-std=CL3.0",)


_provided: dict[tuple[str, tuple[str, ...]], bytes] = {}
"""SPIR-V that callers kept themselves."""


def provide(source: str, options: tuple[str, ...], spirv: bytes) -> None:
    """Uses SPIR-V that a caller kept instead of compiling a program."""
    _provided[source, options] = spirv


def spirv_of(source: str, options: tuple[str, ...] = ()) -> bytes:
    """The SPIR-V of a program; the front end keeps it on disk."""
    if (source, options) in _provided:
        return _provided[source, options]
    try:
        return frontend.compile_opencl(source, options=(*OPTIONS, *options), name="dnn.cl")
    except frontend.CompileError as problem:
        raise DnnError(Status.runtime_error, f"a kernel does not compile:\n{problem}") from problem


class Program:
    """A module on a device."""

    def __init__(self, api: Api, context: int, device: int, spirv: bytes) -> None:
        self.api = api
        code = ctypes.create_string_buffer(spirv, len(spirv))
        description = ze.ze_module_desc_t(
            format=ze.ZE_MODULE_FORMAT_IL_SPIRV,
            inputSize=len(spirv),
            pInputModule=ctypes.addressof(code),
        )
        made = ctypes.c_void_p()
        try:
            api.call(
                "zeModuleCreate",
                context,
                device,
                ctypes.byref(description),
                ctypes.byref(made),
                None,
            )
        except LevelZeroError as problem:
            raise DnnError(Status.runtime_error, f"the driver refuses it: {problem}") from problem
        self.handle = made.value or 0

    def kernel(self, name: str) -> int:
        """A new kernel object, which the caller destroys."""
        encoded = ctypes.create_string_buffer(name.encode())
        description = ze.ze_kernel_desc_t(pKernelName=ctypes.addressof(encoded))
        return self.api.create("zeKernelCreate", self.handle, ctypes.byref(description))

    def __del__(self) -> None:
        if getattr(self, "handle", 0) and not sys.is_finalizing():
            self.api.raw("zeModuleDestroy", self.handle)


class Programs:
    """The programs of an engine, by their text."""

    most = 1024
    """How many are kept; 0 keeps none but those in use."""

    def __init__(self, api: Api, context: int, device: int) -> None:
        self._where = (api, context, device)
        self._made: dict[tuple[str, tuple[str, ...]], Program] = {}
        self._lock = threading.Lock()

    def program(self, source: str, options: tuple[str, ...]) -> Program:
        """The program of a text, made when it is first asked for."""
        key = (source, options)
        with self._lock:
            program = self._made.pop(key, None)
            if program is None:
                program = Program(*self._where, spirv_of(source, options))
            self._made[key] = program  # the last one used is the last one to go
            if len(self._made) > self.most:
                self._made.pop(next(iter(self._made)))
        return program

    def close(self) -> None:
        """Lets go of all programs."""
        self._made.clear()
