"""Handlers of C functions, and the objects behind the handles that they take.

A handler takes the C arguments as numbers (handles and pointers are addresses) and returns None for
success, or what the function returns. A `DnnError` becomes its status.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, overload

from groundstate.dnn import native
from groundstate.dnn.descriptor import MAX_NDIMS, Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import invalid

Handler = Callable[..., int | None]
HANDLERS: dict[str, Handler] = {}

AnyHandler = TypeVar("AnyHandler", bound=Handler)
Kind = TypeVar("Kind")


def handler(function: AnyHandler) -> AnyHandler:
    """Registers the handler of the C function of the same name."""
    HANDLERS[function.__name__] = function
    return function


# --- Handles --------------------------------------------------------------------------------------


class _Entry:
    """An object with a handle, and what was lent out with it."""

    __slots__ = ("arrays", "borrowed", "thing")

    def __init__(self, thing: object) -> None:
        self.thing = thing
        self.borrowed: dict[object, int] = {}
        self.arrays: dict[object, Any] = {}


_entries: dict[int, _Entry] = {}


def give(thing: object, handle: int = 0) -> int:
    """Makes a handle for an object; `handle` is that of an object of the C half."""
    made: int = handle or native.made(native.library().gs_name_new())
    _entries[made] = _Entry(thing)
    return made


def handle_of(engine: Engine) -> int:
    """The handle of an engine; 0 if it was destroyed."""
    return engine.native if engine.native in _entries else 0


def lend(owner: int, key: object, thing: object) -> int:
    """A handle that lives as long as its owner, the same one whenever it is asked for."""
    entry = _entries[owner]
    if key not in entry.borrowed:
        entry.borrowed[key] = give(thing)
    return entry.borrowed[key]


def keep(owner: int, key: object, data: Any) -> int:
    """Keeps an array or a string as long as a handle; returns its address."""
    entry = _entries[owner]
    entry.arrays.setdefault(key, data)
    return ctypes.addressof(entry.arrays[key])


def take_back(handle: int, kind: type) -> None:
    """Ends a handle; nothing for NULL, as in C."""
    if not handle:
        return
    get(handle, kind)
    _end(handle)


def _end(handle: int) -> None:
    entry = _entries.pop(handle)
    for borrowed in entry.borrowed.values():
        _end(borrowed)
    if native.library().gs_object_is(handle, native.NAMED):
        native.library().gs_name_free(handle)


def get(handle: int, kind: type[Kind]) -> Kind:
    """The object behind a handle; NULL and handles of something else are refused."""
    entry = _entries.get(handle)
    if entry is None or not isinstance(entry.thing, kind):
        what = kind.__name__
        invalid(f"a {what} is needed" if not handle else f"{handle:#x} is not a {what} that lives")
    return entry.thing


def get_optional(handle: int, kind: type[Kind]) -> Kind | None:
    """The object behind a handle, or None for NULL."""
    return get(handle, kind) if handle else None


def count_handles() -> int:
    """How many handles live: for tests that nothing is left."""
    return len(_entries)


# --- Memory of the caller -------------------------------------------------------------------------


def need(*pointers: int) -> None:
    """Refuses null pointers."""
    if not all(pointers):
        invalid("a pointer is null that must not be")


def write_pointer(address: int, value: int) -> None:
    """Writes a handle or a pointer."""
    ctypes.c_void_p.from_address(address).value = value or None


def write_int(address: int, value: int) -> None:
    """Writes an int or an enumeration."""
    ctypes.c_int32.from_address(address).value = value


def write_long(address: int, value: int) -> None:
    """Writes an int64_t or a size_t."""
    ctypes.c_int64.from_address(address).value = value


def write_float(address: int, value: float) -> None:
    """Writes a float."""
    ctypes.c_float.from_address(address).value = value


def dims_array(values: Sequence[int]) -> Any:
    """Numbers as a `dnnl_dims_t`."""
    return (ctypes.c_int64 * MAX_NDIMS)(*values)


class Array(Sequence[Any]):
    """An array of the caller, whose length C does not tell: slice it."""

    def __init__(self, address: int, kind: Any, convert: Callable[[Any], Any]) -> None:
        self._address, self._kind, self._convert = address, kind, convert

    def __len__(self) -> int:
        return MAX_NDIMS

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("nobody knows where an array of the caller ends: slice it")

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[each] for each in range(index.start or 0, index.stop, index.step or 1)]
        size = ctypes.sizeof(self._kind)
        return self._convert(self._kind.from_address(self._address + index * size).value)


def dims_at(address: int) -> Array | None:
    """A `dnnl_dims_t` of the caller."""
    return Array(address, ctypes.c_int64, int) if address else None


def floats_at(address: int) -> Array | None:
    """Floats of the caller."""
    return Array(address, ctypes.c_float, float) if address else None


def descriptors_at(address: int) -> Array | None:
    """Handles of descriptors."""
    if not address:
        return None
    return Array(address, ctypes.c_void_p, lambda handle: get(handle or 0, Descriptor))
