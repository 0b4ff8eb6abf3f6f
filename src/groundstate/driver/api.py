"""What every noun of the driver shares: the table of handlers, failures, and the caller's memory.

A handler is a function with the name of the API function that it answers. It takes the C arguments
as ints (handles and pointers are addresses) and returns None for success or a `ze_result_t`. The C
side has already checked handles, null pointers and enum values.
"""

from __future__ import annotations

import ctypes
import errno
import importlib
import mmap
import os

from groundstate import ze
from groundstate.light_functools import cached_property

TYPE_CHECKING = False  # as in platform.py
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, TypeVar

    Kept = TypeVar("Kept")
    Chained = TypeVar("Chained", bound=ctypes.Structure)
    Handler = Callable[..., int | None]
else:
    Kept = Handler = object

HANDLERS: dict[str, Handler] = {}

MAX_CHAIN_LENGTH = 64
"""A pNext chain longer than this is taken for a loop."""


def handler(function: Handler) -> Handler:
    """Registers a function as the answer to the API function of the same name."""
    HANDLERS[function.__name__] = function
    return function


REQUESTS: dict[str, Handler] = {}


def request(function: Handler) -> Handler:
    """Registers what the C half asks for by this name for itself; it fails as a handler does."""
    REQUESTS[function.__name__] = function
    return function


def stand_in(name: str, module: str, found: dict[str, Handler]) -> Handler:
    """A light function for one that a module registers in `found`: the first call imports it.

    A start takes as long as what it imports, and a program calls few of all functions.
    """
    known: Handler | None = None

    def answer(*arguments: int) -> int | None:
        nonlocal known
        if known is None:
            importlib.import_module(module)
            known = found[name]
        return known(*arguments)

    return answer


class Failure(Exception):  # noqa: N818 - an answer to the caller, not an error of the driver
    """An API function fails with a result code, and a sentence that says why."""

    def __init__(self, result: int, sentence: str) -> None:
        super().__init__(sentence)
        self.result = result
        self.sentence = sentence


NOT_OF_THE_INPUT = (MemoryError, OSError, ImportError)
"""What goes wrong because of the machine: native/python/ finds the result for each of them."""


class Handles(dict[int, Kept]):
    """What Python keeps for the handles of a kind, such as `ze_module_handle_t`.

    The C side has found a handle to be live, but another thread may destroy the object before the
    handler looks it up: then it answers as for any handle that is no longer live.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind

    def __missing__(self, handle: int) -> Kept:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
            f"{handle:#x} is no live {self._kind}; another thread has destroyed it",
        )

    def take(self, handle: int) -> Kept:
        """Takes out what is kept: of several threads that destroy an object, one gets it."""
        kept = self.pop(handle, None)
        return self.__missing__(handle) if kept is None else kept


class Unsupported(Failure):
    """What the device, the machine or a library cannot do; the sentence says which, and why."""

    def __init__(self, sentence: str) -> None:
        super().__init__(ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, sentence)


def read_u32(address: int) -> int:
    return ctypes.c_uint32.from_address(address).value


def write_u32(address: int, value: int) -> None:
    ctypes.c_uint32.from_address(address).value = value


def read_u64(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def write_u64(address: int, value: int) -> None:
    ctypes.c_uint64.from_address(address).value = value


def write_bool(address: int, value: bool) -> None:
    """Writes a `ze_bool_t`, which is one byte."""
    ctypes.c_uint8.from_address(address).value = value


def read_pointer(address: int) -> int:
    return ctypes.c_void_p.from_address(address).value or 0


def write_pointer(address: int, value: int) -> None:
    ctypes.c_void_p.from_address(address).value = value


def pointer_in(structure: ctypes.Structure, field: str) -> int:
    """A pointer field as an address, whatever ctypes makes of it (bytes, for a string)."""
    return read_pointer(ctypes.addressof(structure) + getattr(type(structure), field).offset)


def read_text(address: int) -> str:
    """The C string at an address. Bytes that are not UTF-8 are kept readable, never an error."""
    return ctypes.string_at(address).decode("utf-8", "backslashreplace")


def write_text(structure: ctypes.Structure, field: str, text: str) -> None:
    """Writes a string into a char array, cut between characters so that its zero still fits."""
    capacity = getattr(type(structure), field).size
    encoded = text.encode()[: capacity - 1].decode("utf-8", "ignore").encode()
    setattr(structure, field, encoded)


def write_bytes(array: ctypes.Array[ctypes.c_uint8], content: bytes) -> None:
    """Copies bytes into an array of the same length or longer, such as the id of a UUID."""
    ctypes.memmove(array, content, min(len(content), ctypes.sizeof(array)))


def take_count(count_address: int, array_address: int, total: int) -> int:
    """Applies the count protocol and returns how many entries the caller wants in its array.

    A count of zero, or no array, asks for the total. Otherwise it becomes the number written.
    """
    wanted = read_u32(count_address)
    if wanted == 0 or array_address == 0:
        write_u32(count_address, total)
        return 0
    written = min(wanted, total)
    write_u32(count_address, written)
    return written


def answer_list(count_address: int, array_address: int, handles: Sequence[int]) -> None:
    """Answers a query for a list of handles with the count protocol."""
    written = take_count(count_address, array_address, len(handles))
    for index in range(written):
        write_pointer(array_address + 8 * index, handles[index])


def answer_structs(
    count_address: int,
    array_address: int,
    structure: type[ctypes.Structure],
    items: Sequence[object],
    fill: Callable[..., None],
) -> None:
    """Answers a query for an array of structs: `fill` is called with each struct and its item."""
    written = take_count(count_address, array_address, len(items))
    for index in range(written):
        address = array_address + ctypes.sizeof(structure) * index
        fill(structure.from_address(address), items[index])


_HEADER_BYTES = 16
_libc = ctypes.PyDLL(None, use_errno=True)
_libc.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
_libc.process_vm_readv.restype = ctypes.c_ssize_t


class _Piece(ctypes.Structure):
    """A `struct iovec`."""

    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]


def _is_readable(address: int) -> bool:
    """False for the address of a struct that is nowhere, as in a pNext that nobody set.

    As `gs_is_readable` in native/abi/error.c: some containers do not allow to ask for more than
    whether memory is mapped.
    """
    copy = (ctypes.c_uint8 * _HEADER_BYTES)()
    pieces = _Piece(ctypes.addressof(copy), len(copy)), _Piece(address, len(copy))
    here, there = (ctypes.byref(piece) for piece in pieces)
    got = _libc.process_vm_readv(os.getpid(), here, 1, there, 1, 0)
    if got >= 0 or ctypes.get_errno() == errno.EFAULT:
        return bool(got == len(copy))
    before = address % mmap.PAGESIZE
    pages = (ctypes.c_uint8 * 2)()
    answer = _libc.mincore(address - before, before + len(copy), pages)
    return answer == 0 or ctypes.get_errno() != errno.ENOMEM


def chain(address: int | None) -> Iterator[tuple[int, int]]:
    """The structs of a pNext chain as (stype, address), beginning with the one at `address`.

    It ends where a pointer leads nowhere.
    """
    for _ in range(MAX_CHAIN_LENGTH):
        if not address or not _is_readable(address):
            return
        yield read_u32(address), address
        address = read_pointer(address + 8)


def find_in_chain(address: int | None, stype: int) -> int:
    """The address of the first struct of a type in the chain from `address` on, or 0."""
    for found, at in chain(address):
        if found == stype:
            return at
    return 0


def chained(structure: ctypes.Structure, wanted: type[Chained]) -> Chained | None:
    """The struct of a type that the caller has chained to its own, if there is one.

    A caller's struct with another stype than its own is memory that nobody initialised: its pNext
    is as random as its stype.
    """
    address = ctypes.addressof(structure)
    own: Any = structure
    target: Any = wanted
    if read_u32(address) != own._stype_:
        return None
    found = find_in_chain(read_pointer(address + 8), target._stype_)
    return wanted.from_address(found) if found else None


class Extensions:
    """The structs that a caller may chain to one query, and who fills each of them.

    A filler is given the caller's struct and the object that was asked about. The caller's `stype`
    and `pNext` are never written, and structs that nobody registered are skipped. Structs are
    registered by name, because `ze` makes a class when it is first used and most programs chain
    nothing.
    """

    def __init__(self, *own: str) -> None:
        self._own_names = own
        self._registered: dict[str, Callable[..., None]] = {}

    def add(self, structure: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """A decorator that registers the filler of a struct."""

        def register(filler: Callable[..., None]) -> Callable[..., None]:
            self._registered[structure] = filler
            return filler

        return register

    @cached_property
    def own(self) -> frozenset[int]:
        """The types of struct that the query itself expects."""
        return frozenset(getattr(ze, f"ZE_STRUCTURE_TYPE_{name}") for name in self._own_names)

    @cached_property
    def fillers(self) -> dict[int, tuple[type[ctypes.Structure], Callable[..., None]]]:
        """Struct and filler by struct type."""
        structures = {name: getattr(ze, name) for name in self._registered}
        return {
            structure._stype_: (structure, self._registered[name])
            for name, structure in structures.items()
        }

    def fill(self, properties: ctypes.Structure, subject: object) -> None:
        """Fills what is chained to the caller's struct.

        A struct whose own stype is not one that this query expects is memory that the caller did
        not initialise, as in the guide's first example: its pNext is as random as its stype.
        """
        address = ctypes.addressof(properties)
        if read_u32(address) not in self.own:
            return
        for stype, at in chain(read_pointer(address + 8)):
            if stype in self.fillers:
                structure, filler = self.fillers[stype]
                filler(structure.from_address(at), subject)
