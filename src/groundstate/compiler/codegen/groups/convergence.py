"""Checks of sub-group operations in divergent code: instrument/convergence.py says which."""

from __future__ import annotations

from groundstate.compiler.codegen.control.speculation import MOSTLY
from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.groups.ballots import lane_numbers, own
from groundstate.compiler.codegen.groups.shuffles import as_i32
from groundstate.compiler.codegen.reports import lane_bits, write_report
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Node
from groundstate.native_layouts import GROUP_REPORTS

DIVERGENT_OPERATION = GROUP_REPORTS.index("divergent_operation")
STEPS = {"xor": "xor", "up": "sub", "down": "add"}
"""How the source lane comes from a lane's own number and the amount; else it is the amount."""
UNCHECKED_OUTSIDE = ("up", "down")
"""Shuffles whose lanes at one end take what nobody has, as everybody knows."""


@handles("CheckConvergence")
def _check(emitter: Emitter, node: Node) -> None:
    """Reports in the first lane that is here, if others of the sub-group are not."""
    text, existing = emitter.text, emitter.context.entry_mask
    if emitter.width == 1 or emitter.mask is None or emitter.mask == existing:
        return
    here = lane_bits(emitter, emitter.mask)
    all_bits = str((1 << emitter.width) - 1)
    wanted = lane_bits(emitter, existing) if existing is not None else all_bits
    is_whole = text.emit(f"icmp eq i64 {here}, {wanted}")
    rare, after = text.label("rare"), text.label("after")
    text.do(f"br i1 {is_whole}, label %{after}, label %{rare}, !prof {MOSTLY}")
    text.start(rare)
    negative = text.emit(f"sub i64 0, {here}")
    first = text.emit(f"and i64 {here}, {negative}")
    words = [Lanes("i64", each) for each in (str(DIVERGENT_OPERATION), here, wanted)]
    write_report(emitter, int(str(node.literals[0])), first, words)
    text.do(f"br label %{after}")
    text.start(after)


@handles("SourceIsMissing")
def _source_is_missing(emitter: Emitter, node: Node) -> None:
    """Whether the lane that a shuffle takes from does not execute it, or does not exist."""
    text, width, step = emitter.text, emitter.width, str(node.literals[0])
    wide, truth = text.vector_type("i32"), text.vector_type("i1")
    if width == 1:
        emitter.define(node, Lanes("i1", "false"))
        return
    source = as_i32(emitter, emitter.scalar(node.operands[0]))
    if step in STEPS:
        source = text.emit(f"{STEPS[step]} {wide} {lane_numbers(emitter)}, {source}")
    outside = text.emit(f"icmp uge {wide} {source}, {text.splat('i32', str(width))}")
    here = str((1 << width) - 1)
    if emitter.mask is not None:
        here = text.emit(f"trunc i64 {lane_bits(emitter, emitter.mask)} to i32")
    lane = text.emit(f"and {wide} {source}, {text.splat('i32', str(width - 1))}")
    moved = text.emit(f"lshr {wide} {text.splat('i32', here)}, {lane}")
    is_here = text.emit(f"trunc {wide} {moved} to {truth}")
    absent = text.emit(f"xor {truth} {is_here}, {text.splat('i1', 'true')}")
    if step in UNCHECKED_OUTSIDE:
        inside = text.emit(f"xor {truth} {outside}, {text.splat('i1', 'true')}")
        missing = text.emit(f"and {truth} {absent}, {inside}")
    else:
        missing = text.emit(f"or {truth} {absent}, {outside}")
    emitter.define(node, own(emitter, "i1", missing))
