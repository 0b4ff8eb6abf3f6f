"""Finds every handle and every address that a call was given or gave back.

The declarations of functions and structs say where they are; what kernel arguments hold is not
declared, so each word of theirs that could be one is listed, and whoever knows what was alive then
tells which are.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from groundstate import _raw
from groundstate.capture.describe import NamedCall, parsed
from groundstate.capture.stream import Block
from groundstate.capture.stream.formats import Form, Phase

POINTER = "pointer"
WORD = "word"
DESCRIPTOR = "file descriptor"
MOST_WORDS = 512
DEEPEST = 8
LONGEST_CHAIN = 64


@dataclass(frozen=True)
class Reference:
    """A handle (`kind` is its type), an address, or a word of a kernel argument.

    Handles for other processes and file descriptors count as handles: they are made, too, and
    something else is made of them.
    """

    kind: str
    value: int
    given_back: bool = False  # by the call, rather than given to it

    @property
    def is_handle(self) -> bool:
        return self.kind not in (POINTER, WORD)


class _Place:
    """A parameter or field that can hold or lead to references."""

    def __init__(self, declaration: str, offset: int) -> None:
        match = parsed(declaration)
        self.offset = offset
        self.base = match["base"]
        self.stars = len(match["stars"])
        self.length = int(match["length"] or 1)
        self.is_handle = is_handle_type(self.base)
        self.is_shared = is_shared_type(self.base)
        self.is_descriptor = match["name"] == "fd" and self.base == "int"
        self.struct = self.base if _struct_size(self.base) else None

    @property
    def leads(self) -> bool:
        """Whether there can be references here at all."""
        return bool(self.stars or self.is_handle or self.is_descriptor or self.struct is not None)


@lru_cache(maxsize=4096)
def is_handle_type(base: str) -> bool:
    """Whether values of a type are handles; handles for other processes are bytes."""
    return base.endswith("_handle_t") and base not in _raw.namespace_of(base).structs


def is_shared_type(base: str) -> bool:
    """Whether values of a type are handles for other processes."""
    return base.startswith("ze_ipc_") and base.endswith("_handle_t")


class _Walk:
    """One walk through a call's arguments and the blocks they lead to."""

    def __init__(self, call: NamedCall) -> None:
        self.name = call.name
        self.blocks: dict[tuple[int, int], Block] = {}
        for block in call.call.blocks:
            if block.form == Form.BYTES:
                self.blocks.setdefault((block.address, block.phase), block)

    def value(self, place: _Place, word: int, depth: int) -> Iterator[Reference]:
        """What a parameter or a field holds."""
        if place.stars:
            yield from self.led_to(place, word, depth)
        elif place.is_handle and word:
            yield Reference(place.base, word)

    def led_to(self, place: _Place, address: int, depth: int) -> Iterator[Reference]:
        """What a pointer is, and what it leads to before and after the call."""
        if not address or depth > DEEPEST:
            return
        if place.base != "char":
            yield Reference(POINTER, address)
        before = self.blocks.get((address, Phase.BEFORE))
        after = self.blocks.get((address, Phase.AFTER))
        if place.stars > 1:
            yield from self._pointers(before, after)
        elif place.is_handle:
            yield from (Reference(place.base, value) for value in _words(before))
            known = set(_words(before))
            gained = (value for value in _words(after) if value not in known)
            yield from (Reference(place.base, value, True) for value in gained)
        elif place.is_shared:
            yield from _shared(place.base, before, given_back=False)
            yield from _shared(place.base, after, given_back=True)
        elif place.struct is not None:
            yield from self.structs(place.struct, before, depth + 1)
            yield from self._descriptors(place.struct, after)
        elif place.base == "void":
            yield from self.untyped(before, depth)

    def _pointers(self, before: Block | None, after: Block | None) -> Iterator[Reference]:
        for value in _words(before):
            yield Reference(POINTER, value)
            yield from _contents(self.blocks.get((value, Phase.BEFORE)))
        yield from (Reference(POINTER, value, True) for value in _words(after))

    def untyped(self, block: Block | None, depth: int) -> Iterator[Reference]:
        """A chain of structs, or the value of a kernel argument: only its words are known."""
        if block is None:
            return
        kind = _struct_of_stype(self.name, int.from_bytes(block.data[:4], "little"))
        if kind is not None and block.size >= _struct_size(kind):
            yield from self.structs(kind, block, depth + 1)
        yield from _contents(block)

    def structs(self, kind: str, block: Block | None, depth: int) -> Iterator[Reference]:
        size = _struct_size(kind)
        if block is None or not _leads_on(kind) or depth > DEEPEST:
            return
        for start in range(0, block.size - size + 1, size):
            yield from self._fields(kind, block.data, start, depth)
        for link_kind, link in self._chain(kind, block, Phase.BEFORE):
            yield from self._fields(link_kind, link.data, 0, depth)

    def _descriptors(self, kind: str, block: Block | None) -> Iterator[Reference]:
        """The files that a call gave back in the chain of a struct."""
        if block is None:
            return
        for link_kind, link in self._chain(kind, block, Phase.AFTER):
            for place in _struct_places(link_kind):
                if place.is_descriptor and "export" in link_kind:
                    yield _descriptor(link.data, place.offset, given_back=True)

    def _chain(self, kind: str, block: Block, phase: Phase) -> Iterator[tuple[str, Block]]:
        """The structs behind a struct, each found through its `pNext`."""
        for _ in range(LONGEST_CHAIN):
            place = _next_place(kind)
            if place is None or block.size < place + 8:
                return
            (address,) = struct.unpack_from("<Q", block.data, place)
            following = self.blocks.get((address, phase)) if address else None
            if following is None:
                return
            found = _struct_of_stype(kind, int.from_bytes(following.data[:4], "little"))
            if found is None or following.size < _struct_size(found):
                return
            kind, block = found, following
            yield kind, block

    def _fields(self, kind: str, data: bytes, start: int, depth: int) -> Iterator[Reference]:
        for place in _struct_places(kind):
            at = start + place.offset
            if place.stars or place.is_handle:
                for index in range(place.length):
                    (word,) = struct.unpack_from("<Q", data, at + 8 * index)
                    yield from self.value(place, word, depth)
            elif place.is_descriptor and "import" in kind:
                yield _descriptor(data, at, given_back=False)
            elif place.struct is not None and depth < DEEPEST:
                size = _struct_size(place.struct)
                for index in range(place.length):
                    yield from self._fields(place.struct, data, at + size * index, depth + 1)


def references(call: NamedCall) -> Iterator[Reference]:
    """The handles and addresses of a call, in the order of its parameters."""
    walk = _Walk(call)
    for place, word in zip(_parameters(call.name), call.call.arguments, strict=False):
        if not word or not place.leads:
            continue
        if place.is_shared and not place.stars:
            yield from _shared(place.base, walk.blocks.get((word, Phase.BEFORE)), given_back=False)
        elif place.struct is not None and not place.stars:
            yield from walk.structs(place.struct, walk.blocks.get((word, Phase.BEFORE)), 1)
        else:
            yield from walk.value(place, word, 0)
    if is_handle_type(call.returns) and call.call.result:
        yield Reference(call.returns, call.call.result, True)


def _shared(base: str, block: Block | None, *, given_back: bool) -> Iterator[Reference]:
    """A handle for other processes: its bytes as one number."""
    if block is not None and any(block.data):
        yield Reference(base, int.from_bytes(block.data, "little"), given_back)


def _descriptor(data: bytes, offset: int, *, given_back: bool) -> Reference:
    (number,) = struct.unpack_from("<i", data, offset)
    return Reference(DESCRIPTOR, number, given_back)


def _words(block: Block | None) -> tuple[int, ...]:
    if block is None:
        return ()
    words = struct.unpack_from(f"<{len(block.data) // 8}Q", block.data)
    return tuple(word for word in words if word)


def _contents(block: Block | None) -> Iterator[Reference]:
    """The words of a kernel argument that could be handles or addresses."""
    if block is not None and block.size % 8 == 0:
        yield from (Reference(WORD, value) for value in _words(block)[:MOST_WORDS])


@lru_cache(maxsize=4096)
def _parameters(function: str) -> tuple[_Place, ...]:
    declaration = _raw.namespace_of(function).functions.get(function, "")
    parameters = declaration.partition(" -> ")[0]
    return tuple(_Place(text, 0) for text in parameters.split(", ") if text)


@cache
def _struct_places(kind: str) -> tuple[_Place, ...]:
    """The fields of a struct that matter, with their offsets."""
    made = _raw.namespace_of(kind).lookup(kind)
    declarations = _raw.namespace_of(kind).structs[kind][1:]
    pairs = zip(declarations, made._fields_, strict=True)
    fields = [
        _Place(declaration, getattr(made, name).offset)
        for declaration, (name, *_) in pairs
        if name != "pNext"
    ]
    return tuple(place for place in fields if place.leads)


@cache
def _leads_on(kind: str) -> bool:
    """Whether a struct has or leads to anything."""
    return bool(_struct_places(kind)) or _next_place(kind) is not None


@cache
def _struct_size(base: str) -> int:
    """The size of a struct, or 0 for a type that is none."""
    namespace = _raw.namespace_of(base)
    return ctypes.sizeof(namespace.lookup(base)) if base in namespace.structs else 0


@cache
def _next_place(kind: str) -> int | None:
    made = _raw.namespace_of(kind).lookup(kind)
    field = getattr(made, "pNext", None)
    return None if field is None else int(field.offset)


@lru_cache(maxsize=4096)
def _struct_of_stype(owner: str, stype: int) -> str | None:
    """The struct that a stype stands for in the namespace of a function or struct."""
    for name, (found, *_) in _raw.namespace_of(owner).structs.items():
        if found == stype and found != "union":
            return name
    return None
