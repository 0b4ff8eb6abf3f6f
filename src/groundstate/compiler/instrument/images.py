"""Image accesses that may lead out of an image, where that is undefined, get a `CheckImage` before
them.

No coordinate leads out of the memory of an image (codegen/images/sampling.py), so this is not about
memory, but about results that another device would not give. A sampler with an addressing mode says
what lies outside; without one, and for what is written, nothing does.
"""

from __future__ import annotations

from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.ir.lowered_checks import AXES
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.ir.site import make_site
from groundstate.compiler.spirv.constants import Constant, SamplerValue
from groundstate.compiler.spirv.types import Float, Image, Vector, Void

ADDRESS_NONE = 0


def check_images(kernel: Kernel, analyses: Analyses) -> bool:
    """Watches accesses to images; true if there is any."""
    del analyses
    changed = False
    for block in kernel.blocks:
        nodes: list[Node] = []
        for node in block.nodes:
            operands = _operands(node)
            if operands is not None:
                nodes.append(node.derive("CheckImage", Void(), operands, (len(kernel.sites),)))
                words = "write" if node.op == "ImageWrite" else "read"
                kernel.sites.append(_site(node, words))
                changed = True
            nodes.append(node)
        block.nodes = nodes
    kernel.renumber()
    return changed


def _operands(node: Node) -> list[Node] | None:
    """The image, the coordinates, and the sampler if there is one; None: nothing can be wrong."""
    if node.op in ("ImageRead", "ImageFetch", "ImageWrite"):
        return node.operands[:2]
    if node.op != "SampleImage":
        return None
    image, sampler, coordinate = node.operands[:3]
    value = sampler.literals[0] if sampler.op == "Constant" else None
    if isinstance(value, Constant) and isinstance(value.value, SamplerValue):
        return [image, coordinate, sampler] if value.value.addressing == ADDRESS_NONE else None
    return [image, coordinate, sampler]


def _site(node: Node, words: str) -> dict[str, object]:
    image = node.operands[0]
    argument = image.literals[0] if image.op == "Argument" else None
    coordinate = node.operands[2 if node.op == "SampleImage" else 1].type
    part = coordinate.element if isinstance(coordinate, Vector) else coordinate
    assert isinstance(image.type, Image)
    axes = AXES[image.type.dim] + bool(image.type.arrayed)
    facts = {"argument": argument, "axes": axes, "is_float": isinstance(part, Float)}
    return make_site("memory", node, access=words, image=True, **facts)
