"""What the Python half answers when memory, files or rights are missing."""

from __future__ import annotations

import ctypes
import errno
import os

import pytest

from groundstate import ze
from groundstate.compiler.llvm import headroom
from groundstate.driver import ipc, module
from tests.conftest import check
from tests.driver.fake_compiler import spirv
from tests.driver.kernels import KernelBench, module_description

MEMORY = ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY
PERMISSIONS = ze.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS
DEPENDENCY = ze.ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE
UNKNOWN = ze.ZE_RESULT_ERROR_UNKNOWN


def of_system(number: int) -> OSError:
    return OSError(number, os.strerror(number))


PROBLEMS = [
    (MemoryError(), MEMORY, "ulimit -v"),
    (MemoryError("no room for it"), MEMORY, "no room for it; free memory"),
    (of_system(errno.ENOMEM), MEMORY, "ulimit -v"),
    (of_system(errno.ENOSPC), MEMORY, "No space left"),
    (of_system(errno.EMFILE), MEMORY, "ulimit -n"),
    (of_system(errno.ENFILE), MEMORY, "ulimit -n"),
    (of_system(errno.EAGAIN), MEMORY, "ulimit -u"),
    (of_system(errno.EACCES), PERMISSIONS, "Permission denied"),
    (of_system(errno.EIO), DEPENDENCY, "Input/output error"),
    (OSError("x.so: failed to map segment from shared object"), MEMORY, "ulimit -v"),
    (ImportError("x.so: cannot open: Too many open files"), MEMORY, "Too many open files"),
    (ModuleNotFoundError("No module named 'x'"), DEPENDENCY, "groundstate doctor"),
    (KeyError("a fault of the driver"), UNKNOWN, "KeyError('a fault of the driver')"),
]


def last_error(driver: int) -> str:
    text = ctypes.c_char_p()
    check(ze.zeDriverGetLastErrorDescription(driver, ctypes.byref(text)))
    return (text.value or b"").decode()


@pytest.mark.parametrize(("problem", "result", "words"), PROBLEMS, ids=lambda each: str(each)[:40])
def test_exception_of_a_handler_has_the_result_that_it_stands_for(
    driver: int,
    kernels: KernelBench,
    monkeypatch: pytest.MonkeyPatch,
    problem: Exception,
    result: int,
    words: str,
) -> None:
    def fail(handle: int) -> module.Module:
        raise problem

    handle = kernels.module("add")
    count = ctypes.c_uint32()
    with monkeypatch.context() as patch:
        patch.setattr(module, "of_handle", fail)
        answer = ze.zeModuleGetKernelNames(handle, ctypes.byref(count), None)
        said = last_error(driver)
    assert answer == result
    assert said.startswith("zeModuleGetKernelNames: ")
    assert words in said
    check(ze.zeModuleGetKernelNames(handle, ctypes.byref(count), None))


def test_module_that_there_is_no_memory_to_build_may_be_built_later(
    driver: int, kernels: KernelBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*inputs: object) -> object:
        raise MemoryError

    description, handle = module_description(spirv("add")), ctypes.c_void_p()
    arguments = (kernels.context, kernels.device, ctypes.byref(description), ctypes.byref(handle))
    with monkeypatch.context() as patch:
        patch.setattr(module, "_build", fail)
        assert ze.zeModuleCreate(*arguments, None) == MEMORY
    check(ze.zeModuleCreate(*arguments, None))
    check(ze.zeModuleDestroy(handle))


def test_compiler_asks_for_room_before_it_needs_it() -> None:
    headroom.require(1 << 20, "something small")
    with pytest.raises(MemoryError, match="something large takes up to"):
        headroom.require(1 << 62, "something large")


def test_a_file_that_cannot_be_looked_at_was_not_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> str:
        raise of_system(errno.ENOMEM)

    monkeypatch.setattr(os, "readlink", refuse)
    with pytest.raises(OSError, match="Cannot allocate memory"), open(os.devnull) as file:
        ipc.write_handle(0, ipc.SharedFile(0, file.fileno(), 0))
