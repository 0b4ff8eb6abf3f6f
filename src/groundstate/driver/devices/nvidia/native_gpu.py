"""native/nvidia/ as Python sees it. Its functions are declared in native.py with all others."""

from __future__ import annotations

import ctypes

from groundstate import ze
from groundstate.driver.api import Failure
from groundstate.driver.native import _call, _check, last_error

NAME_BYTES = 256
LOG_BYTES = 1 << 16


def open_library(path: str) -> int:
    """Opens the CUDA driver; how many GPUs it knows."""
    return _call("gs_cuda_open", path.encode())


def attribute(ordinal: int, number: int) -> int:
    """CU_DEVICE_ATTRIBUTE_* of a GPU, or 0."""
    return _call("gs_cuda_attribute", ordinal, number)


def identify(ordinal: int) -> tuple[str, bytes, int] | None:
    """Name, UUID and bytes of memory of a GPU; None if it does not answer."""
    name, uuid = ctypes.create_string_buffer(NAME_BYTES), (ctypes.c_uint8 * 16)()
    memory = ctypes.c_uint64()
    there = _call("gs_cuda_identify", ordinal, name, NAME_BYTES, uuid, ctypes.byref(memory))
    if not there:
        return None
    return name.value.decode(errors="replace"), bytes(uuid), memory.value


def free_memory(device: int) -> int:
    """Bytes of a GPU's memory that nobody has."""
    return _call("gs_gpu_free_memory", device)


def reaches(device: int, peer: int) -> int:
    """Whether kernels of a GPU may use another's memory: 0, 1, or 2 with all atomics."""
    return _call("gs_gpu_reaches", device, peer)


def exports(device: int) -> bool:
    """Whether the memory of a GPU can become a file descriptor, and come from one."""
    return bool(_call("gs_gpu_exports", device))


def export_fd(context: int, pointer: int) -> int:
    """A new descriptor for an allocation with pages of its own, the caller's; -1 if it has none."""
    return _call("gs_gpu_export_fd", context, pointer)


def import_fd(context: int, device: int, fd: int, size: int, alignment: int) -> int:
    """Makes memory of a GPU of a descriptor, which stays the caller's; its address."""
    pointer = ctypes.c_void_p()
    where = context, device, fd, size, alignment, ctypes.byref(pointer)
    _check("gs_gpu_import_fd", *where)
    return pointer.value or 0


def open_offer(context: int, device: int, fd: int) -> int:
    """Opens memory that another process offers by a note; its address."""
    pointer = ctypes.c_void_p()
    _check("gs_gpu_open_offer", context, device, fd, ctypes.byref(pointer))
    return pointer.value or 0


def version() -> int:
    """The version of the CUDA driver: 13000 is 13.0."""
    return _call("gs_cuda_version")


def module_build(device: int, ptx: bytes) -> tuple[bytes, str]:
    """A cubin of PTX, and what was said of it; no bytes if this CUDA driver makes none."""
    log, cubin = ctypes.create_string_buffer(LOG_BYTES), ctypes.c_void_p()
    size = ctypes.c_uint64()
    found = ctypes.byref(cubin), ctypes.byref(size)
    result = _call("gs_gpu_module_build", device, ptx, log, LOG_BYTES, *found)
    words = _words(result, log)
    if not cubin.value:
        return b"", words
    try:
        return ctypes.string_at(cubin.value, size.value), words
    finally:
        _call("gs_gpu_module_drop", cubin.value)


def module_load(device: int, image: bytes) -> tuple[int, int, str]:
    """Loads PTX or a cubin: the module, the generation of its context, and what was said of it.

    A failure to build has the CUDA driver's words."""
    log, module = ctypes.create_string_buffer(LOG_BYTES), ctypes.c_void_p()
    generation = ctypes.c_uint32()
    found = ctypes.byref(module), ctypes.byref(generation)
    result = _call("gs_gpu_module_load", device, image + b"\0", log, LOG_BYTES, *found)
    words = _words(result, log)
    return module.value or 0, generation.value, words


def _words(result: int, log: ctypes.Array[ctypes.c_char]) -> str:
    """What the CUDA driver said; raises a failure with it."""
    words = log.value.decode(errors="replace").strip()
    if result:
        reason = last_error()
        raise Failure(result, f"{reason}\n{words}" if words else reason)
    return words


def module_unload(device: int, module: int, generation: int) -> None:
    """Unloads a module, if its context is still there."""
    _call("gs_gpu_module_unload", device, module, generation)


def function(device: int, module: int, name: str) -> tuple[int, tuple[int, int, int, int]]:
    """A kernel of a module, and of it: most work-items in a group, registers, bytes of static local
    memory, bytes of private memory."""
    facts = (ctypes.c_uint32 * 4)()
    found = _call("gs_gpu_function", device, module, name.encode(), facts)
    if not found:
        raise Failure(
            ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE,
            f"the module has no kernel {name!r} after NVIDIA's driver has loaded it",
        )
    first, second, third, fourth = facts
    return found, (first, second, third, fourth)


def variable(device: int, module: int, name: str) -> tuple[int, int]:
    """The address and size of a program-scope variable, or zeros."""
    size = ctypes.c_uint64()
    address = _call("gs_gpu_variable", device, module, name.encode(), ctypes.byref(size))
    return address, size.value
