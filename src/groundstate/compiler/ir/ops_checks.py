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

define("TellBarrier", "-> void", Category.CONTROL, effect=Effect.OBSERVABLE)
"""Tells that a sub-group has come to a barrier. The literals are the site, the memories that it
orders (1: local, 2: global), and whether it is one of the group or of the sub-group."""
