"""Which arguments kernels have when they are appended, and what the modules they are from tell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from groundstate import ze
from groundstate.capture.describe import NamedCall
from groundstate.capture.stream import Block, StreamError, StreamReader
from groundstate.capture.stream.formats import Form, Phase
from groundstate.capture.structure.kernels import argument, listed, structure
from groundstate.capture.views.signature import ArgumentType, signature_of
from groundstate.capture.views.summary import text_behind

_WORD = 8
ARGUMENT_LIMIT = 4096


@dataclass(frozen=True)
class Bound:
    """The value of an argument as it was recorded; None for local memory."""

    index: int
    value: bytes | None
    size: int

    @property
    def word(self) -> int:
        """The address or handle that it may be; 0 if it is of another size."""
        if self.value is None or len(self.value) != _WORD:
            return 0
        return int.from_bytes(self.value, "little")


@dataclass(eq=False)
class Kernel:
    """A kernel of the recording and what it was told so far."""

    name: str
    module: int
    values: dict[int, Bound] = field(default_factory=dict)


@dataclass(frozen=True)
class ImageSeen:
    """An image of the recording."""

    description: Any
    context: int


class Bindings:
    """Follows the calls that make modules, kernels and images, and those that set arguments."""

    def __init__(self) -> None:
        self.images: dict[int, ImageSeen] = {}
        self._modules: dict[int, Block] = {}
        self._kernels: dict[int, Kernel] = {}
        self._signatures: dict[tuple[bytes, str], list[ArgumentType]] = {}

    def see(self, call: NamedCall) -> None:
        """Takes in a call that succeeded."""
        if call.call.result != ze.ZE_RESULT_SUCCESS:
            return
        if call.name == "zeKernelSetArgumentValue":
            self._set(call)
        elif call.name == "zeKernelCreate":
            self._make_kernel(call)
        elif call.name == "zeModuleCreate":
            self._make_module(call)
        elif call.name.startswith("zeImage"):
            self._make_image(call)

    def launched(self, call: NamedCall) -> list[tuple[Kernel, list[Bound]]]:
        """The kernels that an append call launches, with the arguments that they have then."""
        handles = listed(call, "phKernels", Phase.BEFORE) or [argument(call, "hKernel")]
        given = self._given(call)
        found = []
        for handle in handles:
            kernel = self._kernels.get(handle, Kernel("", 0))
            values = {**kernel.values, **given}
            found.append((kernel, [values[index] for index in sorted(values)]))
        return found

    def types(self, kernel: Kernel, reader: StreamReader) -> list[ArgumentType]:
        """What the kernel's module says of its arguments; empty if it says nothing."""
        block = self._modules.get(kernel.module)
        if block is None:
            return []
        key = (block.data[:64], kernel.name)
        if key not in self._signatures:
            self._signatures[key] = signature_of(_whole(block, reader), kernel.name)
        return self._signatures[key]

    def _set(self, call: NamedCall) -> None:
        kernel = self._kernels.get(argument(call, "hKernel"))
        index, size = argument(call, "argIndex"), argument(call, "argSize")
        if kernel is None or (index not in kernel.values and len(kernel.values) >= ARGUMENT_LIMIT):
            return
        block = call.call.at(argument(call, "pArgValue"), Phase.BEFORE)
        value = block.data if block is not None and block.form == Form.BYTES else None
        kernel.values[index] = Bound(index, value, size)

    def _given(self, call: NamedCall) -> dict[int, Bound]:
        """Arguments that are given with the launch itself."""
        found: dict[int, Bound] = {}
        for index, address in enumerate(listed(call, "pArguments", Phase.BEFORE)[:ARGUMENT_LIMIT]):
            block = call.call.at(address, Phase.BEFORE) if address else None
            if block is not None and block.form == Form.BYTES:
                found[index] = Bound(index, block.data, block.size)
        return found

    def _make_kernel(self, call: NamedCall) -> None:
        described = structure(call, "desc")
        name = "" if described is None else text_behind(call, described, "pKernelName")
        for handle in listed(call, "phKernel", Phase.AFTER):
            self._kernels[handle] = Kernel(name, argument(call, "hModule"))

    def _make_module(self, call: NamedCall) -> None:
        described = structure(call, "desc")
        if described is None or described.format != ze.ZE_MODULE_FORMAT_IL_SPIRV:
            return
        block = call.call.at(described.pInputModule or 0, Phase.BEFORE)
        for handle in listed(call, "phModule", Phase.AFTER):
            if block is not None:
                self._modules[handle] = block

    def _make_image(self, call: NamedCall) -> None:
        described = structure(call, "desc")
        if described is None or not isinstance(described, ze.ze_image_desc_t):
            return
        for parameter in ("phImage", "phImageView"):
            for handle in listed(call, parameter, Phase.AFTER):
                self.images[handle] = ImageSeen(described, argument(call, "hContext"))


def _whole(block: Block, reader: StreamReader) -> bytes:
    """The bytes of a block, those that are stored elsewhere in the stream, too."""
    if block.form == Form.BYTES:
        return block.data
    try:
        return b"".join(map(reader.content, block.digests))
    except StreamError:
        return b""
