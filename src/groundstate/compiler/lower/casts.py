"""Casts of generic pointers to a kind of memory become plain casts where the memory is known.

In goes a kernel with `GenericCastToPtrExplicit`, which gives null for an address of another kind
of memory and so has to look at each lane's address when the kernel runs. SYCL's functions that
load and store for a group cast global pointers to generic ones and at once back. Such a pair
changes nothing, and addresses stay as regular as they were.
"""

from __future__ import annotations

from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.ir.ops import CHAINS, SAME_ADDRESS
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Pointer


def lower_known_casts(kernel: Kernel, analyses: Analyses) -> bool:
    """Makes plain casts of those whose pointer certainly leads to the memory that is asked for."""
    del analyses
    changed = False
    for node in kernel.nodes():
        if node.op == "GenericCastToPtrExplicit":
            storage = _storage_behind(node.operands[0])
            if storage is not None and storage == node.literals[0]:
                node.op, node.literals = "GenericCastToPtr", ()
                changed = True
    return changed


def _storage_behind(pointer: Node) -> int | None:
    """The memory that an address comes from, or None if that is not plain to see."""
    while isinstance(pointer.type, Pointer):
        if pointer.type.storage != StorageClass.Generic:
            return pointer.type.storage
        if pointer.op not in SAME_ADDRESS and pointer.op not in CHAINS:
            return None
        pointer = pointer.operands[0]
    return None
