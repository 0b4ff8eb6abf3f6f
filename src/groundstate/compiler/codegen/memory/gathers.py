"""Loads and stores at an address of its own for each lane.

Machines with mask registers have instructions for that, for words. For others, and for bytes, LLVM
would write a branch for each lane that may be inactive and carry all lanes along, which makes code
that is long, slow, and slow to compile. Instead, bytes are gathered in words, and otherwise lanes
that are inactive read and write a place that nobody looks at.
"""

from __future__ import annotations

from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.codegen.routines import Results, call_routine, splat
from groundstate.compiler.codegen.text import overloaded, scalar_bytes
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.math.vec import Vec, lanes, like

NOWHERE_BYTES = 64
WORD_BYTES = 4


def gather(emitter: Emitter, stored: str, addresses: str, align: int) -> str:
    """One number for each lane, from its address.

    Inactive lanes get zero, which costs nothing. Were it poison, LLVM could drop a half that the
    mask excludes and then give each use of it another register, `freeze` or not: a divisor that was
    compared with zero would not be the one that divides.
    """
    if emitter.mask is not None and not emitter.context.target.has_mask_registers:
        (loaded,) = call_routine(
            f"gather.{stored}.{align}",
            lambda places, active, nowhere: (
                _load_each(harmless(places, active, nowhere), stored, align),
            ),
            *given(emitter, addresses, emitter.mask),
            attributes="alwaysinline",
        )
        return loaded.name
    if emitter.mask is not None and scalar_bytes(stored) <= align < WORD_BYTES:
        return _gather_in_words(emitter, stored, addresses)
    return _gather_allowed(emitter, stored, addresses, align)


def _gather_in_words(emitter: Emitter, stored: str, addresses: str) -> str:
    """Bytes or half-words: there are no instructions to gather them, and LLVM would write a branch
    for each lane. The aligned word that one is in can be read if it can, as it is in one page."""
    text = emitter.text
    wide, words, pointers = map(text.vector_type, ("i64", "i32", "ptr"))
    numbers = text.emit(f"ptrtoint {pointers} {addresses} to {wide}")
    starts = text.emit(f"and {wide} {numbers}, {text.splat('i64', str(-WORD_BYTES))}")
    there = text.emit(f"inttoptr {wide} {starts} to {pointers}")
    loaded = _gather_allowed(emitter, "i32", there, WORD_BYTES)
    low = text.emit(f"trunc {wide} {numbers} to {words}")
    byte = text.emit(f"and {words} {low}, {text.splat('i32', str(WORD_BYTES - 1))}")
    amount = text.emit(f"shl {words} {byte}, {text.splat('i32', '3')}")
    shifted = text.emit(f"lshr {words} {loaded}, {amount}")
    bits = f"i{8 * scalar_bytes(stored)}"
    name = text.emit(f"trunc {words} {shifted} to {text.vector_type(bits)}")
    if stored == bits:
        return name
    return text.emit(f"bitcast {text.vector_type(bits)} {name} to {text.vector_type(stored)}")


def _gather_allowed(emitter: Emitter, stored: str, addresses: str, align: int) -> str:
    text = emitter.text
    wide, pointers, bits = map(text.vector_type, (stored, "ptr", "i1"))
    function = f"llvm.masked.gather.{overloaded(wide)}.{overloaded(pointers)}"
    text.declarations.setdefault(
        function, f"declare {wide} @{function}({pointers}, {bits}, {wide})"
    )
    return text.emit(
        f"call {wide} @{function}({pointers} align {align} {addresses}, "
        f"{bits} {emitter.full_mask()}, {wide} zeroinitializer)"
    )


def scatter(emitter: Emitter, stored: str, name: str, addresses: str, align: int) -> None:
    """Writes one number of each lane to its address, the first lane first."""
    text = emitter.text
    wide, pointers, bits = map(text.vector_type, (stored, "ptr", "i1"))
    has_instructions = (
        emitter.context.target.has_mask_registers and scalar_bytes(stored) >= WORD_BYTES
    )
    if emitter.mask is not None and not has_instructions:

        def write(places: Vec, active: Vec, nowhere: Vec, value: Vec) -> Results:
            _store_each(harmless(places, active, nowhere), value, stored, align)
            return ()

        known = given(emitter, addresses, emitter.mask)
        value = Vec(text, wide, name)
        call_routine(f"scatter.{align}", write, *known, value, attributes="alwaysinline")
        return
    function = f"llvm.masked.scatter.{overloaded(wide)}.{overloaded(pointers)}"
    text.declarations.setdefault(function, f"declare void @{function}({wide}, {pointers}, {bits})")
    text.do(
        f"call void @{function}({wide} {name}, {pointers} align {align} {addresses}, "
        f"{bits} {emitter.full_mask()})"
    )


def given(emitter: Emitter, addresses: str, mask: str) -> tuple[Vec, Vec, Vec]:
    """What a routine needs: addresses, which lanes are active, and a place for the others."""
    text = emitter.text
    return (
        Vec(text, text.vector_type("ptr"), addresses),
        Vec(text, text.vector_type("i1"), mask),
        Vec(text, "ptr", nowhere(emitter)),
    )


def nowhere(emitter: Emitter) -> str:
    """The address of some bytes that nobody looks at."""
    context = emitter.context
    if context.nowhere is None:
        context.nowhere = emitter.new_slot(f"[{NOWHERE_BYTES // 8} x i64]", "nowhere")
    return context.nowhere


def harmless(places: Vec, active: Vec, nowhere: Vec) -> Vec:
    """The addresses of active lanes, and another one for the others."""
    return active.choose(places, splat(nowhere, places.t))


def readable(emitter: Emitter, pointer: Lanes) -> Lanes:
    """Addresses that every lane can read from, up to so many bytes as there are nowhere."""
    if emitter.mask is None:
        return pointer
    known = given(emitter, emitter.text.as_vector(pointer), emitter.mask)
    return Lanes("ptr", harmless(*known).name, None)


def _load_each(places: Vec, stored: str, align: int) -> Vec:
    text, wide, name = places.text, like(places.t, stored), "poison"
    for lane in range(lanes(places.t)):
        place = text.emit(f"extractelement {places.t} {places.name}, i64 {lane}")
        each = text.emit(f"load {stored}, ptr {place}, align {align}")
        name = text.emit(f"insertelement {wide} {name}, {stored} {each}, i64 {lane}")
    return Vec(text, wide, name)


def _store_each(places: Vec, value: Vec, stored: str, align: int) -> None:
    text = places.text
    for lane in range(lanes(places.t)):
        place = text.emit(f"extractelement {places.t} {places.name}, i64 {lane}")
        each = text.emit(f"extractelement {value.t} {value.name}, i64 {lane}")
        text.do(f"store {stored} {each}, ptr {place}, align {align}")
