"""Calls as plain data: what `groundstate stream calls --json` prints, one object for each.

Numbers of 64 bits are exact; handles and pointers are hexadecimal text, since many readers of JSON
would round them. Pointers in structs are shown and never followed.
"""

from __future__ import annotations

import ctypes
from typing import Any

from groundstate import _raw
from groundstate.capture.describe import (
    SHOWN_TEXT,
    NamedCall,
    chain_of,
    element_size,
    parsed,
    typed,
)
from groundstate.capture.stream.formats import Form, Phase

ELEMENTS = 64
"""So many elements of an array are given; `count` says how many there are."""


def call_data(call: NamedCall) -> dict[str, Any]:
    """A call, its arguments by name and what they led to."""
    pairs = zip(call.parameters, call.call.arguments, strict=False)
    return {
        "record": call.number,
        "function": call.name,
        "thread": call.call.thread,
        "time_ns": call.call.time,
        "duration_ns": call.call.duration,
        "result": call.result,
        "arguments": dict(_argument(call, declaration, word) for declaration, word in pairs),
        "incomplete": call.call.incomplete,
    }


def _argument(call: NamedCall, declaration: str, word: int) -> tuple[str, Any]:
    match = parsed(declaration)
    if not match["stars"]:
        return match["name"], _plain(call, match["base"], word)
    if word == 0:
        return match["name"], None
    data: dict[str, Any] = {"address": hex(word)}
    for phase, key in ((Phase.BEFORE, "before"), (Phase.AFTER, "after")):
        found = _led_to(call, match["base"], match["stars"], word, phase)
        if found is not None:
            data[key] = found
    if data.get("after") == data.get("before"):
        data.pop("after", None)
    return match["name"], data


def _plain(call: NamedCall, base: str, word: int) -> Any:
    if (enumeration := _raw.enum_behind(base)) is not None:
        return _raw._symbol(enumeration, word)
    kind = _raw.c_type(f"{base} _")
    if kind is ctypes.c_double:
        return ctypes.c_double.from_buffer_copy(word.to_bytes(8, "little")).value
    if issubclass(kind, ctypes.Structure):
        return _led_to(call, base, "*", word, Phase.BEFORE) or hex(word)
    return hex(word) if _is_address(kind) else word


def _led_to(call: NamedCall, base: str, stars: str, address: int, phase: Phase) -> Any:
    block = call.call.at(address, phase)
    if block is None:
        return None
    if block.form != Form.BYTES:
        return {"bytes": block.size, "digests": [name.hex() for name in block.digests]}
    value = typed(base, stars, block, ELEMENTS)
    if value is None:
        return {"bytes": block.size, "hex": block.data[:SHOWN_TEXT].hex()}
    if isinstance(value, str):
        return value
    elements = [_value(element, base, stars) for element in value]
    if value and isinstance(value[0], ctypes.Structure):
        chain = [_link(link) for link in chain_of(call.call, value[0], base, phase)]
        if chain:
            elements[0]["pNext"] = chain
    count = block.size // element_size(base, stars)
    if count > len(elements):
        return {"count": count, "first": elements}
    return elements[0] if count == 1 else elements


def _value(value: Any, base: str = "", stars: str = "") -> Any:
    """A value of a recorded block as JSON has it."""
    if isinstance(value, ctypes.Structure | ctypes.Union):
        return {name: _field(value, name, kind) for name, kind in type(value)._fields_}  # type: ignore[misc]
    if isinstance(value, ctypes.Array):
        return [_value(element) for element in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if len(stars) > 1 or base.endswith("_handle_t"):
        return hex(value or 0)
    if base and isinstance(value, int) and (enumeration := _raw.enum_behind(base)) is not None:
        return _raw._symbol(enumeration, value)
    return value


def _link(link: Any) -> dict[str, Any]:
    return {"type": type(link).__name__, **_value(link)} if link is not None else {"type": None}


def _field(struct: Any, name: str, kind: Any) -> Any:
    if _is_address(kind):
        offset = getattr(type(struct), name).offset
        address = ctypes.c_uint64.from_buffer_copy(bytes(struct), offset).value
        return hex(address) if address else None
    if name in struct._enums_:
        return _raw._symbol(struct._enums_[name], getattr(struct, name))
    return _value(getattr(struct, name))


def _is_address(kind: Any) -> bool:
    return isinstance(kind, type) and _raw._is_pointer(kind)
