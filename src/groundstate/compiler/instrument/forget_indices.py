"""Drops what the source says of its indices (`indices.py`), for kernels that are not checked."""

from __future__ import annotations

from groundstate.compiler.ir import Kernel
from groundstate.compiler.ir.passes import Analyses


def forget_indices(kernel: Kernel, analyses: Analyses) -> bool:
    """Drops what the source says of its indices, where nobody asks."""
    del analyses
    changed = False
    for block in kernel.blocks:
        count = len(block.nodes)
        block.nodes = [node for node in block.nodes if node.op != "CheckIndex"]
        changed |= len(block.nodes) < count
    return changed
