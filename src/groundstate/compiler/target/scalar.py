"""The scalar reference: one work-item at a time, on any CPU.

Each work-item is a sub-group of its own. No pass runs that a kernel does not need: what vectors and
optimisations compute is compared with this.
"""

from __future__ import annotations

from groundstate.compiler.target.description import Target

SCALAR = Target(
    1, "scalar", pipeline="scalar", vectors_per_value=1, subgroup_sizes=(1,), subgroup_size=1
)
