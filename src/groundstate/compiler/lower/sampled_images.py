"""Takes the pairs of an image and a sampler apart.

SPIR-V joins the two by an instruction of their own before it reads. Here a read names both, so that
no value is a pair.
"""

from __future__ import annotations

from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.types import Sampler

SAMPLE = "ImageSampleExplicitLod"
PAIRS = frozenset(["SampledImage"])
"""The instructions that nothing is left of."""
BINDLESS = "ConvertHandleToSampledImageINTEL"
"""A pair that is one handle: the image brings its sampler along."""


def split_sampled_images(kernel: Kernel, analyses: Analyses) -> bool:
    """Gives each user of an image with its sampler the two by themselves."""
    del analyses
    pairs = {
        node: _parts(node) for node in kernel.nodes() if node.op in PAIRS or node.op == BINDLESS
    }
    if not pairs:
        return False
    for block in kernel.blocks:
        nodes = []
        for node in block.nodes:
            _take_apart(node, pairs)
            if node.op not in PAIRS:
                nodes.append(node)
            if node.op == BINDLESS:
                nodes.append(pairs[node][1])
        block.nodes = nodes
    kernel.renumber()
    return True


def _parts(pair: Node) -> list[Node]:
    """The image and the sampler."""
    if pair.op in PAIRS:
        return pair.operands
    return [pair, pair.derive("SamplerOfImage", Sampler(), [pair])]


def _take_apart(node: Node, pairs: dict[Node, list[Node]]) -> None:
    """Gives a user of a pair the image, or the image and the sampler if it needs both."""
    if node.op == SAMPLE and node.operands[0] in pairs:
        node.op, node.operands[:1] = "SampleImage", pairs[node.operands[0]]
    else:
        node.operands = [pairs[each][0] if each in pairs else each for each in node.operands]
