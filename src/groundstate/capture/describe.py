"""Says in text what was called: names of functions and parameters, structs, results.

The types come from the API's declarations in `ze`, `zes`, `zet` and `zer`. Nothing in a stream is
trusted to be what its type says: a block that is too short or missing is shown as its address.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from groundstate import _raw
from groundstate.capture.stream import Call, Kind, Record, StreamError, StreamReader
from groundstate.capture.stream.calls import Block
from groundstate.capture.stream.formats import Form, Phase

SHOWN_ELEMENTS = 8
SHOWN_LINKS = 64
SHOWN_TEXT = 200
FUNCTION_LIMIT = 1 << 16
"""More functions than the API will ever have: what names more was not written by a recorder."""


class NamedCall:
    """A recorded call whose function is known."""

    def __init__(self, number: int, name: str, call: Call) -> None:
        self.number = number
        self.name = name
        self.call = call
        self.parameters, self.returns = declared(name)

    def argument(self, name: str) -> int:
        """The word that was passed for a parameter."""
        for declaration, word in zip(self.parameters, self.call.arguments, strict=False):
            if parsed(declaration)["name"] == name:
                return word
        raise KeyError(name)

    def value(self, name: str, phase: Phase) -> Any:
        """What a pointer parameter led to before or after the call; None if that is unknown."""
        for declaration, word in zip(self.parameters, self.call.arguments, strict=False):
            match = parsed(declaration)
            if match["name"] == name:
                block = self.call.at(word, phase)
                return None if block is None else typed(match["base"], match["stars"], block)
        raise KeyError(name)

    @property
    def result(self) -> str:
        """What was returned, by its name if it has one."""
        if self.returns == "ze_result_t":
            return _raw._symbol("ze_result_t", self.call.result)
        return hex(self.call.result)

    def __str__(self) -> str:
        missing = " (parts of it are missing)" if self.call.incomplete else ""
        return f"{self.made} = {self.result}{missing}"

    @property
    def made(self) -> str:
        """The function and its arguments, without what became of the call."""
        pairs = zip(self.parameters, self.call.arguments, strict=False)
        shown = ", ".join(self._shown(declaration, word) for declaration, word in pairs)
        return f"{self.name}({shown})"

    def _shown(self, declaration: str, word: int) -> str:
        match = parsed(declaration)
        return f"{match['name']}={self._value_shown(match['base'], match['stars'], word)}"

    def _value_shown(self, base: str, stars: str, word: int) -> str:
        if not stars:
            return self._plain_shown(base, word)
        if word == 0:
            return "null"
        before = self._led_to(base, stars, word, Phase.BEFORE)
        after = self._led_to(base, stars, word, Phase.AFTER)
        if after is None or after == before:
            return f"0x{word:x}" if before is None else f"0x{word:x} {before}"
        return f"0x{word:x} {before} -> {after}" if before else f"0x{word:x} -> {after}"

    def _plain_shown(self, base: str, word: int) -> str:
        if (enumeration := _raw.enum_behind(base)) is not None:
            return _raw._symbol(enumeration, word)
        kind = _raw.c_type(f"{base} _")
        if kind is ctypes.c_double:
            return str(ctypes.c_double.from_buffer_copy(word.to_bytes(8, "little")).value)
        if isinstance(kind, type) and issubclass(kind, ctypes.Structure):
            return self._led_to(base, "*", word, Phase.BEFORE) or f"0x{word:x}"
        return (
            hex(word)
            if kind is ctypes.c_void_p or issubclass(kind, _raw._FUNCTION_POINTER)
            else str(word)
        )

    def _led_to(self, base: str, stars: str, address: int, phase: Phase) -> str | None:
        block = self.call.at(address, phase)
        if block is None:
            return None
        if block.form != Form.BYTES:
            return f"<{block.size} bytes {block.data[:16].hex()}>"
        value = typed(base, stars, block, SHOWN_ELEMENTS)
        if isinstance(value, list):
            shown = [_element_shown(base, stars, element) for element in value]
            count = block.size // element_size(base, stars)
            more = [f"... {count} in all"] if count > len(value) else []
            text = "[" + ", ".join(shown + more) + "]" if len(value) != 1 else shown[0]
            return text + self._chain_shown(value[0], base, phase) if value else text
        return repr(value[:SHOWN_TEXT]) if isinstance(value, str) else f"<{block.size} bytes>"

    def _chain_shown(self, value: Any, base: str, phase: Phase) -> str:
        """The structs of a pNext chain behind the one they extend."""
        links = chain_of(self.call, value, base, phase)
        return "".join(
            " + <a struct of an unknown type>" if link is None else f" + {link!r}" for link in links
        )


def chain_of(call: Call, value: Any, base: str, phase: Phase) -> Iterator[Any]:
    """The structs of the pNext chain that a struct begins; None for one of an unknown type."""
    for _ in range(SHOWN_LINKS):
        address = getattr(value, "pNext", None) if isinstance(value, ctypes.Structure) else None
        block = call.at(address, phase) if address else None
        if block is None or block.form != Form.BYTES:
            return
        kind = struct_of_stype(base, int.from_bytes(block.data[:4], "little"))
        if kind is None or ctypes.sizeof(kind) > block.size:
            yield None
            return
        value = kind.from_buffer_copy(block.data)
        yield value


def named_calls(reader: StreamReader, names: dict[int, str] | None = None) -> Iterator[NamedCall]:
    """The calls of a stream, in the order in which they returned; `names` gets the functions'."""
    return (call for _, call in named_records(reader, names) if call is not None)


def named_records(
    reader: StreamReader, names: dict[int, str] | None = None
) -> Iterator[tuple[Record, NamedCall | None]]:
    """All records of a stream, those of calls with the call that they are."""
    names = {} if names is None else names
    for record in reader.records():
        call = None
        if record.kind == Kind.FUNCTION and len(record.body) > 4:
            _note_name(record.body, names)
        elif record.kind == Kind.CALL:
            call = _call_of(record, names)
        yield record, call


def _note_name(body: bytes, names: dict[int, str]) -> None:
    if len(names) >= FUNCTION_LIMIT:
        raise StreamError(f"the stream names more than {FUNCTION_LIMIT} functions")
    name = body[4:].decode("ascii", "replace")
    known = name in _raw.namespace_of(name).functions
    names[int.from_bytes(body[:4], "little")] = name if known else f"unknown function {name!r}"


def _call_of(record: Record, names: dict[int, str]) -> NamedCall:
    try:
        call = Call.unpack(record.body)
    except StreamError as problem:
        raise StreamError(f"record {record.number}: {problem}") from None
    name = names.get(call.function, f"unnamed function {call.function}")
    return NamedCall(record.number, name, call)


@lru_cache(maxsize=4096)
def declared(function: str) -> tuple[list[str], str]:
    """The declarations of a function's parameters, and the type of what it returns."""
    declaration = _raw.namespace_of(function).functions.get(function, "")
    parameters, _, returns = declaration.partition(" -> ")
    return [text for text in parameters.split(", ") if text], returns or "ze_result_t"


@lru_cache(maxsize=4096)
def parsed(declaration: str) -> dict[str, str]:
    """The parts of a declaration: base, stars, name, length."""
    match = _raw.parse(declaration)
    assert match is not None, declaration
    return match.groupdict()


def typed(base: str, stars: str, block: Block, limit: int | None = None) -> list[Any] | str | None:
    """A block as (the first `limit`) elements of its type or as a text; None for plain bytes."""
    if block.form != Form.BYTES or (base == "void" and len(stars) == 1):
        return None
    if base == "char" and len(stars) == 1:
        return block.data.split(b"\0", 1)[0].decode("utf-8", "replace")
    count = block.size // element_size(base, stars)
    count = count if limit is None else min(count, limit)
    return list((_element_type(base, stars) * count).from_buffer_copy(block.data))


@lru_cache(maxsize=4096)
def _element_type(base: str, stars: str) -> Any:
    return ctypes.c_uint64 if len(stars) > 1 else _raw.c_type(f"{base} _")


def element_size(base: str, stars: str) -> int:
    """How large an element of the array is that a pointer leads to."""
    return ctypes.sizeof(_element_type(base, stars))


def _element_shown(base: str, stars: str, element: Any) -> str:
    if len(stars) > 1 or base.endswith("_handle_t"):
        return hex(element or 0) if not isinstance(element, ctypes.Structure) else repr(element)
    if isinstance(element, int) and (enumeration := _raw.enum_behind(base)) is not None:
        return _raw._symbol(enumeration, element)
    return repr(element)


def struct_of_stype(base: str, stype: int) -> Any:
    """The struct that a stype stands for in the namespace of the struct that begins the chain."""
    namespace = _raw.namespace_of(base)
    for name, (found, *_) in namespace.structs.items():
        if found == stype:
            return namespace.lookup(name)
    return None
