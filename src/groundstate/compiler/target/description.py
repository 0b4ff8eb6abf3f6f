"""A machine as passes and code generation see it: registers, and what things cost there.

No pass has a tuning constant of its own. What a pass needs to know of the machine it asks here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """What is known of one kind of machine."""

    lanes: int
    """How many 32-bit numbers a vector register holds."""
    vector_registers: int = 16

    # --- Choosing a width ---
    large_kernel: int = 500
    """Operations from which on a kernel is compiled for one register, which takes half the time."""
    most_spilled: int = 16
    """How many values more than there are registers a wider vector may cost."""
    most_spilled_waiting: int = 64
    """The same in loops that wait for memory anyway."""

    # --- Loops ---
    registers_for_operands: int = 4
    """Of the vector registers, those that a distributed loop leaves to what it adds up."""
    most_unrolled_iterations: int = 8
    most_unrolled_operations: int = 100
    """Of all iterations together."""
    most_versioned_operations: int = 250
    """Of a loop that is there twice."""

    # --- Memory ---
    merged_loads: tuple[int, ...] = (2, 4)
    """How many neighbouring loads become one."""
    most_prefetched_bytes: int = 1024
    """Of one piece of memory that all lanes load."""

    @property
    def sums(self) -> int:
        """How many sums a loop keeps in registers."""
        return self.vector_registers - self.registers_for_operands
