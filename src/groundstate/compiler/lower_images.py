"""Takes the pairs of an image and a sampler apart.

SPIR-V joins the two by an instruction of their own before it reads. Here a read names both, so that
no value is a pair.
"""

from __future__ import annotations

from groundstate.compiler.ir import Kernel, Node

PAIRS = frozenset(["SampledImage"])
"""The instructions that nothing is left of."""


def split_sampled_images(kernel: Kernel) -> None:
    """Gives each user of a pair its two parts."""
    pairs = [node for node in kernel.nodes() if node.op in PAIRS]
    if not pairs:
        return
    for node in kernel.nodes():
        node.operands = [part for each in node.operands for part in _parts(node, each)]
    for block in kernel.blocks:
        block.nodes = [node for node in block.nodes if node.op not in PAIRS]
    kernel.renumber()


def _parts(user: Node, operand: Node) -> list[Node]:
    if operand.op not in PAIRS or user.op in PAIRS:
        return [operand]
    return operand.operands[:1] if user.op == "Image" else operand.operands
