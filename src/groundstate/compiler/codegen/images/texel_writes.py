"""Texels as kernels write them: four channels to the bits of a texel, and those to memory.

Numbers that a channel cannot hold become the nearest that it can; all are rounded to the nearest,
ties to even. What lies outside of an image is not written.
"""

from __future__ import annotations

from groundstate.compiler.codegen.images.byte_texels import encode_bytes, is_written
from groundstate.compiler.codegen.images.sampling import Shape, whole_place
from groundstate.compiler.codegen.images.texels import ALPHA, addresses_at
from groundstate.compiler.codegen.images.views import (
    FLOAT,
    HALF,
    SINT,
    SMALL_FLOAT,
    SNORM,
    WRITING,
    Channel,
    View,
)
from groundstate.compiler.codegen.routines import (
    Branch,
    Results,
    at_least,
    at_most,
    by_case,
    call_routine,
    each_lane,
    either,
    splat,
)
from groundstate.compiler.math.functions import Body, call
from groundstate.compiler.math.vec import Vec, element, lanes

SMALLEST_NORMAL = 2.0**-14
"""Of floats with five bits of exponent."""
REBIAS = 127 - 15


def write(shape: Shape, view: Vec, place: list[Vec], texel: list[Vec], mask: Vec) -> None:
    """Writes the texels of the lanes in a mask."""
    kind = element(texel[0].t)

    def body(pointer: Vec, active: Vec, *given: Vec) -> Results:
        inner = View(pointer)
        at = [each.freeze() for each in given[: shape.coordinates]]
        values = [each.freeze() for each in given[shape.coordinates :]]
        offsets, inside = whole_place(shape, inner, at)
        reached = (inside & active).differs(0)
        row = _is_row(at, reached)

        def general() -> Results:
            words = encode(inner, values)
            if row is None:
                store_words(inner, offsets, words, reached)
            else:
                _store_row_or_lanes(inner, offsets, words, reached, row)
            return ()

        def bytes_in_row() -> Results:
            return _store_vector(inner, offsets, encode_bytes(inner, values))

        if row is None or kind != "float":
            return general()
        return either(row & is_written(inner), bytes_in_row, general)

    call_routine(f"image.write.{shape}.{kind}", body, view, mask, *place, *texel)


# --- Bits -----------------------------------------------------------------------------------------


def encode(view: View, texel: list[Vec]) -> list[Vec]:
    """The four words of texels."""
    channels = [view.channel(WRITING, number) for number in range(4)]
    sources = [_source(channel, texel) for channel in channels]
    if element(texel[0].t) == "float":
        bits = _from_floats(view, sources, channels)
    else:
        bits = _from_ints(view, sources, channels)
    zero = bits[0].constant(0)
    words = [zero] * 4
    for each, channel in zip(bits, channels, strict=True):
        used = (channel.source < 4).choose(each, zero)
        placed = used << splat(channel.shift & 31, zero.t)
        words = [
            word | channel.word.equals(number).choose(placed, zero)
            for number, word in enumerate(words)
        ]
    return words


def _source(channel: Channel, texel: list[Vec]) -> Vec:
    """Which of r, g, b and a goes into a channel."""
    found = texel[0]
    for number in (1, 2, 3):
        found = channel.source.equals(number).choose(texel[number], found)
    return found


def _from_ints(view: View, values: list[Vec], channels: list[Channel]) -> Results:
    def signed() -> Results:
        results = []
        for value, channel in zip(values, channels, strict=True):
            most = splat(channel.mask() >> 1, value.t)
            fits = value.call("smin", most).call("smax", ~most)
            results.append(fits & splat(channel.mask(), value.t))
        return tuple(results)

    def unsigned() -> Results:
        return tuple(
            value.call("umin", splat(channel.mask(), value.t))
            for value, channel in zip(values, channels, strict=True)
        )

    return either(view.get("kind").equals(SINT), signed, unsigned)


def _from_floats(view: View, values: list[Vec], channels: list[Channel]) -> Results:
    def as_stored() -> Results:
        return tuple(value.bits() for value in values)

    def converted() -> Results:
        return tuple(
            call_routine("image.encode", _encode_float, view.pointer, channel.packed, value)[0]
            for value, channel in zip(values, channels, strict=True)
        )

    return either(view.get("kind").equals(FLOAT), as_stored, converted)


def _encode_float(pointer: Vec, packed: Vec, value: Vec) -> Results:
    """The bits of one channel of a kind that is not float."""
    view, channel = View(pointer), Channel(packed)

    def normalized() -> Results:
        is_curved = view.get("is_srgb").differs(0) & channel.source.differs(ALPHA)
        (number,) = either(is_curved, lambda: (_to_srgb(value),), lambda: (value,))
        return (_share(number, channel),)

    def signed() -> Results:
        number = value.is_nan().choose(0.0, at_most(at_least(value, -1.0), 1.0))
        most = splat(_to_float(channel.mask() >> 1), value.t)
        whole = (number * most).rint().to_int(32)
        return (whole & splat(channel.mask(), whole.t),)

    def half() -> Results:
        return (value.to_float("half").bits().zero_extend(32),)

    def small() -> Results:
        return either(
            channel.bits.equals(2),
            lambda: (_share(value, channel),),
            lambda: (_small_float(value, channel),),
        )

    cases = {SNORM: signed, HALF: half, SMALL_FLOAT: small}
    return by_case(view.get("kind"), cases, normalized)


def _share(value: Vec, channel: Channel) -> Vec:
    """A number from 0 to 1 as a part of the largest that the channel holds."""
    number = at_most(at_least(value, 0.0), 1.0)
    return (number * splat(_to_float(channel.mask()), value.t)).rint().to_unsigned(32)


def _to_float(mask: Vec) -> Vec:
    return Vec(mask.text, "float", mask.text.emit(f"uitofp i32 {mask.name} to float"))


def _to_srgb(value: Vec) -> Vec:
    """The sRGB curve."""
    light = at_most(at_least(value, 0.0), 1.0)
    curve = 1.055 * call("powr", light, light.constant(1 / 2.4)) - 0.055
    return (light < 0.0031308).choose(12.92 * light, curve)


def _small_float(value: Vec, channel: Channel) -> Vec:
    """The bits of floats without a sign, with five bits of exponent: negative numbers are zero.

    A NaN keeps the first bits of its fraction, so that reading and writing changes none.
    """
    digits = (channel.bits - 5) & 31
    fraction = splat(digits, value.t)
    most = fraction.constant(31) << fraction
    positive = at_least(value, 0.0)
    bits = positive.bits()
    cut = 23 - fraction
    half_way = (fraction.constant(1) << (cut - 1)) - 1
    rounded = (bits + half_way + ((bits >> cut) & 1)) >> cut
    normal = (rounded - (fraction.constant(REBIAS) << fraction)).call("umin", most)
    scale = (digits.constant(127 + 14) + digits) << 23
    tiny = positive * splat(scale.as_float(), value.t)
    result = (positive < SMALLEST_NORMAL).choose(tiny.rint().to_int(32), normal)
    quiet = fraction.constant(1) << (fraction - 1)
    kept = ((value.bits() >> cut) & (most | (quiet - 1))) | quiet
    return value.is_nan().choose(kept, result)


# --- Memory ---------------------------------------------------------------------------------------


def _is_row(place: list[Vec], reached: Vec) -> Vec | None:
    """True if the lanes write neighbouring texels of a row, all of them; None with one lane."""
    count = lanes(reached.t)
    if count == 0:
        return None
    text = reached.text
    all_ = reached
    for axis, each in enumerate(place):
        first = Vec(text, "i32", text.emit(f"extractelement {each.t} {each.name}, i64 0"))
        expected = splat(first, each.t)
        if axis == 0:
            steps = ", ".join(f"i32 {lane}" for lane in range(count))
            expected = expected + Vec(text, each.t, f"<{steps}>")
        all_ = all_ & each.equals(expected)
    return ~(~all_).any()


def _store_vector(view: View, offsets: Vec, value: Vec) -> Results:
    """Writes texels of a row that lie close together as they should."""
    text = view.text
    base = view.get("texels")
    first = text.emit(f"extractelement {offsets.t} {offsets.name}, i64 0")
    place = text.emit(f"getelementptr i8, ptr {base.name}, i64 {first}")
    text.do(f"store {value.t} {value.name}, ptr {place}, align 1")
    return ()


def _store_row_or_lanes(view: View, offsets: Vec, words: list[Vec], reached: Vec, row: Vec) -> None:
    """A row of texels that are whole numbers of words as one vector, all others one by one."""

    def store(*parts: Vec) -> Branch:
        return lambda: _store_vector(view, offsets, _interleaved(list(parts)))

    def by_lane() -> Results:
        store_words(view, offsets, words, reached)
        return ()

    size = view.get("texel_bytes")
    cases = {
        1: lambda: _store_vector(view, offsets, words[0].to_int(8)),
        2: lambda: _store_vector(view, offsets, words[0].to_int(16)),
        4: store(words[0]),
        8: store(*words[:2]),
        16: store(*words),
    }
    by_case(row.choose(size, 0), cases, by_lane)


def _interleaved(parts: list[Vec]) -> Vec:
    """The words of each lane behind each other; of one, two or four vectors."""
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [_zip(low, high) for low, high in zip(parts[:half], parts[half:], strict=True)]
    return parts[0]


def _zip(low: Vec, high: Vec) -> Vec:
    count = lanes(low.t)
    picks = ", ".join(f"i32 {lane}, i32 {lane + count}" for lane in range(count))
    wide = f"<{2 * count} x i32>"
    name = low.text.emit(
        f"shufflevector {low.t} {low.name}, {high.t} {high.name}, <{2 * count} x i32> <{picks}>"
    )
    return Vec(low.text, wide, name)


def store_words(view: View, offsets: Vec, words: list[Vec], mask: Vec) -> None:
    """Puts texels to their places in the lanes of a mask."""
    addresses = addresses_at(view, offsets)
    text = view.text
    assert isinstance(text, Body)
    count = lanes(offsets.t)
    if count == 0:
        either(mask, lambda: _store_texel(view, addresses, words), tuple)
        return
    places = [text.emit(f"alloca {each.t}") for each in (addresses, *words)]
    for place, value in zip(places, (addresses, *words), strict=True):
        text.do(f"store {value.t} {value.name}, ptr {place}")
    packed = Vec(text, f"i{count}", text.emit(f"bitcast {mask.t} {mask.name} to i{count}"))
    bits = packed.zero_extend(64)

    def one(lane: Vec) -> None:
        def element_at(place: str, kind: str) -> Vec:
            at = text.emit(f"getelementptr {kind}, ptr {place}, i64 {lane.name}")
            return Vec(text, kind, text.emit(f"load {kind}, ptr {at}"))

        def store() -> Results:
            loaded = [element_at(place, "i32") for place in places[1:]]
            return _store_texel(view, element_at(places[0], "ptr"), loaded)

        either(((bits >> lane) & 1).differs(0), store, tuple)

    each_lane(text, count, one)


def _store_texel(view: View, address: Vec, words: list[Vec]) -> Results:
    """One texel of one lane."""
    text = view.text

    def put(*parts: tuple[int, int, int]) -> Results:
        """Stores some bits of words: which word, from which bit on, how many."""
        for number, shift, bits in parts:
            part = (words[number] >> shift if shift else words[number]).to_int(bits)
            offset = 4 * number + shift // 8
            place = text.emit(f"getelementptr i8, ptr {address.name}, i64 {offset}")
            text.do(f"store {part.t} {part.name}, ptr {place}, align 1")
        return ()

    whole = [(number, 0, 32) for number in range(4)]
    cases = {
        1: lambda: put((0, 0, 8)),
        2: lambda: put((0, 0, 16)),
        3: lambda: put((0, 0, 16), (0, 16, 8)),
        6: lambda: put((0, 0, 32), (1, 0, 16)),
        8: lambda: put(*whole[:2]),
        12: lambda: put(*whole[:3]),
        16: lambda: put(*whole),
    }
    return by_case(view.get("texel_bytes"), cases, lambda: put(whole[0]))
