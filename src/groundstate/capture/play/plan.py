"""How to make the calls of one function: what each argument is, worked out once."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from groundstate import _raw
from groundstate.capture.play.errors import UnplayableError
from groundstate.capture.play.extents import extent_of
from groundstate.capture.play.leads import (
    Lead,
    is_callback,
    is_handle,
    is_struct,
    parsed,
    pointer_lead,
    struct_lead,
)
from groundstate.capture.play.passing import Passing
from groundstate.capture.pointers import POINTERS

FILE = 0xFFFFFFFF
LEFT_OUT = frozenset(
    {
        ("zeVirtualMemReserve", "pStart"),
        ("zeCommandListAppendHostFunction", "pUserData"),
        ("zeGraphSetDestructionCallbackExt", "pUserData"),
    }
)
"""Pointers that are always null: wishes for an address, and what only the program understands."""

Encoder = Callable[[Passing, int], Any]


@dataclass(frozen=True)
class Parameter:
    """One parameter: how its recorded word becomes an argument, and what is learnt afterwards."""

    name: str
    encode: Encoder
    written: Lead | None = None
    count: Callable[[Passing], int] | None = None


class Plan:
    """How to make the calls of one function."""

    def __init__(self, name: str) -> None:
        declaration = _raw.namespace_of(name).functions[name]
        parameters, _, returns = declaration.partition(" -> ")
        declarations = [text for text in parameters.split(", ") if text]
        self.name = name
        self.names = [parsed(text)["name"] for text in declarations]
        self.parameters = [self._parameter(text) for text in declarations]
        self.learns = [
            (place, parameter)
            for place, parameter in enumerate(self.parameters)
            if parameter.written is not None
        ]
        self.returns_handle = bool(returns)
        self.repeatable = not self.learns and not returns
        """Whether calls with equal arguments may share what they are given."""

    def place_of(self, parameter: str) -> int:
        """The number of a parameter."""
        return self.names.index(parameter)

    def encode(self, passing: Passing) -> list[Any]:
        """The arguments of a call, with present names."""
        words = passing.words
        if len(words) < len(self.parameters):
            raise UnplayableError(f"it has {len(words)} of {len(self.parameters)} arguments")
        return [
            parameter.encode(passing, word)
            for parameter, word in zip(self.parameters, words, strict=False)
        ]

    def learn(self, passing: Passing) -> None:
        """Takes over the names that a call has answered."""
        for place, parameter in self.learns:
            address = passing.words[place]
            if address and parameter.written is not None:
                count = None if parameter.count is None else self._answered(passing, parameter)
                parameter.written.learn(passing, address, count)

    def _answered(self, passing: Passing, parameter: Parameter) -> int | None:
        """How many elements an answer has now, where a pointer beside it leads to their number."""
        _, count = POINTERS[self.name][parameter.name]
        if not count.startswith("*"):
            return None
        place = passing.placed.get(passing.words[self.place_of(count[1:])])
        return None if place is None else place.number(0, min(8, place.size))

    def _parameter(self, declaration: str) -> Parameter:
        match = parsed(declaration)
        base, name = match["base"], match["name"]
        if match["stars"]:
            return self._pointer(declaration, name)
        if is_handle(base):
            return Parameter(name, lambda passing, word: passing.names.handle(word))
        if is_callback(base):
            return Parameter(name, lambda passing, word: passing.names.callback if word else 0)
        if is_struct(base):
            return Parameter(name, _by_value(base))
        kind = _raw.c_type(f"{base} _")
        if kind in (ctypes.c_double, ctypes.c_float):
            return Parameter(name, lambda _, word: struct.unpack("<d", struct.pack("<Q", word))[0])
        if self.name == "zeMemGetIpcHandleFromFileDescriptorExp" and name == "handle":
            return Parameter(name, lambda p, word: p.names.descriptors.imported(word & FILE))
        if name == "commandId":
            return Parameter(name, lambda p, word: p.names.commands.get((p.words[0], word), word))
        return Parameter(name, lambda _, word: word)

    def _pointer(self, declaration: str, name: str) -> Parameter:
        lead = pointer_lead(self.name, declaration)
        if (self.name, name) in LEFT_OUT:
            return Parameter(name, lambda _, word: 0)
        if type(lead) is Lead or name.startswith("pScratch"):
            extent = extent_of(self.name, name, self.names)
            return Parameter(name, lambda p, word: p.names.memory.at(word, extent(p)))
        count = self._count(name)

        def encode(passing: Passing, word: int) -> int:
            if word == 0:
                return 0
            return lead.follow(passing, word, None if count is None else count(passing))

        return Parameter(name, encode, lead if lead.written else None, count)

    def _count(self, name: str) -> Callable[[Passing], int] | None:
        _, count = POINTERS.get(self.name, {}).get(name, ("in", ""))
        if not count or count.lstrip("*") not in self.names:
            return None
        place = self.place_of(count.lstrip("*"))
        if not count.startswith("*"):
            return lambda passing: passing.words[place] & 0xFFFFFFFFFFFFFFFF
        declaration = _raw.namespace_of(self.name).functions[self.name].split(", ")[place]
        size = ctypes.sizeof(_raw.c_type(f"{parsed(declaration)['base']} _"))
        return lambda passing: passing.number_at(passing.words[place], size)


def _by_value(base: str) -> Encoder:
    """A struct that is passed as a whole; its word is the address of a copy."""
    lead = struct_lead(base, written=False)
    kind = _raw.namespace_of(base).lookup(base)
    is_shared = base.endswith("_handle_t")

    def encode(passing: Passing, word: int) -> Any:
        place = passing.place(word, lead.size, written=False)
        lead.rename(passing, place, 0)
        data = place.bytes(0, lead.size)
        return kind.from_buffer_copy(passing.names.shared_handle(data) if is_shared else data)

    return encode


@cache
def plan_of(name: str) -> Plan:
    """The plan of a function of the API."""
    return Plan(name)
