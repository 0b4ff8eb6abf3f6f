"""What our own driver tells beyond the specification, in structs that a caller chains to others.

A driver passes over structs in a chain that it does not know, so chaining these does no harm with
another one; it leaves them as they were.
"""

from __future__ import annotations

import ctypes

from groundstate._raw import TypedStructure

MODULE_FORMAT_OPENCL_C = 3
"""A `ze_module_format_t` for OpenCL C, which Intel's driver calls ZE_MODULE_FORMAT_OCLC."""


class ProcessActivity(TypedStructure):
    """Chained to a `zes_process_state_t`: how long the device worked for the process so far.

    Both are microseconds, of the clock of the activity of engines, and a worker of a device that
    has several counts as its part of the device. A timestamp of 0 says that nobody knows.
    """

    _stype_ = 0x67730001
    _fields_ = (
        ("stype", ctypes.c_uint32),
        ("pNext", ctypes.c_void_p),
        ("activeTime", ctypes.c_uint64),
        ("timestamp", ctypes.c_uint64),
    )


class Products(TypedStructure):
    """Chained to a `ze_device_module_properties_t`: which packed products kernels may ask for.

    A flag says that the compiler knows the function of our own for that kind of numbers, and that
    it is faster than products of single numbers.
    """

    _stype_ = 0x67730002
    _fields_ = (
        ("stype", ctypes.c_uint32),
        ("pNext", ctypes.c_void_p),
        ("flags", ctypes.c_uint32),
    )


OF_MODULES = ("memory", "races", "sync", "arithmetic")
"""The checkers that work for one module: the others have to see all that a program does."""


class ModuleChecks(TypedStructure):
    """Chained to a `ze_module_desc_t`: what the kernels of the module are checked for, besides what
    GROUNDSTATE_CHECK says: bits of `groundstate.checkers`."""

    _stype_ = 0x67730003
    _fields_ = (
        ("stype", ctypes.c_uint32),
        ("pNext", ctypes.c_void_p),
        ("checks", ctypes.c_uint32),
    )


PRODUCT_FLAGS = {"s16": 1, "bf16": 2, "tiles": 4}
"""Of `Products`: pairs of 16-bit integers, pairs of bfloats, tiles of 8-bit integers or bfloats."""
