"""What the race checker is told of texels: native/check/races.c.

A texel is its bytes in the memory of the image, so that images that share memory, and pointers into
it, are compared as all other accesses are.
"""

from __future__ import annotations

from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.images.operations import _Access, _kind, _parts
from groundstate.compiler.codegen.images.sampling import NOWHERE, accessed, sampled
from groundstate.compiler.codegen.images.texel_writes import encode
from groundstate.compiler.codegen.images.views import View
from groundstate.compiler.codegen.memory.races import (
    BYTES_SHIFT,
    COMPONENT_SHIFT,
    LANES_SHIFT,
    active_bits,
    checker_function,
    first_item,
    numbers,
    signed,
    tell_if_told,
)
from groundstate.compiler.codegen.routines import Results, call_routine, splat
from groundstate.compiler.ir import Node
from groundstate.compiler.math.vec import Vec, lanes
from groundstate.compiler.spirv.types import Sampler
from groundstate.native_layouts import (
    ACCESS_ONE_VALUE,
    ACCESS_SCATTERED,
    ACCESS_WATCHED,
    ACCESS_WRITES,
)

WORDS = 4
"""Of a texel, at most."""
WORD_BYTES = 4


@handles("TellImage")
def _tell_image(emitter: Emitter, node: Node) -> None:
    tell_if_told(emitter, node, lambda is_watched: _tell(emitter, node, is_watched))


def _tell(emitter: Emitter, node: Node, is_watched: str) -> None:
    text, access = emitter.text, _Access(emitter, node)
    place = access.place(node.operands[1])
    written = _written(emitter, node, access)
    samplers = [each for each in node.operands[2:] if isinstance(each.type, Sampler)]
    mixes = bool(node.literals[2])

    def of_image(mask: Vec, view: Vec, sampler: Vec | None = None) -> Results:
        words = _words(view, written) if written else []
        if sampler is None:
            found = [accessed(access.shape, view, place)]
        else:
            flags = Vec(text, "i64", text.emit(f"ptrtoint ptr {sampler.name} to i64"))
            corners = 1 << access.shape.axes if mixes else 1
            found = [
                sampled(access.shape, view, flags, place, corner, mixes)
                for corner in range(corners)
            ]
        for offsets in found:
            _call(emitter, node, is_watched, View(view), offsets, mask, words)
        return ()

    access.with_handles([node.operands[0], *samplers], of_image)


def _written(emitter: Emitter, node: Node, access: _Access) -> list[Vec]:
    """The four channels that are written; none if it is a read."""
    if not numbers(node, 1)[0] & ACCESS_WRITES:
        return []
    value = node.operands[2]
    texel = [access.vec(part) for part in _parts(emitter.get(value))]
    is_float = _kind(value.type) == "float"
    texel = [each.to_float("float") if is_float else each.to_int(32) for each in texel]
    return texel + [texel[0].constant(0)] * (WORDS - len(texel))


def _words(view: Vec, texel: list[Vec]) -> list[Vec]:
    """The words of a texel as they will lie in memory."""

    def write(pointer: Vec, *channels: Vec) -> Results:
        return tuple(encode(View(pointer), list(channels)))

    return list(call_routine("image.words", write, view, *texel))


def _call(
    emitter: Emitter,
    node: Node,
    is_watched: str,
    view: View,
    offsets: Vec,
    mask: Vec,
    words: list[Vec],
) -> None:
    """Tells of the lanes of a mask whose texels are there."""
    text, is_vector = emitter.text, offsets.t != "i64"
    site, flags = numbers(node, 0, 1)
    info = site | flags | emitter.width << LANES_SHIFT
    info |= ACCESS_SCATTERED if is_vector else ACCESS_ONE_VALUE * bool(words)
    info |= WORD_BYTES << COMPONENT_SHIFT if words else 0
    told = str(signed(info | ACCESS_WATCHED))
    if is_watched:
        told = text.emit(f"select i1 {is_watched}, i64 {told}, i64 {signed(info)}")
    size = view.get("texel_bytes").zero_extend(64) << BYTES_SHIFT
    told = text.emit(f"or i64 {told}, {size.name}")
    base, active = _lanes(emitter, view, offsets, mask)
    text.do(
        f"call void {checker_function(emitter, 'access')}(i64 {base}, i64 0, "
        f"i64 {active}, i64 {first_item(emitter)}, i64 {told}, ptr {_spilled(emitter, words)})"
    )


def _lanes(emitter: Emitter, view: View, offsets: Vec, mask: Vec) -> tuple[str, str]:
    """Where the addresses of texels lie, or the one that all lanes have; and the lanes that do."""
    text, reached = emitter.text, offsets.differs(NOWHERE)
    texels = Vec(text, "i64", text.emit(f"ptrtoint ptr {view.get('texels').name} to i64"))
    addresses = offsets + splat(texels, offsets.t)
    if not lanes(offsets.t):
        return addresses.name, reached.choose(Vec(text, "i64", active_bits(emitter)), 0).name
    room = emitter.new_slot(addresses.t, "texel")
    text.do(f"store {addresses.t} {addresses.name}, ptr {room}")
    there = (reached.to_int(32) & mask).differs(0)
    narrow = f"i{emitter.width}"
    bits = Vec(text, narrow, text.emit(f"bitcast {there.t} {there.name} to {narrow}"))
    base = text.emit(f"ptrtoint ptr {room} to i64")
    return base, bits.name if emitter.width == 64 else bits.zero_extend(64).name


def _spilled(emitter: Emitter, words: list[Vec]) -> str:
    """Where the words of texels lie in memory: the first ones of all lanes, and so on."""
    if not words:
        return "null"
    text, step = emitter.text, WORD_BYTES * (lanes(words[0].t) or 1)
    room = emitter.new_slot(f"[{len(words) * step} x i8]", "words")
    for index, word in enumerate(words):
        place = text.emit(f"getelementptr i8, ptr {room}, i64 {index * step}")
        text.do(f"store {word.t} {word.name}, ptr {place}, align 1")
    return room
