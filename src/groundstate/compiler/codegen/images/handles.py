"""Images that differ between lanes: a round for each of them, for the lanes that have it.

Routines branch on what an image is, so they take one. Handles that a program keeps as numbers may
be different in each lane.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.codegen.routines import Results, splat
from groundstate.compiler.math.vec import Vec, lanes


def for_each_handle(
    emitter: Emitter, mask: Vec, handles: list[Vec], write: Callable[..., Results]
) -> Results:
    """The results of a writer for the lanes of a mask, where it takes the handles as scalars.

    The writer is called once, and what it writes is run in rounds: for the handles of the first
    lane that is left, and for all lanes that have the same."""
    text = emitter.text
    handles = [each.freeze() for each in handles]  # lanes that are not there have none
    head, body, after = text.label("handles"), text.label("handle"), text.label("handled")
    left_at = emitter.new_slot(mask.t, "left")
    text.do(f"store {mask.t} {mask.name}, ptr {left_at}")
    text.do(f"br label %{head}")
    text.start(head)
    left = Vec(text, mask.t, text.emit(f"load {mask.t}, ptr {left_at}"))
    bits = _packed(left.differs(0))
    text.do(f"br i1 {bits.differs(0).name}, label %{body}, label %{after}")
    text.start(body)
    first = text.call(bits.t, f"llvm.cttz.{bits.t}", [(bits.t, bits.name), ("i1", "true")])
    lane = Vec(text, bits.t, first).zero_extend(64) if bits.t != "i64" else Vec(text, "i64", first)
    same, own = left, []
    for handle in handles:
        name = text.emit(f"extractelement {handle.t} {handle.name}, i64 {lane.name}")
        own.append(Vec(text, "ptr", name))
        everywhere = splat(own[-1], handle.t)
        is_same = text.emit(f"icmp eq {handle.t} {handle.name}, {everywhere.name}")
        same = same & Vec(text, left.differs(0).t, is_same).to_int(32)
    slots = [(_merged(emitter, same.differs(0), each), each.t) for each in write(same, *own)]
    text.do(f"store {mask.t} {(left & ~same).name}, ptr {left_at}")
    text.do(f"br label %{head}")
    text.start(after)
    return tuple(Vec(text, t, text.emit(f"load {t}, ptr {slot}")) for slot, t in slots)


def _packed(bits: Vec) -> Vec:
    """One bit for each lane."""
    count = lanes(bits.t)
    return Vec(bits.text, f"i{count}", bits.text.emit(f"bitcast {bits.t} {bits.name} to i{count}"))


def _merged(emitter: Emitter, where: Vec, value: Vec) -> str:
    """A slot that gets a value in some lanes and keeps it in the others."""
    text = emitter.text
    slot = emitter.new_slot(value.t, "texel")
    before = Vec(text, value.t, text.emit(f"load {value.t}, ptr {slot}"))
    text.do(f"store {value.t} {where.choose(value, before.freeze()).name}, ptr {slot}")
    return slot
