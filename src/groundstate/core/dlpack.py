"""Memory as DLPack capsules, so that other array libraries can use it without a copy.

The two layouts, before and since DLPack 1.0, are written here with ctypes. The consumer of a
capsule renames it and calls its deleter; a capsule that nobody consumed calls it itself.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from groundstate import _raw
from groundstate.core.dtype import DType

if TYPE_CHECKING:
    from typing_extensions import CapsuleType

CPU = 1
ONE_API = 14
"""Memory of a oneAPI device that the host cannot reach."""

VERSION = (1, 0)

_CAPSULE = b"dltensor"
_VERSIONED_CAPSULE = b"dltensor_versioned"


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _ManagedTensor(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter))


class _VersionedTensor(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_handed_out: dict[int, tuple[object, ...]] = {}
"""What each tensor that was handed out needs to stay alive, by the address of the tensor."""


def _forget(address: int) -> None:
    _handed_out.pop(address, None)


_WithTheLock = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
"""A function that is called by who holds Python's lock."""

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)

# These take the capsule as an address: when its destructor runs it must not be referred to again.
_is_capsule = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _forget_unused(capsule: int) -> None:
    for name in (_CAPSULE, _VERSIONED_CAPSULE):
        if _is_capsule(capsule, name):
            _forget(_pointer_in(capsule, name))


_callbacks = (_WithTheLock(_forget_unused), _WithTheLock(_forget))


class _Ends(NamedTuple):
    """The functions with which capsules and tensors end."""

    destructor: int
    deleter: Any


@cache
def _ends() -> _Ends:
    """Those of the driver, which put a pending exception aside: see native/python/dlpack.c."""
    library = _raw.default_library()
    names = ("PyGILState_Ensure", "PyGILState_Release", "PyErr_Fetch", "PyErr_Restore")
    functions = (*(getattr(ctypes.pythonapi, name) for name in names), *_callbacks)
    table = (ctypes.c_void_p * len(functions))(*map(_address, functions))
    library.find("gs_dlpack_start")(table)
    return _Ends(
        _address(library.find("gs_dlpack_destroy")),
        _Deleter(_address(library.find("gs_dlpack_forget"))),
    )


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@dataclass(frozen=True)
class Export:
    """What there is to say about memory that is handed out."""

    address: int
    shape: tuple[int, ...]
    dtype: DType
    device: tuple[int, int]
    owner: object
    """Kept until the consumer has finished with the memory."""


def capsule(export: Export, *, versioned: bool) -> CapsuleType:
    """A DLPack capsule for memory whose elements lie densely in C order."""
    assert export.dtype.dlpack_code is not None, "DLPack has no such elements"
    shape = (ctypes.c_int64 * len(export.shape))(*export.shape)
    tensor = _Tensor(
        data=export.address,
        device=_Device(*export.device),
        ndim=len(export.shape),
        dtype=_DataType(export.dtype.dlpack_code, 8 * export.dtype.itemsize_bytes, 1),
        shape=ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)),
    )
    strides = _strides(export.shape)
    tensor.strides = ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64))
    ends = _ends()
    managed: _ManagedTensor | _VersionedTensor
    if versioned:
        managed = _VersionedTensor(*VERSION, deleter=ends.deleter, tensor=tensor)
    else:
        managed = _ManagedTensor(tensor=tensor, deleter=ends.deleter)
    address = ctypes.addressof(managed)
    _handed_out[address] = (managed, shape, strides, export.owner)
    name = _VERSIONED_CAPSULE if versioned else _CAPSULE
    made: CapsuleType = _new_capsule(address, name, ends.destructor)
    return made


def _strides(shape: tuple[int, ...]) -> ctypes.Array[ctypes.c_int64]:
    """Elements from one index to the next, in C order."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return (ctypes.c_int64 * len(shape))(*strides)
