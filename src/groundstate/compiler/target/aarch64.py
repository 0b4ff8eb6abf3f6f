"""AArch64: vectors of 128 bits, which every such CPU has."""

from __future__ import annotations

from groundstate.compiler.target.description import Target

NEON = Target(4, "neon", vector_registers=32, most_spilled=0, most_spilled_waiting=48)
