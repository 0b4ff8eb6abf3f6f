"""One interface to our driver and to an OpenCL runtime, for the process that measures one."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from benchmarks.kernels.cases import Argument, Array, Case, Local, Picture


class Prepared(ABC):
    """A kernel that was built, with its arguments on the device."""

    @abstractmethod
    def launch(self) -> None:
        """Launches the kernel and waits until it has run."""

    @abstractmethod
    def result(self, like: Array | Picture) -> Array:
        """What the kernel has left in its result, which is an array or an image like this one."""


class Runtime(ABC):
    """A device with a queue to it."""

    @abstractmethod
    def upload(self, argument: Argument) -> Any:
        """An argument as this runtime takes it, with its memory on the device."""

    @abstractmethod
    def write(self, memory: Any, contents: Array) -> None:
        """Fills memory on the device, and waits until that is done."""

    @abstractmethod
    def build(self, case: Case, arguments: list[Any], spirv: bytes | None = None) -> Prepared:
        """Builds a kernel, from SPIR-V if there is any and else from its source."""


class Groundstate(Runtime):
    """Our driver, through the objects that a Python program uses."""

    def __init__(self) -> None:
        import groundstate as gs

        self.gs = gs
        self.context = gs.Context(gs.devices()[0])
        self.commands = gs.CommandList.immediate(self.context, in_order=True)

    def close(self) -> None:
        """Lets go of the device."""
        self.commands.close()
        self.context.close()

    def upload(self, argument: Argument) -> Any:
        if isinstance(argument, Local):
            return self.gs.Local(argument.size_bytes)
        if isinstance(argument, Picture):
            image = self.gs.Image(self.context, argument.texels.shape[:2], "rgba8unorm")
            image.upload(argument.texels)
            return image
        if not isinstance(argument, np.ndarray):
            return argument
        memory = self.context.alloc_device(argument.shape, argument.dtype)
        self.write(memory, argument)
        return memory

    def write(self, memory: Any, contents: Array) -> None:
        self.commands.copy(memory, contents)
        self.commands.synchronize()

    def build(self, case: Case, arguments: list[Any], spirv: bytes | None = None) -> Prepared:
        module = self.module(spirv, opencl=None if spirv is not None else case.source)
        return self.kernel(case, module, arguments)

    def module(
        self, spirv: bytes | None = None, opencl: str | None = None, native: bytes | None = None
    ) -> Any:
        """A module from whatever there is."""
        return self.gs.Module(self.context, spirv=spirv, opencl=opencl, native=native)

    def kernel(self, case: Case, module: Any, arguments: list[Any]) -> Prepared:
        """The kernel of a module."""
        return _GroundstateKernel(self, case, module[case.name], arguments)


class _GroundstateKernel(Prepared):
    def __init__(self, runtime: Groundstate, case: Case, kernel: Any, arguments: list[Any]) -> None:
        self.case, self.kernel, self.arguments = case, kernel, arguments
        self.groups, self.group = case.groups, case.group
        self.commands = runtime.commands

    def launch(self) -> None:
        self.kernel(self.commands, self.groups, self.group, *self.arguments)
        self.commands.synchronize()

    def result(self, like: Array | Picture) -> Array:
        if isinstance(like, Picture):
            return np.asarray(self.arguments[self.case.result].download())
        answer = np.empty_like(like)
        self.commands.copy(answer, self.arguments[self.case.result])
        self.commands.synchronize()
        return answer


class OpenCL(Runtime):
    """The one OpenCL runtime that the environment registers."""

    def __init__(self) -> None:
        import pyopencl

        warnings.simplefilter("ignore", pyopencl.CompilerWarning)
        self.cl: Any = pyopencl
        platform = pyopencl.get_platforms()[0]
        self.context = pyopencl.Context([platform.get_devices(pyopencl.device_type.CPU)[0]])
        self.queue = pyopencl.CommandQueue(self.context)

    def upload(self, argument: Argument) -> Any:
        if isinstance(argument, Local):
            return self.cl.LocalMemory(argument.size_bytes)
        if isinstance(argument, Picture):
            return self._image(argument.texels)
        if not isinstance(argument, np.ndarray):
            return argument
        flags = self.cl.mem_flags.READ_WRITE | self.cl.mem_flags.COPY_HOST_PTR
        return self.cl.Buffer(self.context, flags, hostbuf=argument)

    def write(self, memory: Any, contents: Array) -> None:
        self.cl.enqueue_copy(self.queue, memory, contents)
        self.queue.finish()

    def _image(self, texels: Array) -> Any:
        cl = self.cl
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNORM_INT8)
        shape = texels.shape[1::-1]
        return cl.create_image(self.context, flags, form, shape=shape, hostbuf=texels)

    def build(self, case: Case, arguments: list[Any], spirv: bytes | None = None) -> Prepared:
        program = self.cl.Program(self.context, case.source if spirv is None else spirv)
        kernel = self.cl.Kernel(program.build(), case.name)
        kernel.set_args(*arguments)
        return _OpenCLKernel(self, case, kernel, arguments)


class _OpenCLKernel(Prepared):
    def __init__(self, runtime: OpenCL, case: Case, kernel: Any, arguments: list[Any]) -> None:
        self.case, self.kernel, self.arguments = case, kernel, arguments
        self.cl, self.queue = runtime.cl, runtime.queue

    def launch(self) -> None:
        self.cl.enqueue_nd_range_kernel(self.queue, self.kernel, self.case.items, self.case.group)
        self.queue.finish()

    def result(self, like: Array | Picture) -> Array:
        if isinstance(like, Picture):
            answer = np.empty_like(like.texels)
            height, width, _ = answer.shape
            where = {"origin": (0, 0), "region": (width, height)}
            self.cl.enqueue_copy(self.queue, answer, self.arguments[self.case.result], **where)
            return answer
        answer = np.empty_like(like)
        self.cl.enqueue_copy(self.queue, answer, self.arguments[self.case.result])
        return answer


def open_runtime(kind: str) -> Runtime:
    """The runtime of this process: `groundstate` or `opencl`."""
    return Groundstate() if kind == "groundstate" else OpenCL()
