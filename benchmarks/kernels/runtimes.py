"""One interface to our driver and to an OpenCL runtime, for the process that measures one."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from benchmarks.kernels.cases import Argument, Array, Case, Local


class Prepared(ABC):
    """A kernel that was built, with its arguments on the device."""

    @abstractmethod
    def launch(self) -> None:
        """Launches the kernel and waits until it has run."""

    @abstractmethod
    def result(self) -> Array:
        """What the kernel has left in its result."""


class Groundstate:
    """Our driver, through the objects that a Python program uses."""

    def __init__(self) -> None:
        import groundstate as gs

        self.gs = gs
        self.device = gs.devices()[0]
        self.context = gs.Context(self.device)
        self.commands = gs.CommandList.immediate(self.context, in_order=True)

    @property
    def description(self) -> str:
        """What the table calls it."""
        return f"Groundstate {self.gs.__version__}"

    def prepare(self, case: Case, arguments: list[Argument]) -> Prepared:
        """Builds a kernel and uploads its arguments."""
        return _GroundstateKernel(self, case, arguments)


class _GroundstateKernel(Prepared):
    def __init__(self, runtime: Groundstate, case: Case, arguments: list[Argument]) -> None:
        gs, self.case, self.commands = runtime.gs, case, runtime.commands
        self.kernel = gs.Module(runtime.context, opencl=case.source)[case.name]
        self.arguments: list[Any] = []
        for argument in arguments:
            if isinstance(argument, Local):
                self.arguments.append(gs.Local(argument.size_bytes))
            elif isinstance(argument, np.ndarray):
                memory = runtime.context.alloc_device(argument.shape, argument.dtype)
                self.commands.copy(memory, argument)
                self.arguments.append(memory)
            else:
                self.arguments.append(argument)
        self.answer = np.empty_like(arguments[case.result])
        self.commands.synchronize()

    def launch(self) -> None:
        self.kernel(self.commands, self.case.groups, self.case.group, *self.arguments)
        self.commands.synchronize()

    def result(self) -> Array:
        self.commands.copy(self.answer, self.arguments[self.case.result])
        self.commands.synchronize()
        return self.answer


class OpenCL:
    """The one OpenCL runtime that the environment registers."""

    def __init__(self) -> None:
        os.environ["PYOPENCL_NO_CACHE"] = "1"
        import pyopencl

        warnings.simplefilter("ignore", pyopencl.CompilerWarning)
        self.cl: Any = pyopencl
        platform = pyopencl.get_platforms()[0]
        self.device = platform.get_devices(pyopencl.device_type.CPU)[0]
        self.context = pyopencl.Context([self.device])
        self.queue = pyopencl.CommandQueue(self.context)

    @property
    def description(self) -> str:
        """What the table calls it."""
        return str(self.device.driver_version)

    def prepare(self, case: Case, arguments: list[Argument]) -> Prepared:
        """Builds a kernel and uploads its arguments."""
        return _OpenCLKernel(self, case, arguments)


class _OpenCLKernel(Prepared):
    def __init__(self, runtime: OpenCL, case: Case, arguments: list[Argument]) -> None:
        cl, self.case, self.runtime = runtime.cl, case, runtime
        self.kernel = cl.Kernel(cl.Program(runtime.context, case.source).build(), case.name)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        self.arguments: list[Any] = []
        for argument in arguments:
            if isinstance(argument, Local):
                self.arguments.append(cl.LocalMemory(argument.size_bytes))
            elif isinstance(argument, np.ndarray):
                self.arguments.append(cl.Buffer(runtime.context, flags, hostbuf=argument))
            else:
                self.arguments.append(argument)
        self.kernel.set_args(*self.arguments)
        self.answer = np.empty_like(arguments[case.result])

    def launch(self) -> None:
        queue = self.runtime.queue
        self.runtime.cl.enqueue_nd_range_kernel(
            queue, self.kernel, self.case.items, self.case.group
        )
        queue.finish()

    def result(self) -> Array:
        cl = self.runtime.cl
        cl.enqueue_copy(self.runtime.queue, self.answer, self.arguments[self.case.result])
        return self.answer


def open_runtime(kind: str) -> Groundstate | OpenCL:
    """The runtime of this process: `groundstate` or `opencl`."""
    return Groundstate() if kind == "groundstate" else OpenCL()
