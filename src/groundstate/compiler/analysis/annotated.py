"""A kernel's text with what is known of its values, in comments.

Behind each value stands its lane stride: nothing if the value is uniform, `+k` if it goes up by k
from lane to lane, `varying` if each lane has its own.
"""

from __future__ import annotations

from groundstate.compiler.analysis.divergence import VARYING, Divergence
from groundstate.compiler.ir import Block, Node
from groundstate.compiler.ir.printer import print_kernel
from groundstate.compiler.spirv.instructions import opencl_rows
from groundstate.compiler.spirv.types import Void


def annotated_text(divergence: Divergence) -> str:
    """The text of a kernel variant."""
    variant = divergence.variant
    sizes = " x ".join(map(str, variant.group_size))
    lanes = f"{variant.width} lanes" if variant.width > 1 else "1 lane"
    heading = f"; groups of {sizes}, {lanes}\n"
    return heading + print_kernel(
        divergence.kernel,
        lambda node: _of_node(node, divergence),
        lambda block: _of_block(block, divergence),
    )


def _of_node(node: Node, divergence: Divergence) -> str:
    notes = []
    if node.op == "ExtInst":
        row = opencl_rows().get(int(str(node.literals[1])))
        notes += [row.name] if row is not None else []
    stride = 0 if isinstance(node.type, Void) else divergence.stride(node)
    if stride is VARYING:
        notes.append("varying")
    elif stride:
        notes.append(f"{stride:+}")
    return ", ".join(notes)


def _of_block(block: Block, divergence: Divergence) -> str:
    loop = divergence.cfg.loop_of.get(block)
    notes = ["loop header"] if loop is not None and loop.header is block else []
    notes += ["divergent"] if block in divergence.divergent_blocks else []
    return ", ".join(notes)
