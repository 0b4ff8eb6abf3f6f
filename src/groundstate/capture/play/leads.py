"""How to follow a pointer: what it leads to is put into our memory, with present names inside.

A lead is made once from a declaration of the API. Following it never takes a size or an address
from a recording without checking it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from groundstate import _raw
from groundstate.capture.play.arena import Place
from groundstate.capture.play.errors import UnplayableError
from groundstate.capture.play.passing import Passing
from groundstate.capture.pointers import POINTERS

WORD = 8
LINKS = 64
COUNTED = 4
ARGUMENTS = 1024
ARGUMENT = 4096
STYPE = 4
IMPORT_OF_MEMORY = "ze_external_memmap_sysmem_ext_desc_t"
NEXT = 8
"""Where `pNext` is in every struct of a chain."""

Count = Callable[[Passing, bytes], int]
"""How many elements there are, read from the recorded struct that has the pointer."""


class Lead:
    """What a pointer leads to; the base class is for those that are only addresses."""

    written = False

    def follow(self, passing: Passing, address: int, count: int | None) -> int:
        """The present address for a recorded one that is not null."""
        return passing.names.memory.known(address) or 0

    def learn(self, passing: Passing, address: int, present: int | None = None) -> None:
        """Takes over the names in what was answered; at most `present` elements were."""


class Bytes(Lead):
    """Plain bytes in a number that is known, or a string."""

    def __init__(self, size: int, *, written: bool) -> None:
        self.size = size
        self.written = written

    def follow(self, passing: Passing, address: int, count: int | None) -> int:
        least = self.size * (1 if count is None else count)
        return passing.place(address, least, written=self.written).address


class ProgramMemory(Lead):
    """Memory of the program that becomes an allocation, all of it."""

    def follow(self, passing: Passing, address: int, count: int | None) -> int:
        return passing.names.memory.at(address, count or 0)


class Argument(Lead):
    """The value of a kernel's argument."""

    def follow(self, passing: Passing, address: int, count: int | None) -> int:
        place = passing.place(address, count or 0, written=False)
        data = place.bytes()
        value = passing.names.argument(data[:count]) if count else data
        place.memory[place.offset : place.offset + len(value)] = value
        return place.address


class Pointers(Lead):
    """Pointers in a row, each to recorded bytes, or an address."""

    def __init__(self, element: Lead | None, *, written: bool) -> None:
        self.element = element
        self.written = written

    def follow(self, passing: Passing, address: int, count: int | None) -> int:
        number = 1 if count is None else count
        place = passing.place(address, WORD * number, written=self.written)
        if not self.written:
            for at in range(0, WORD * number, WORD):
                place.set_word(at, self._one(passing, place.word(at)))
        return place.address

    def _one(self, passing: Passing, address: int) -> int:
        if address == 0:
            return 0
        if passing.before(address) is None:
            return passing.names.memory.known(address) or 0
        if self.element is not None:
            return self.element.follow(passing, address, None)
        return passing.place(address, 0, written=False).address


class Arguments(Lead):
    """Pointers to all arguments of a kernel, of which only the kernel knows how many there are."""

    def follow(self, passing: Passing, address: int, count: int | None) -> int:
        recorded = len(passing.before(address) or b"") // WORD
        if not recorded:
            raise UnplayableError("the arguments of its kernel were not recorded")
        place = passing.place(address, WORD * max(recorded, ARGUMENTS), written=True)
        for at in range(0, WORD * recorded, WORD):
            place.set_word(at, self._one(passing, place.word(at)))
        return place.address

    def _one(self, passing: Passing, address: int) -> int:
        data = passing.before(address) if address else None
        if data is None:
            return 0
        # The kernel decides how much it reads; there is room for as much as any argument has.
        place = passing.place(address, max(ARGUMENT, len(data)), written=True)
        value = passing.names.argument(data)
        if len(data) > WORD and value == data:
            value = passing.names.argument(data[:WORD]) + data[WORD:]
        place.memory[place.offset : place.offset + len(value)] = value
        return place.address


@dataclass(frozen=True)
class Change:
    """Something in a struct that has another name now: a handle, a pointer, a file, a command."""

    offset: int
    kind: str
    lead: Lead | None = None
    count: Count | None = None


class Structs(Lead):
    """Structs or handles in a row."""

    def __init__(
        self, size: int, changes: tuple[Change, ...], chained: str | None, *, written: bool
    ) -> None:
        self.size = size
        self.changes = changes
        self.chained = chained
        self.written = written

    def follow(self, passing: Passing, address: int, count: int | None) -> int:
        number = 1 if count is None else count
        place = passing.place(address, self.size * number, written=self.written)
        # Behind what was recorded there are zeros, which have no names in them.
        recorded = len(passing.before(address) or b"")
        for begin in range(0, min(self.size * number, recorded), self.size):
            self.rename(passing, place, begin)
            if self.chained is not None:
                following = follow_chain(passing, place.word(begin + NEXT), self.chained)
                place.set_word(begin + NEXT, following)
        return place.address

    def rename(self, passing: Passing, place: Place, begin: int) -> None:
        """Puts present names into one struct, except that of the next in its chain."""
        struct = place.bytes(begin, begin + self.size)
        for change in self.changes:
            at = begin + change.offset
            if change.kind == "handle":
                place.set_word(at, passing.names.handle(place.word(at)))
            elif change.kind == "pointer":
                place.set_word(at, self._pointer(passing, change, place.word(at), struct))
            elif change.kind == "descriptor":
                place.set_number(at, 4, passing.names.descriptors.present(place.number(at, 4)))
            elif change.kind in ("imported", "counter"):
                place.set_number(
                    at,
                    4,
                    passing.names.descriptors.imported(
                        place.number(at, 4), counts=change.kind == "counter"
                    ),
                )
            elif change.kind == "command":
                key = (passing.words[0] if passing.words else 0, place.word(at))
                place.set_word(at, passing.names.commands.get(key, key[1]))
            else:
                place.set_word(at, passing.names.callback if place.word(at) else 0)

    def _pointer(self, passing: Passing, change: Change, address: int, struct: bytes) -> int:
        if address == 0 or change.lead is None:
            return 0
        count = None if change.count is None else change.count(passing, struct)
        return change.lead.follow(passing, address, count)

    def learn(self, passing: Passing, address: int, present: int | None = None) -> None:
        recorded = passing.after(address)
        place = passing.placed.get(address)
        if place is None:
            return
        number = min(len(recorded), place.size) // self.size
        number = number if present is None else min(number, present)
        for begin in range(0, number * self.size, self.size):
            self._learn_one(passing, recorded, place, begin)
            if self.chained is not None:
                following = int.from_bytes(recorded[begin + NEXT : begin + NEXT + WORD], "little")
                learn_chain(passing, following, self.chained)

    def learn_alone(self, passing: Passing, address: int) -> None:
        """Takes over the names in one struct, whose chain somebody else follows."""
        recorded, place = passing.after(address), passing.placed.get(address)
        if place is not None and min(len(recorded), place.size) >= self.size:
            self._learn_one(passing, recorded, place, 0)

    def _learn_one(self, passing: Passing, recorded: bytes, place: Place, begin: int) -> None:
        for change in self.changes:
            at = begin + change.offset
            if change.kind == "handle":
                word = int.from_bytes(recorded[at : at + WORD], "little")
                passing.names.learn(word, place.word(at))
            elif change.kind == "descriptor":
                number = int.from_bytes(recorded[at : at + 4], "little")
                passing.names.descriptors.learn(number, place.number(at, 4))


# --- Chains ---------------------------------------------------------------------------------------


def follow_chain(passing: Passing, address: int, namespace: str) -> int:
    """Puts the structs of a `pNext` chain into our memory; those of unknown types are left out."""
    first, slot = 0, None
    for _ in range(LINKS):
        data = passing.before(address) if address else None
        if data is None or address in passing.placed:
            break
        lead = struct_of_stype(namespace, int.from_bytes(data[:STYPE], "little"))
        if lead is None or len(data) < lead.size:
            passing.names.note(f"a struct of an unknown type was left out of {passing.what}")
        else:
            place = passing.place(address, lead.size, written=True)
            lead.rename(passing, place, 0)
            place.set_word(NEXT, 0)
            if slot is None:
                first = place.address
            else:
                slot.set_word(NEXT, place.address)
            slot = place
        address = int.from_bytes(data[NEXT : NEXT + WORD], "little")
    return first


def learn_chain(passing: Passing, address: int, namespace: str) -> None:
    """Takes over the names in the answered structs of a chain."""
    for _ in range(LINKS):
        data = passing.after(address) if address else b""
        lead = struct_of_stype(namespace, int.from_bytes(data[:STYPE], "little")) if data else None
        if lead is None:
            return
        lead.learn_alone(passing, address)
        address = int.from_bytes(data[NEXT : NEXT + WORD], "little")


class Chain(Lead):
    """A parameter that is a chain by itself."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace

    def follow(self, passing: Passing, address: int, count: int | None) -> int:
        return follow_chain(passing, address, self.namespace)

    def learn(self, passing: Passing, address: int, present: int | None = None) -> None:
        learn_chain(passing, address, self.namespace)


# --- Making leads from declarations ---------------------------------------------------------------


@cache
def struct_of_stype(namespace: str, stype: int) -> Structs | None:
    """How to follow the struct that a `stype` stands for."""
    for name, (found, *_) in _raw.namespace_of(namespace + "_").structs.items():
        if found == stype:
            return struct_lead(name, written=True)
    return None


@cache
def struct_lead(name: str, *, written: bool) -> Structs:
    """How to follow pointers to a struct of the API."""
    kind = _raw.namespace_of(name).lookup(name)
    stype = _raw.namespace_of(name).structs[name][0]
    chained = name.split("_")[0] if hasattr(kind, "pNext") and stype != "union" else None
    changes = tuple(_changes(name, 0)) if stype != "union" else ()
    return Structs(ctypes.sizeof(kind), changes, chained, written=written)


def _changes(name: str, base: int) -> Iterator[Change]:
    namespace = _raw.namespace_of(name)
    kind = namespace.lookup(name)
    for declaration in namespace.structs[name][1:]:
        match = parsed(declaration)
        offset = base + getattr(kind, match["name"]).offset
        if match["stars"]:
            if match["name"] != "pNext":
                lead, count = pointer_lead(name, declaration), struct_count(name, match["name"])
                yield Change(offset, "pointer", lead, count)
        elif is_handle(match["base"]):
            yield Change(offset, "handle")
        elif is_callback(match["base"]):
            yield Change(offset, "callback")
        elif match["name"] == "fd" and match["base"] == "int":
            yield Change(offset, _descriptor_kind(name))
        elif match["name"] == "commandId":
            yield Change(offset, "command")
        elif is_struct(match["base"]) and not match["length"]:
            yield from _changes(match["base"], offset)


def _descriptor_kind(struct: str) -> str:
    """Which way a struct hands on the number of a file."""
    if "semaphore" in struct:
        return "counter"
    return "imported" if "import" in struct else "descriptor"


def pointer_lead(owner: str, declaration: str) -> Lead:
    """How to follow a pointer of a function or struct."""
    match = parsed(declaration)
    base, depth, name = match["base"], len(match["stars"]), match["name"]
    direction, count = POINTERS.get(owner, {}).get(name, ("in", ""))
    written = direction in ("out", "inout")
    if name == "pNext":
        return Chain(owner_namespace(owner))
    if owner == IMPORT_OF_MEMORY:
        return ProgramMemory()
    if direction == "device" or (base == "void" and depth == 1 and not count):
        return Lead()
    if name == "pArgValue":
        return Argument()
    if name == "pArguments":
        return Arguments()
    if depth > 1:
        inner = struct_lead(base, written=False) if is_struct(base) and depth == 2 else None
        return Pointers(inner, written=written)
    if is_handle(base):
        return Structs(WORD, (Change(0, "handle"),), None, written=written)
    if is_struct(base):
        return struct_lead(base, written=written)
    if base == "char" and not count:
        return Bytes(0, written=False)
    size = 1 if base == "void" else ctypes.sizeof(_raw.c_type(f"{base} _"))
    return Bytes(size, written=written)


def struct_count(owner: str, name: str) -> Count | None:
    """How many elements the pointer in a struct leads to, if another field says so."""
    _, count = POINTERS.get(owner, {}).get(name, ("in", ""))
    if owner == IMPORT_OF_MEMORY:
        count = "size"
    if owner == "ze_event_query_kernel_timestamps_results_ext_properties_t":
        # The number stands beside the pointer to this struct, in the call of the only function.
        return lambda passing, struct: passing.number_at(passing.words[2], COUNTED)
    field = getattr(_raw.namespace_of(owner).lookup(owner), count.lstrip("*"), None)
    if not count or field is None:
        return None
    begin, end = field.offset, field.offset + field.size
    if not count.startswith("*"):
        return lambda passing, struct: int.from_bytes(struct[begin:end], "little")
    return lambda passing, struct: passing.number_at(
        int.from_bytes(struct[begin:end], "little"), COUNTED
    )


def parsed(declaration: str) -> dict[str, str]:
    """The parts of a C declaration."""
    match = _raw.parse(declaration)
    assert match is not None, declaration
    return match.groupdict()


def is_handle(base: str) -> bool:
    """Whether a type is a handle; those of IPC are structs."""
    return base.endswith("_handle_t") and base not in _raw.namespace_of(base).structs


def is_callback(base: str) -> bool:
    """Whether a type is a pointer to a function of the program."""
    return base in _raw.namespace_of(base).callbacks


def is_struct(base: str) -> bool:
    """Whether a type is a struct or union, also by another name."""
    return base not in _raw.PLAIN_TYPES and base in _raw.namespace_of(base).structs


def owner_namespace(owner: str) -> str:
    """The namespace of a function or struct: "zes" for "zesDeviceGet"."""
    return next(name for name in ("zes", "zet", "zer", "ze") if owner.startswith(name))
