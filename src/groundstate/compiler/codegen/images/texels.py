"""Texels as kernels read them: from memory to four channels, for all lanes at once.

There is no code for single formats. A texel is up to four words of 32 bits; the view says which
bits of which word a channel has, and what kind of number they are. That is the same for all
lanes, so it is looked up and branched on once.
"""

from __future__ import annotations

from groundstate.compiler.codegen.images.views import (
    FLOAT,
    FROM_TEXEL,
    HALF,
    ONE,
    ORDERS_WITH_OPAQUE_BORDER,
    READING,
    SINT,
    SMALL_FLOAT,
    SNORM,
    Channel,
    View,
)
from groundstate.compiler.codegen.routines import (
    Results,
    at_least,
    by_case,
    call_routine,
    either,
    splat,
)
from groundstate.compiler.codegen.text import Text, float_literal, overloaded
from groundstate.compiler.math.vec import Vec, element, lanes, like

SRGB_TABLE = "gs.image.srgb"
ALPHA = 3


def fetch(view: View, offsets: Vec, inside: Vec, kind: str) -> Results:
    """The four channels of the texels at some offsets, as `float` or `i32`.

    `inside` has all bits set in lanes whose texel is there, and none in the others, which get the
    border's colour. Every offset must lie in the image, also of those others.
    """
    return call_routine(
        f"image.fetch.{kind}",
        lambda pointer, at, there: _fetch(View(pointer), at, there, kind),
        view.pointer,
        offsets,
        inside,
    )


def _fetch(view: View, offsets: Vec, inside: Vec, kind: str) -> Results:
    words = [word & inside for word in load_words(view, offsets)]
    channels = [view.channel(READING, number) for number in range(4)]
    raw = [_bits_of(channel, words) for channel in channels]
    values = _decode_floats(view, raw, channels) if kind == "float" else _decode_int(view, raw)
    there = inside.differs(0)
    results = []
    for number, (channel, value) in enumerate(zip(channels, values, strict=True)):
        one = value.constant(1)
        if number == ALPHA:
            one = there.choose(one, splat(_border_alpha(view, element(value.t)), value.t))
        absent = _uniform(channel.source.equals(ONE), one, one.constant(0))
        results.append(_uniform(channel.source.equals(FROM_TEXEL), value, absent))
    return tuple(results)


def _uniform(condition: Vec, yes: Vec, no: Vec) -> Vec:
    """One of two vectors, for all lanes."""
    return condition.choose(yes, no)


def _border_alpha(view: View, kind: str) -> Vec:
    """Alpha outside of an image whose texels have none."""
    order = view.get("channel_order")
    opaque = order.equals(ORDERS_WITH_OPAQUE_BORDER[0])
    for each in ORDERS_WITH_OPAQUE_BORDER[1:]:
        opaque = opaque | order.equals(each)
    one = Vec(view.text, kind, "0").constant(1)
    return opaque.choose(one, 0)


# --- Words ----------------------------------------------------------------------------------------


def gather(addresses: Vec, kind: str) -> Vec:
    """What lies at the addresses of all lanes."""
    text = addresses.text
    if lanes(addresses.t) == 0:
        return Vec(text, kind, text.emit(f"load {kind}, ptr {addresses.name}, align 1"))
    wide, bits = like(addresses.t, kind), like(addresses.t, "i1")
    function = f"llvm.masked.gather.{overloaded(wide)}.{overloaded(addresses.t)}"
    text.declarations.setdefault(
        function, f"declare {wide} @{function}({addresses.t}, {bits}, {wide})"
    )
    name = text.emit(
        f"call {wide} @{function}({addresses.t} align 1 {addresses.name}, "
        f"{bits} splat (i1 true), {wide} poison)"
    )
    return Vec(text, wide, name)


def addresses_at(view: View, offsets: Vec) -> Vec:
    """The addresses of texels, from their offsets in bytes."""
    text = view.text
    base = view.get("texels")
    name = text.emit(f"getelementptr i8, ptr {base.name}, {offsets.t} {offsets.name}")
    return Vec(text, like(offsets.t, "ptr"), name)


def load_words(view: View, offsets: Vec) -> Results:
    """The four words of each texel, zero where it has fewer; nothing behind it is touched."""
    first = addresses_at(view, offsets)
    size = view.get("texel_bytes")
    zero = Vec(view.text, like(offsets.t, "i32"), "").constant(0)

    def word(offset: int, kind: str = "i32") -> Vec:
        loaded = gather(_further(first, offset), kind)
        return loaded if kind == "i32" else loaded.zero_extend(32)

    def pair(offset: int) -> Results:
        return halves(gather(_further(first, offset), "i64"))

    def many() -> Results:
        rest = {12: lambda: (word(8), zero), 16: lambda: pair(8)}
        return (*pair(0), *by_case(size, rest, lambda: (zero, zero)))

    def few() -> Results:
        cases = {
            1: lambda: (word(0, "i8"), zero, zero, zero),
            2: lambda: (word(0, "i16"), zero, zero, zero),
            3: lambda: (_few_bytes(first, 3), zero, zero, zero),
            6: lambda: (word(0), _few_bytes(_further(first, 4), 2), zero, zero),
        }
        return by_case(size, cases, lambda: (word(0), zero, zero, zero))

    return either(size.compare("uge", 8), many, few)


def _further(addresses: Vec, offset: int) -> Vec:
    """The addresses so many bytes behind others."""
    if offset == 0:
        return addresses
    text = addresses.text
    name = text.emit(f"getelementptr i8, {addresses.t} {addresses.name}, i64 {offset}")
    return Vec(text, addresses.t, name)


def _few_bytes(addresses: Vec, count: int) -> Vec:
    """Two or three bytes from some addresses on, as words: what is rare. LLVM would write loads
    for each lane; the words are gathered in which the first and the last byte lie, which are in
    pages that the texel is in, too."""

    def write(given: Vec, further: Vec) -> Results:
        text, wide = given.text, like(given.t, "i64")

        def word_around(number: Vec) -> Vec:
            name = text.emit(f"inttoptr {wide} {(number & -4).name} to {given.t}")
            return gather(Vec(text, given.t, name), "i32")

        first = Vec(text, wide, text.emit(f"ptrtoint {given.t} {given.name} to {wide}"))
        last = first + splat(further, wide)
        shift = (first.to_int(32) & 3) << 3
        return (word_around(last).call("fshr", word_around(first), shift),)

    further = Vec(addresses.text, "i64", str(count - 1))
    both = call_routine("image.bytes", write, addresses, further)[0]
    return both & ((1 << 8 * count) - 1)


def halves(both: Vec) -> Results:
    """The lower and the upper words of 64 bits."""
    return both.to_int(32), (both >> 32).to_int(32)


def _bits_of(channel: Channel, words: list[Vec]) -> Vec:
    """The bits of a channel, as numbers without a sign."""
    word = words[0]
    for number in (1, 2, 3):
        word = _uniform(channel.word.equals(number), words[number], word)
    return (word >> splat(channel.shift, word.t)) & splat(channel.mask(), word.t)


# --- Numbers --------------------------------------------------------------------------------------


def _signed(bits: Vec, channel: Channel) -> Vec:
    """Numbers of fewer than 32 bits with their sign extended."""
    empty = splat((32 - channel.bits) & 31, bits.t)
    return (bits << empty).ashr(empty)


def _decode_int(view: View, raw: list[Vec]) -> Results:
    channels = [view.channel(READING, number) for number in range(4)]

    def signed() -> Results:
        return tuple(_signed(bits, each) for bits, each in zip(raw, channels, strict=True))

    return either(view.get("kind").equals(SINT), signed, lambda: tuple(raw))


def _decode_floats(view: View, raw: list[Vec], channels: list[Channel]) -> Results:
    """Floats from the bits of the channels."""

    which = [(each.packed & 0xFFFFFF) | number << 24 for number, each in enumerate(channels)]

    def as_stored() -> Results:
        return tuple(bits.as_float() for bits in raw)

    def converted() -> Results:
        return tuple(
            call_routine("image.decode", _decode_float, view.pointer, numbered, bits)[0]
            for bits, numbered in zip(raw, which, strict=True)
        )

    return either(view.get("kind").equals(FLOAT), as_stored, converted)


def _decode_float(pointer: Vec, packed: Vec, bits: Vec) -> Results:
    """The number that the bits of a channel mean, of a kind that is not float. What is packed says
    which channel it is, in place of a source."""
    view, channel = View(pointer), Channel(packed)
    t = like(bits.t, "float")

    def share() -> Results:
        return (_convert("uitofp", bits) / splat(_convert("uitofp", channel.mask()), t),)

    def normalized() -> Results:
        is_curved = view.get("is_srgb").differs(0) & channel.source.differs(ALPHA)
        return either(is_curved, lambda: (_from_srgb(bits),), share)

    def signed() -> Results:
        most = splat(_convert("uitofp", channel.mask() >> 1), t)
        return (at_least(_convert("sitofp", _signed(bits, channel)) / most, -1.0),)

    def half() -> Results:
        return (bits.to_int(16).as_float().to_float("float"),)

    def small() -> Results:
        """Like halves that lack the sign and the last bits of the fraction; two bits are an
        alpha from 0 to 1."""
        moved = bits << splat((15 - channel.bits) & 31, bits.t)
        number = moved.to_int(16).as_float().to_float("float")
        return either(channel.bits.equals(2), share, lambda: (number,))

    cases = {SNORM: signed, HALF: half, SMALL_FLOAT: small}
    return by_case(view.get("kind"), cases, normalized)


def _convert(op: str, value: Vec) -> Vec:
    t = like(value.t, "float")
    return Vec(value.text, t, value.text.emit(f"{op} {value.t} {value.name} to {t}"))


def _from_srgb(bits: Vec) -> Vec:
    """Light, from eight bits of the sRGB curve."""
    _declare_srgb(bits.text)
    index = (bits & 255).zero_extend(64)
    text = bits.text
    name = text.emit(f"getelementptr float, ptr @{SRGB_TABLE}, {index.t} {index.name}")
    return gather(Vec(text, like(index.t, "ptr"), name), "float")


def _declare_srgb(text: Text) -> None:
    numbers = [each / 255 for each in range(256)]
    light = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in numbers]
    listed = ", ".join(f"float {float_literal(each, 'float')}" for each in light)
    text.declarations.setdefault(
        SRGB_TABLE, f"@{SRGB_TABLE} = internal constant [256 x float] [{listed}]"
    )
