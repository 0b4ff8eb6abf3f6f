"""Sums of disjoint parts: `x << 11 | y` with a `y` below 2048 becomes `(x << 11) + y`.

Compilers put the parts of an index together by OpBitwiseOr where no bit is in both. How a sum goes
up with lanes, iterations and work-groups is known, and it cannot wrap here.
"""

from __future__ import annotations

from groundstate.compiler.analysis.known_zeros import ALL, KnownZeros
from groundstate.compiler.ir import Kernel
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.opcodes import Decoration
from groundstate.compiler.spirv.types import Int

NEVER_WRAPS: dict[int, tuple[int, ...]] = {
    Decoration.NoSignedWrap: (),
    Decoration.NoUnsignedWrap: (),
}


def sum_disjoint(kernel: Kernel, analyses: Analyses) -> bool:
    """Makes sums of OpBitwiseOr whose operands have no bit in common."""
    joined = [
        node for node in kernel.nodes() if node.op == "BitwiseOr" and isinstance(node.type, Int)
    ]
    if not joined:
        return False
    zeros = KnownZeros(analyses.variant.group_size)
    disjoint = [
        node for node in joined if zeros.of(node.operands[0]) | zeros.of(node.operands[1]) == ALL
    ]
    for node in disjoint:
        node.op = "IAdd"
        node.decorations = {**node.decorations, **NEVER_WRAPS}
    return bool(disjoint)
