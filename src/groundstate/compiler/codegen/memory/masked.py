"""Vector loads and stores of the active lanes.

Without mask registers there are instructions for words, but none for bytes and half-words: LLVM
would write a branch for each lane. What lies in one page can all be read if any of it can, so there
is one look instead, and a branch for each lane only where a vector reaches into the next page. So
it is for loads that decide who stays in a loop: with the mask they would have to wait for it.
"""

from __future__ import annotations

from groundstate.compiler.codegen.control.speculation import MOSTLY
from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.codegen.text import overloaded, scalar_bytes

PAGE_BYTES = 4096
"""Of the smallest page that there is."""
WORD_BYTES = 4


def load_masked(emitter: Emitter, wide: str, pointer: str, align: int, mask: str) -> str:
    """Loads what the mask allows. Inactive lanes get zero (see `gather`), or what lies there."""
    count, element = wide[1:-1].split(" x ")
    size = int(count) * scalar_bytes(element)
    has_instruction = (
        emitter.context.target.has_mask_registers or scalar_bytes(element) >= WORD_BYTES
    )
    if size > PAGE_BYTES or (has_instruction and not emitter.decides):
        return _load_allowed(emitter, wide, pointer, align, mask)
    text = emitter.text
    address = text.emit(f"ptrtoint ptr {pointer} to i64")
    offset = text.emit(f"and i64 {address}, {PAGE_BYTES - 1}")
    ends_inside = text.emit(f"icmp ule i64 {offset}, {PAGE_BYTES - size}")
    holds = ends_inside
    if mask != emitter.inhabited:
        bits = text.emit(f"bitcast <{count} x i1> {mask} to i{count}")
        some = text.emit(f"icmp ne i{count} {bits}, 0")
        holds = text.emit(f"and i1 {ends_inside}, {some}")
    whole, lanes, after = text.label("whole"), text.label("lanes"), text.label("loaded")
    text.do(f"br i1 {holds}, label %{whole}, label %{lanes}, !prof {MOSTLY}")
    text.start(whole)
    all_ = text.emit(f"load {wide}, ptr {pointer}, align {align}")
    text.do(f"br label %{after}")
    text.start(lanes)
    allowed = _load_allowed(emitter, wide, pointer, align, mask)
    text.do(f"br label %{after}")
    text.start(after)
    return text.emit(f"phi {wide} [ {all_}, %{whole} ], [ {allowed}, %{lanes} ]")


def _load_allowed(emitter: Emitter, wide: str, pointer: str, align: int, mask: str) -> str:
    count = wide[1:].split(" ")[0]
    function = f"llvm.masked.load.{overloaded(wide)}.p0"
    emitter.text.declarations.setdefault(
        function, f"declare {wide} @{function}(ptr, <{count} x i1>, {wide})"
    )
    return emitter.text.emit(
        f"call {wide} @{function}(ptr align {align} {pointer}, <{count} x i1> {mask}, "
        f"{wide} zeroinitializer)"
    )


def blends_faster(emitter: Emitter) -> bool:
    """Whether a blend is faster than a masked store, where only some lanes are active. Without mask
    registers some CPUs take twenty cycles for the latter, and what is read next waits for it."""
    return emitter.mask is not None and not emitter.context.target.has_mask_registers


def store_masked(
    emitter: Emitter, wide: str, name: str, pointer: str, align: int, mask: str
) -> None:
    """Writes the lanes that the mask allows."""
    count = wide[1:].split(" ")[0]
    function = f"llvm.masked.store.{overloaded(wide)}.p0"
    emitter.text.declarations.setdefault(
        function, f"declare void @{function}({wide}, ptr, <{count} x i1>)"
    )
    emitter.text.do(
        f"call void @{function}({wide} {name}, ptr align {align} {pointer}, <{count} x i1> {mask})"
    )


def store_blended(
    emitter: Emitter, wide: str, name: str, pointer: str, align: int, mask: str
) -> None:
    """Writes the lanes that the mask allows, and to the others what they had. LLVM would make a
    masked store of that, were it not frozen."""
    text, bits = emitter.text, emitter.text.vector_type("i1")
    loaded = text.emit(f"load {wide}, ptr {pointer}, align {align}")
    before = text.emit(f"freeze {wide} {loaded}")
    blended = text.emit(f"select {bits} {mask}, {wide} {name}, {wide} {before}")
    text.do(f"store {wide} {blended}, ptr {pointer}, align {align}")
