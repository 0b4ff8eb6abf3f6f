"""Operations of checked mode: what instrumentation passes put beside those that they watch."""

from __future__ import annotations

from groundstate.compiler.ir.operation import Category, Effect, LaneRule, define

define("Report", "bool. word.* -> void", Category.CONTROL, effect=Effect.OBSERVABLE)
"""Reports something at a site (its literal) in each active lane for which the condition is true,
with up to four words."""

define(
    "ArgumentBound",
    "-> whole.",
    Category.ARITHMETIC,
    divergence=LaneRule.UNIFORM,
    rematerialisable=True,
)
"""Of the memory that an argument points into (the first literal): where it begins (the second is 0)
or ends (1). Of a local argument: 0, and its size."""

define("Guard", "word. whole. whole. word.? -> bool.", Category.ARITHMETIC)
"""The last operand of an access, which happens only in the lanes where it holds, and is reported in
the others: an address, or the distance from the start of a variable, lies between two bounds. The
literals are the site, the bytes of the access, the alignment that the address must have, and
whether memory is looked for if it does not lie there; then the last operand is the pointer that the
address comes from."""

define("TellAccess", "word. any? -> void", Category.CONTROL, effect=Effect.OBSERVABLE)
"""Tells the race checker that active lanes are about to access an address, and what they store
there. The literals are the site, the bytes, and bits of ACCESS_ (native_layouts.py)."""

define("TellAccessIf", "word. bool. any? -> void", Category.CONTROL, effect=Effect.OBSERVABLE)
"""The same, in the lanes for which a condition is true."""

define("TellBlock", "pointer. -> void", Category.CONTROL, effect=Effect.OBSERVABLE)
"""The same for a block of the sub-group: each lane accesses an element of each row. The literals
are those of TellAccess, for one element, and the number of rows."""

define("TellImage", "image numeric any? -> void", Category.CONTROL, effect=Effect.OBSERVABLE)
"""The same for texels, of which the image says how large they are: its coordinates, and a sampler,
or what is written. The literals are those of TellAccess without the bytes, and whether linear
samplers mix several texels."""

define(
    "TellCopy", "pointer. whole. whole. whole. -> void", Category.CONTROL, effect=Effect.OBSERVABLE
)
"""The same for a copy of the group: the bytes of an element, how many there are, and how many lie
from one to the next. The literals are those of TellAccess, of which the bytes say nothing."""

define("TellFence", "-> void", Category.CONTROL, effect=Effect.OBSERVABLE)
"""Tells that work-items have come to a fence that releases. The literal is the memories that it
orders."""

define("TellCopyBegins", "event -> void", Category.CONTROL, effect=Effect.OBSERVABLE)
"""Tells that the group begins a copy with an event, before it tells of what that accesses. The
literal is the site; the number behind it is that of the copy's own event."""

define("TellWait", "event? -> void", Category.CONTROL, effect=Effect.OBSERVABLE)
"""Tells that the group is about to wait for an event, or for all of them. The literal is the
site."""

define("TellTogether", "any* -> void", Category.CONTROL, effect=Effect.OBSERVABLE)
"""Tells that work-items have come to what the whole group does together, and with which arguments.
The literal is the site."""

define("TellBarrier", "whole? -> void", Category.CONTROL, effect=Effect.OBSERVABLE)
"""Tells that a sub-group has come to a barrier. The literals are the site, the memories that it
orders (1: local, 2: global), and whether it is one of the group or of the sub-group. If the kernel
computes those memories, they are the operand."""

define(
    "CheckConvergence",
    "-> void",
    Category.GROUP,
    effect=Effect.OBSERVABLE | Effect.CONVERGENT,
)
"""Reports that not all work-items of a sub-group have come here. The literal is the site."""

define(
    "SourceIsMissing",
    "whole. -> bool.",
    Category.GROUP,
    effect=Effect.CONVERGENT,
    divergence=LaneRule.VARYING,
)
"""Whether a lane that a shuffle takes a value from does not execute it. The literal says how that
lane follows from a lane's own number and the operand: same, xor, up or down."""

define("CheckImage", "image numeric sampler? -> void", Category.CONTROL, effect=Effect.OBSERVABLE)
"""Reports lanes whose coordinates lead out of an image, if the sampler does not say what is there.
The literal is the site."""

define("CheckIndex", "whole. whole. -> void", Category.CONTROL, effect=Effect.OBSERVABLE)
"""Stands before an access of an element, with its index, and with 0 if there is no need to look.
The literals are what kind of access it is, its bytes, and how many elements there are
(instrument/indices.py)."""

define("CheckArithmetic", "any* -> void", Category.CONTROL, effect=Effect.OBSERVABLE)
"""Reports lanes in which an operation on numbers went wrong. It takes the operands, the result and,
if that is not always used, a truth value, or one for each component, that says when it is. The
literals are the site, the rule (codegen/arithmetic/checks.py), the operation, and the number of
operands."""

define("ShadowLoad", "pointer. -> any", Category.MEMORY, effect=Effect.READS)
"""Which bits of what lies at an address are uninitialised. The literals are the site of the load,
its bytes and alignment, and the space of the address (instrument/shadow_memory.py)."""

define("ShadowStore", "pointer. any -> void", Category.MEMORY, effect=Effect.OBSERVABLE)
"""Notes which bits are uninitialised of what is about to be stored at an address. The literals are
the site of the store, or -1; its bytes, alignment and space; whether any such bit is reported if
the host reads that memory (1), or only if all are (0), or nothing is noted if all memory that the
launch may write is initialised (2); and whether there can be such a bit."""

define(
    "ShadowCopy",
    "pointer. pointer. whole. whole. whole. whole. -> void",
    Category.MEMORY,
    effect=Effect.OBSERVABLE,
)
"""The same for a copy: where to, where from (null: all of it is initialised), how many elements of
how many bytes, and how many elements lie from one to the next on either side."""

define("Unwritten", "-> any", Category.ARITHMETIC, divergence=LaneRule.UNIFORM)
"""What a private variable holds that was not written (opencl/unwritten.py)."""

define(
    "InputsAreWritten",
    "-> bool.",
    Category.ARITHMETIC,
    divergence=LaneRule.UNIFORM,
    rematerialisable=True,
)
"""Whether nothing that a launch may read of allocations is uninitialised."""

define("LifetimeBegins", "pointer. -> void", Category.MEMORY, effect=Effect.OBSERVABLE)
"""All bytes of a private variable that a checker has made become 0."""

define("CountBlock", "-> void", Category.CONTROL, effect=Effect.OBSERVABLE)
"""Counts that work-items run a block, for metrics. The literal is the block's number."""

define("CountBranch", "bool. -> void", Category.CONTROL, effect=Effect.OBSERVABLE)
"""Counts that lanes part at the end of a block: those with a true condition from the others. The
literal is the block's number."""
