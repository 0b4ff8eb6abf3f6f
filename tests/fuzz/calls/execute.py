"""Makes the calls that `generate` describes, and says what is wrong with the answers.

Any result of the API is in order but these: one that the API does not have, an exception of the
driver's Python half, a failure without a sentence, and success with a handle that does not live.
"""

from __future__ import annotations

import ctypes
import os
import random
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from groundstate import _raw, ze, zer
from registry.model import Direction, Function, Parameter
from tests.fuzz.calls.arena import Arena
from tests.fuzz.calls.generate import REGISTRY, Call, Value
from tests.fuzz.calls.model import Model

MODULE = (Path(__file__).parent / "kernels.spv").read_bytes()
RESULTS = frozenset(value for _, value in REGISTRY.enums["ze_result_t"].known)
UNKNOWN_STRUCT = 0x7FFF1234
NOWHERE = 0x3000000000
NO_FILE = 999_999
MOST_ALLOCATED = 1 << 20
"""Larger allocations are left alone by later calls, so that filling them does not fill memory."""

FINE = (ze.ZE_RESULT_SUCCESS, ze.ZE_RESULT_NOT_READY)
QUIET = frozenset(("zeDriverGetLastErrorDescription", "zerGetLastErrorDescription"))
DO_NOTHING = ctypes.cast(ctypes.CDLL(None).getppid, ctypes.c_void_p).value


class Arguments:
    """Turns values into what ctypes passes."""

    def __init__(self, model: Model, arena: Arena) -> None:
        self.model = model
        self.arena = arena
        self.lock = threading.Lock()

    def of(self, function: Function, values: dict[str, Value]) -> list[Any]:
        with self.lock:
            return [self.argument(each, values.get(each.name)) for each in function.parameters]

    def argument(self, parameter: Parameter, value: Value) -> Any:
        kind = parameter.type
        struct = None if kind.is_pointer else REGISTRY.struct_of(kind.base)
        if struct is not None:
            return self.by_value(struct.name, value)
        word = self.word(kind.base, value)
        return word if kind.is_pointer or REGISTRY.kind_of(kind.base) else word or 0

    def by_value(self, name: str, value: Value) -> Any:
        made = _raw.namespace_of(name).lookup(name)
        if value and value[0] == "made":
            filled = self.model.filled[name]
            data = filled[-1 - value[1] % len(filled)] if filled else bytes(ctypes.sizeof(made))
            return made.from_buffer_copy(data)
        address = self.word(name, value)
        return made.from_address(address) if address else made()

    def word(self, base: str, value: Value) -> Any:
        """A number, or the address of what the value describes."""
        if not isinstance(value, list):
            return value
        return getattr(self, f"_{value[0]}")(base, *value[1:])

    # --- Handles and memory -----------------------------------------------------------------------

    def _live(self, base: str, place: int) -> int:
        return self.model.handle(base, place)

    def _dead(self, base: str, place: int) -> int:
        return self.model.dead_handle(base, place)

    def _other(self, base: str, place: int) -> int:
        return self.model.other_handle(base, place)

    def _memory(self, base: str, place: int, offset: int) -> int:
        return self.model.address(place, offset)

    def _freed(self, base: str, place: int, offset: int) -> int:
        return self.model.freed_address(place) + offset

    def _reserved(self, base: str, place: int) -> int:
        return self.model.reserved_address(place)

    def _function(self, base: str) -> int | None:
        return DO_NOTHING

    def _file(self, base: str, kind: str) -> int:
        if kind == "memory":
            return os.memfd_create("fuzz")
        if kind == "event":
            return os.eventfd(0)
        if kind == "pipe":
            return os.pipe()[0]
        return -1 if kind == "none" else NO_FILE

    # --- What lies in the arena -------------------------------------------------------------------

    def _room(self, base: str, size: int) -> int:
        return self.arena.piece(size)

    def _text(self, base: str, text: str) -> int:
        return self.arena.bytes(text.encode("utf-8", "surrogateescape") + b"\0")

    def _bytes(self, base: str, data: str) -> int:
        return self.arena.bytes(bytes.fromhex(data))

    def _array(self, base: str, values: Sequence[Value]) -> int:
        size = 4 if base in ("uint32_t",) or REGISTRY.enum_of(base) else 8
        words = [int(self.word(base, value) or 0) % (1 << 8 * size) for value in values]
        return self.arena.bytes(b"".join(word.to_bytes(size, "little") for word in words))

    def _module(self, base: str) -> int:
        return self.arena.bytes(MODULE)

    def _spoilt(self, base: str, seed: int) -> int:
        chance, data = random.Random(seed), bytearray(MODULE)
        for _ in range(chance.choice((1, 2, 8))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        return self.arena.bytes(bytes(data))

    def _struct(self, base: str, name: str, fields: dict[str, Value]) -> int:
        address = self.arena.piece(REGISTRY.structs[name].size)
        self._fill(address, name, fields)
        return address

    def _structs(self, base: str, values: Sequence[Value]) -> int:
        if not values:
            return self.arena.piece(0)
        size = REGISTRY.structs[values[0][1]].size
        address = self.arena.piece(size * len(values))
        for number, (_, name, fields) in enumerate(values):
            if size * (number + 1) <= self.arena.LARGEST:
                self._fill(address + size * number, name, fields)
        return address

    def _fill(self, address: int, name: str, fields: dict[str, Value]) -> None:
        struct = _raw.namespace_of(name).lookup(name)
        made = struct.from_address(address)
        if hasattr(struct, "_stype_") and "stype" not in fields:
            made.stype = struct._stype_
        types = {field.name: field.type for field in REGISTRY.structs[name].fields}
        for field, value in fields.items():
            if field not in types:
                continue
            offset = getattr(struct, field).offset
            if isinstance(value, list) and value[0] == "inline":
                nested = REGISTRY.struct_of(types[field].base)
                assert nested is not None
                self._fill(address + offset, nested.name, value[1])
            elif field == "pNext":
                made.pNext = self._next(address, value)
            elif types[field].is_pointer:
                pointer = ctypes.c_void_p.from_address(address + offset)
                pointer.value = self.word(types[field].base, value)
            else:
                setattr(made, field, _fitting(self.word(types[field].base, value)))
        if name == "ze_module_desc_t" and fields.get("pInputModule"):
            made.inputSize = len(MODULE)

    def _next(self, start: int, value: Value) -> int | None:
        """Where the chain of a struct goes on."""
        if value == ["loop"]:
            return start
        return self.word("", value) if isinstance(value, list) else value

    def _astray(self, base: str) -> int:
        return NOWHERE

    def _forbidden(self, base: str) -> int:
        """The guard behind a piece of the arena."""
        return self.arena.piece(0)

    def _unknown(self, base: str) -> int:
        """A struct that the API does not have."""
        link = self.arena.piece(64)
        ctypes.c_uint32.from_address(link).value = UNKNOWN_STRUCT
        return link

    def _loop(self, base: str) -> int:
        """One that leads back to itself."""
        link = self._unknown(base)
        ctypes.c_uint64.from_address(link + 8).value = link
        return link


def _fitting(value: Any) -> Any:
    return value if isinstance(value, float) else int(value or 0)


class Run:
    """One run of a sequence of calls, in one thread or several."""

    def __init__(self, model: Model, arena: Arena) -> None:
        self.model = model
        self.arguments = Arguments(model, arena)
        self.wrong: list[str] = []

    def run(self, calls: Sequence[Call], threads: int) -> None:
        if threads == 1:
            self._run(calls, alone=True)
            return
        started = [
            threading.Thread(target=self._run, args=(calls[number::threads], False))
            for number in range(threads)
        ]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()

    def _run(self, calls: Sequence[Call], alone: bool) -> None:
        for name, values in calls:
            self.call(REGISTRY.functions[name], values, alone)

    def call(self, function: Function, values: dict[str, Value], alone: bool) -> None:
        arguments = self.arguments.of(function, values)
        gone = self._dead_handle(function, arguments) if alone else None
        result = getattr(_raw.default_library(), function.name)(*arguments)
        if function.returns == "ze_result_t":
            self._judge(function, result, gone, alone)
            if result in FINE:
                self._learn(function, arguments)

    def _dead_handle(self, function: Function, arguments: Sequence[Any]) -> str | None:
        """The parameter that was given a handle which does not live any more."""
        for parameter, value in zip(function.parameters, arguments, strict=True):
            is_handle = REGISTRY.kind_of(parameter.type.base) and not parameter.type.is_pointer
            if is_handle and value and self.model.is_dead(parameter.type.base, value):
                return parameter.name
        return None

    def _judge(self, function: Function, result: int, gone: str | None, alone: bool) -> None:
        name = function.name
        if result not in RESULTS:
            self.wrong.append(f"{name}: the API has no result {result:#x}")
        elif result == ze.ZE_RESULT_ERROR_UNKNOWN:
            self.wrong.append(f"{name}: {_said()}")
        elif result == ze.ZE_RESULT_SUCCESS and gone:
            self.wrong.append(f"{name}: it worked with {gone}, which was destroyed")
        elif alone and _is_failure(result) and name not in QUIET and not _said():
            self.wrong.append(f"{name}: it failed ({result:#x}) without a sentence")

    # --- What a call has made ---------------------------------------------------------------------

    def _learn(self, function: Function, arguments: Sequence[Any]) -> None:
        given = dict(zip((each.name for each in function.parameters), arguments, strict=True))
        for parameter in function.parameters:
            self._learn_parameter(function, parameter, given)

    def _learn_parameter(
        self, function: Function, parameter: Parameter, given: dict[str, Any]
    ) -> None:
        kind, value = parameter.type, given[parameter.name]
        if not value or isinstance(value, ctypes.Structure):
            return
        if parameter.release and REGISTRY.kind_of(kind.base) and not kind.is_pointer:
            self.model.end(kind.base, value)
        elif function.name in ("zeMemFree", "zeMemFreeExt", "zeMemCloseIpcHandle"):
            if parameter.name == "ptr":
                self.model.free(value)
        elif (
            kind.depth == 1
            and REGISTRY.kind_of(kind.base)
            and parameter.direction is not (Direction.IN)
        ):
            for handle in _words(value, _length(function, parameter, given)):
                if handle:
                    self.model.add(kind.base, handle)
        elif parameter.name == "pptr" and kind.depth == 2:
            self._learn_memory(function, value, given)
        elif kind.depth == 1 and kind.base.startswith("ze_ipc_"):
            with self.model.lock:
                self.model.filled[kind.base].append(ctypes.string_at(value, 64))

    def _learn_memory(self, function: Function, value: int, given: dict[str, Any]) -> None:
        address = _words(value, 1)[0]
        if function.name == "zeVirtualMemReserve":
            with self.model.lock:
                self.model.reserved.append(address)
        size = given.get("size", 64)
        if address and "Alloc" in function.name and size <= MOST_ALLOCATED:
            self.model.allocated(address, size)


def _length(function: Function, parameter: Parameter, given: dict[str, Any]) -> int:
    """How many handles were returned."""
    if not parameter.count:
        return 1
    name = parameter.count.lstrip("*")
    count = next(each for each in function.parameters if each.name == name)
    if not count.type.is_pointer:
        return min(int(given[name]), 64)
    return min(ctypes.c_uint32.from_address(given[name]).value, 64) if given[name] else 0


def _words(address: int, count: int) -> list[int]:
    return list((ctypes.c_uint64 * count).from_address(address))


def _is_failure(result: int) -> bool:
    return result >= 0x70000000


def _said() -> str:
    """The driver's sentence about the last call that failed in this thread."""
    text = ctypes.c_char_p()
    zer.zerGetLastErrorDescription(ctypes.byref(text))
    return (text.value or b"").decode("utf-8", "replace")
