"""Native binaries: SPIR-V modules, and what is known of their kernels, code among it.

It may come from a stranger (GROUNDSTATE_NATIVE=trusted), so its description is checked to the last
number before any of it is used. The machine code is code: nobody can check that.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

from groundstate import native_binary as envelope
from groundstate.compiler.cache import kernel_cache
from groundstate.compiler.cache.kernel_cache import OF_GPU, Key
from groundstate.compiler.errors import BuildError
from groundstate.compiler.light_dataclass import light_dataclass, replace
from groundstate.printable import printable

VERSION = "groundstate-code-3"
MAX_BYTES = 1 << 48
"""Of memory that a kernel may say it needs."""
MAX_ITEMS = 1 << 32
MAX_WIDTH = 1 << 10
SHOWN_CHARACTERS = 80
_SIZE = struct.Struct("<I")
_FLAGS = ("uses_barriers", "loop_free", "may_wait")


@light_dataclass()
class NativeBinary:
    """What is in a native binary."""

    options: str
    modules: tuple[bytes, ...]
    constants: tuple[dict[int, bytes], ...]
    known: dict[Key, bytes]
    is_own: bool = True
    """Whether this user's driver made all of the code in it."""
    machine: str = ""
    """Of the code: a GPU; nothing: the CPU of this machine."""

    def sealed(self) -> bytes:
        """As a program gets it: signed if all of the code is this user's."""
        return envelope.seal(self.pack(), is_own=self.is_own)

    @staticmethod
    def unsealed(binary: bytes, machine: str = "") -> NativeBinary:
        """What is in a binary for a machine; BuildError if it may not be run or cannot."""
        try:
            content, is_own = envelope.unseal(binary)
        except envelope.RefusedBinaryError as error:
            raise BuildError(str(error)) from error
        return replace(NativeBinary.unpack(content, machine), is_own=is_own)

    def pack(self) -> bytes:
        """All in one piece, with a description of this compiler and the machine in front."""
        head = {
            "version": VERSION,
            "cpu": self.machine or _this_cpu(),
            "options": self.options,
            "modules": [len(each) for each in self.modules],
            "constants": [
                {number: value.hex() for number, value in each.items()} for each in self.constants
            ],
            "known": [[list(key), len(value)] for key, value in self.known.items()],
        }
        text = json.dumps(head).encode()
        return b"".join((_SIZE.pack(len(text)), text, *self.modules, *self.known.values()))

    @staticmethod
    def unpack(content: bytes, machine: str = "") -> NativeBinary:
        """The parts again; BuildError if they are damaged, or not for this compiler and machine."""
        try:
            head, body = _head(content)
            _check_machine(head, machine)
            return replace(_parts(head, body), machine=machine)
        except (struct.error, ValueError, LookupError, TypeError, RecursionError) as error:
            raise BuildError(f"the native binary is damaged: {error}") from error


def _head(content: bytes) -> tuple[dict[str, Any], bytes]:
    (size,) = _SIZE.unpack_from(content)
    end = _SIZE.size + size
    _expect(end <= len(content), "its description ends behind it")
    head = json.loads(content[_SIZE.size : end])
    _expect(isinstance(head, dict), "its description is no object")
    return head, content[end:]


def _this_cpu() -> str:
    from groundstate.compiler.target.host import host

    return host().identity


def _check_machine(head: Mapping[str, Any], machine: str) -> None:
    if head["version"] != VERSION:
        version = _shown(head["version"])
        raise BuildError(f"the native binary is of version {version}; build it again from SPIR-V")
    if head["cpu"] != (machine or _this_cpu()):
        kind, other = "GPU" if machine else "CPU", _shown(head["cpu"])
        raise BuildError(
            f"the native binary is for another {kind} ({other}); build it from SPIR-V here"
        )


def _shown(text: object) -> str:
    return printable(str(text)[:SHOWN_CHARACTERS])


def _parts(head: Mapping[str, Any], body: bytes) -> NativeBinary:
    sizes = [*head["modules"], *(size for _, size in head["known"])]
    _expect(all(_is_number(size, MAX_BYTES) for size in sizes), "a size is no number of bytes")
    _expect(sum(sizes) == len(body), f"it has {len(body)} bytes for parts of {sum(sizes)}")
    _expect(isinstance(head["options"], str), "its options are no text")
    _expect(len(head["constants"]) == len(head["modules"]) > 0, "it has no modules, or of no kind")
    pieces, start = [], 0
    for size in sizes:
        pieces.append(body[start : start + size])
        start += size
    count = len(head["modules"])
    keys = [_key(each) for each, _ in head["known"]]
    known = dict(zip(keys, pieces[count:], strict=True))
    for key, piece in known.items():
        _check_known(key, piece)
    constants = tuple(_constants(each) for each in head["constants"])
    return NativeBinary(head["options"], tuple(pieces[:count]), constants, known)


def _key(fields: Any) -> Key:
    _expect(isinstance(fields, list) and len(fields) in (1, 3, 5), "it describes no kernel")
    name, *numbers = fields
    _expect((name == OF_GPU) == (len(numbers) == 2), "it describes no kernel")
    _expect(isinstance(name, str), "the name of a kernel is no text")
    _expect(all(_is_number(each, MAX_ITEMS) for each in numbers), "a group has no such size")
    return tuple(fields)


def _constants(given: Any) -> dict[int, bytes]:
    _expect(isinstance(given, dict), "its constants are not numbered")
    found = {int(number): bytes.fromhex(value) for number, value in given.items()}
    _expect(all(_is_number(number, 1 << 32) for number in found), "a constant has no such number")
    return found


def _check_known(key: Key, piece: bytes) -> None:
    """Holds a description against what `KernelCompiler` writes into it."""
    facts, code = kernel_cache.unpack(piece)
    if key[0] == OF_GPU:
        _expect(bool(code), "a GPU has no code")
        return  # what is said of it is checked against the program: gpu_code.py
    sizes = ("local_bytes", "private_bytes") if len(key) == 1 else ("private_bytes", "saved_bytes")
    _expect(all(_is_number(facts[name], MAX_BYTES) for name in sizes), "a kernel has no such size")
    if len(key) == 1:
        _expect(_is_number(facts["furthest_lane"], MAX_BYTES), "a lane has no such number")
        _expect(all(isinstance(facts[name], bool) for name in _FLAGS), "a flag is none")
        _expect(facts["unresolved"] == [] and not code, "a kernel is described in part")
    else:
        _expect(isinstance(facts["formats"], list), "the formats of a kernel are no list")
        for each in facts["formats"]:
            bytes.fromhex(each)
        widths = facts.get("widths", [])
        _expect(isinstance(widths, list), "the widths of a kernel are no list")
        _expect(all(_is_number(each, MAX_WIDTH) for each in widths), "a kernel has no such width")
        _expect(bool(code), "a kernel has no code")


def _is_number(value: object, end: int) -> bool:
    return type(value) is int and 0 <= value < end


def _expect(condition: bool, otherwise: str) -> None:
    if not condition:
        raise ValueError(otherwise)
