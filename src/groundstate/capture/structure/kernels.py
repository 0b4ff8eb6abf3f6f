"""What is known of kernels while a stream is read: their names and group sizes."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from groundstate.capture.describe import NamedCall
from groundstate.capture.stream.formats import Form, Phase
from groundstate.capture.structure.commands import Size
from groundstate.printable import printable

_GROUPS = struct.Struct("<III")


@dataclass
class Kernel:
    """A kernel's name, and its group size as far as it is set."""

    name: str = ""
    group_size: Size | None = None


class Kernels:
    """The kernels that the calls seen so far made, by their handles."""

    def __init__(self) -> None:
        self._kernels: dict[int, Kernel] = {}

    def __getitem__(self, handle: int) -> Kernel:
        return self._kernels.get(handle, Kernel())

    def see(self, call: NamedCall) -> None:
        """Takes in a call that succeeded."""
        if call.name == "zeKernelCreate":
            for handle in listed(call, "phKernel", Phase.AFTER):
                self._kernels[handle] = Kernel(_kernel_name(call))
        elif call.name == "zeKernelSetGroupSize":
            handle, *sizes = (*call.call.arguments, 0, 0, 0, 0)[:4]
            if handle in self._kernels:
                self._kernels[handle].group_size = (sizes[0], sizes[1], sizes[2])


def _kernel_name(call: NamedCall) -> str:
    description = structure(call, "desc")
    if description is None:
        return ""
    place = type(description).pKernelName.offset
    address = int.from_bytes(bytes(description)[place : place + 8], "little")
    block = call.call.at(address, Phase.BEFORE)
    if block is None or block.form != Form.BYTES:
        return ""
    return printable(block.data.split(b"\0", 1)[0].decode("utf-8", "replace"))


def groups_of(call: NamedCall, parameter: str) -> Size | None:
    """The group counts that a launch was given; None if the stream does not have them."""
    block = call.call.at(argument(call, parameter), Phase.BEFORE, _GROUPS.size)
    if block is None or block.form != Form.BYTES:
        return None
    x, y, z = _GROUPS.unpack_from(block.data)
    return (x, y, z)


def structure(call: NamedCall, parameter: str) -> Any:
    """The struct that a parameter leads to before the call; None if the stream does not have it."""
    try:
        found = call.value(parameter, Phase.BEFORE)
    except KeyError:
        return None
    return found[0] if isinstance(found, list) and found else None


def listed(call: NamedCall, parameter: str, phase: Phase) -> list[int]:
    """The handles or numbers that a parameter leads to."""
    try:
        found = call.value(parameter, phase)
    except KeyError:
        return []
    return [int(value or 0) for value in found] if isinstance(found, list) else []


def argument(call: NamedCall, name: str) -> int:
    """A parameter's word, or 0 if the call does not have it."""
    try:
        return call.argument(name)
    except KeyError:
        return 0
