"""Products of ids that only say where memory is do not wrap.

Of `p[i * 24]` with an `int i = get_global_id(0)`, Clang makes `(id * (24 << 32)) >> 32` in 64 bits,
and forgets that the program's product must not wrap: bits of the id are shifted out, so lanes might
start over in the middle of a vector. An index that did would lead 2^31 elements back from that of
the lane before. In go shifts that extend the low word of a number, whose users all step through
memory by it; out come the same, with the promise that they go up as the number does.
"""

from __future__ import annotations

from groundstate.compiler.ir import Kernel, Node, constant_int
from groundstate.compiler.ir.ops import CHAINS
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.opcodes import Decoration
from groundstate.compiler.spirv.types import Int

LONG, WORD = 64, 32
MOST_SCALED = 4
"""The shift to the right may be less by so much: a number is extended, and multiplied by a size."""


def trust_indices(kernel: Kernel, analyses: Analyses) -> bool:
    """Promises that products of ids do not wrap, where they are nothing but indices."""
    del analyses
    extending = [node for node in kernel.nodes() if _extends_word(node)]
    if not extending:
        return False
    users, trusted = kernel.users(), False
    for node in extending:
        if all(_steps_by(each, node) for each in users[node]):
            node.decorations = {**node.decorations, Decoration.NoSignedWrap: ()}
            trusted = True
    return trusted


def _extends_word(node: Node) -> bool:
    """True for the low word of a number, multiplied or not, with its sign."""
    if node.op != "ShiftRightArithmetic" or Decoration.NoSignedWrap in node.decorations:
        return False
    amount = constant_int(node.operands[1])
    is_long = isinstance(node.type, Int) and node.type.width == LONG
    return is_long and amount is not None and WORD - MOST_SCALED <= amount <= WORD


def _steps_by(user: Node, index: Node) -> bool:
    return user.op in CHAINS and user.operands[0] is not index
