"""The workbench with modules and kernels, and short ways to launch them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from groundstate import ze
from tests.conftest import check
from tests.driver.fake_compiler import spirv
from tests.driver.support import Bench, handles, view

Size = tuple[int, int, int]


class KernelBench(Bench):
    """A workbench whose modules come from the fake compiler."""

    def module(self, *kernels: str, **fields: Any) -> int:
        return self.module_of(spirv(*kernels, **fields))

    def module_of(self, binary: bytes, options: bytes = b"", **fields: Any) -> int:
        description = module_description(binary, options, **fields)
        handle = ctypes.c_void_p()
        check(
            ze.zeModuleCreate(
                self.context,
                self.device,
                ctypes.byref(description),
                ctypes.byref(handle),
                None,
            )
        )
        assert handle.value is not None
        return self.adopt(handle.value, ze.zeModuleDestroy)

    def kernel(self, name: str, *arguments: object, size: Size | None = None) -> int:
        """A kernel of a module of its own, ready to be launched."""
        return self.kernel_in(self.module(name), name, *arguments, size=size)

    def kernel_in(
        self, module: int, name: str, *arguments: object, size: Size | None = None
    ) -> int:
        description = ze.ze_kernel_desc_t(pKernelName=name.encode())
        kernel = self._made(
            ze.zeKernelDestroy, ze.zeKernelCreate, module, ctypes.byref(description)
        )
        if size is not None:
            check(ze.zeKernelSetGroupSize(kernel, *size))
        set_arguments(kernel, *arguments)
        return kernel

    def adopt(self, handle: int, ending: Any) -> int:
        """Takes over the end of an object that a test has made."""
        self._endings[handle] = ending
        return handle

    def array(self, length: int, kind: str = "uint64") -> npt.NDArray[Any]:
        """Shared memory of zeros as an array."""
        size = length * np.dtype(kind).itemsize
        array = view(self.shared(max(size, 1)), size).view(kind)
        array[:] = 0
        return array


def module_description(binary: bytes, options: bytes = b"", **fields: Any) -> ze.ze_module_desc_t:
    buffer = (ctypes.c_uint8 * len(binary)).from_buffer_copy(binary)
    description = ze.ze_module_desc_t(
        format=fields.pop("format", ze.ZE_MODULE_FORMAT_IL_SPIRV),
        inputSize=len(binary),
        pInputModule=ctypes.addressof(buffer),
        pBuildFlags=options or None,
        **fields,
    )
    description.buffer = buffer
    return description


def set_arguments(kernel: int, *arguments: object) -> None:
    """Sets arguments: an array is its address, an int 8 bytes, bytes themselves, None is null."""
    for index, value in enumerate(arguments):
        if isinstance(value, np.ndarray):
            content = value.ctypes.data.to_bytes(8, "little")
        elif isinstance(value, int):
            content = value.to_bytes(8, "little", signed=value < 0)
        else:
            assert isinstance(value, bytes)
            content = value
        check(ze.zeKernelSetArgumentValue(kernel, index, len(content), content))


def group_count(x: int, y: int = 1, z: int = 1) -> ze.ze_group_count_t:
    return ze.ze_group_count_t(x, y, z)


def launch(
    commands: int,
    kernel: int,
    *groups: int,
    signal: int | None = None,
    waits: Sequence[int] = (),
) -> None:
    """Appends a launch."""
    check(
        ze.zeCommandListAppendLaunchKernel(
            commands,
            kernel,
            ctypes.byref(group_count(*groups)),
            signal,
            len(waits),
            handles(*waits),
        )
    )
