"""What zeModuleCreate is given for a recording: binaries that are as long as they say they are.

Native machine code runs with the rights of whoever plays. It is only made into a module if this
user's own driver has signed it, or if the user trusts the recording.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

from groundstate import native_binary, ze
from groundstate.capture.play.errors import UnplayableError
from groundstate.capture.play.leads import LINKS
from groundstate.capture.play.passing import Passing

_PROGRAM = int(ze.ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC)
_WORD = 8


def check_module(passing: Passing, description: int, *, trust_native: bool) -> None:
    """Raises UnplayableError for a module that reads too far, or is a stranger's native code."""
    if not description:
        return
    module = ze.ze_module_desc_t.from_address(description)
    binaries = list(_binaries(passing, module))
    if trust_native or not is_native(description):
        return
    if not all(map(native_binary.is_own, binaries)):
        raise UnplayableError(
            "its machine code was not made by a driver of yours, and would run with all of your "
            "rights; --trust-native lets it"
        )


def is_native(description: int) -> bool:
    """Whether a module is described as machine code."""
    if not description:
        return False
    module = ze.ze_module_desc_t.from_address(description)
    return bool(module.format == ze.ZE_MODULE_FORMAT_NATIVE)


def _binaries(passing: Passing, module: ze.ze_module_desc_t) -> Iterator[bytes]:
    """What a driver would read, from our copies of it."""
    chained = _chained_program(module)
    if chained is None:
        if address := _pointer(module, "pInputModule"):
            yield _read(passing, address, module.inputSize)
        return
    count = chained.count
    sizes = _words(passing, _pointer(chained, "inputSizes"), count)
    places = _words(passing, _pointer(chained, "pInputModules"), count)
    for place, size in zip(places, sizes, strict=True):
        yield _read(passing, place, size)


def _chained_program(module: ze.ze_module_desc_t) -> ze.ze_module_program_exp_desc_t | None:
    address = _pointer(module, "pNext")
    for _ in range(LINKS):
        if not address:
            break
        found = ze.ze_module_program_exp_desc_t.from_address(address)
        if found.stype == _PROGRAM:
            return found
        address = _pointer(found, "pNext")
    return None


def _pointer(struct: ctypes.Structure, field: str) -> int:
    place: int = getattr(type(struct), field).offset
    return ctypes.c_uint64.from_address(ctypes.addressof(struct) + place).value


def _words(passing: Passing, address: int, count: int) -> list[int]:
    data = _read(passing, address, _WORD * count)
    return [int.from_bytes(data[at : at + _WORD], "little") for at in range(0, len(data), _WORD)]


def _read(passing: Passing, address: int, size: int) -> bytes:
    """Bytes of a block that was recorded; UnplayableError if it does not have that many."""
    for place in passing.placed.values():
        if place.address == address and size <= place.size:
            return place.bytes(0, size)
    raise UnplayableError(f"of {size} bytes of a module that it reads not all were recorded")
