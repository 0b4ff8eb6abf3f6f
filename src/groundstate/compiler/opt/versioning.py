"""Loop versioning: a second version of a loop, for when something is true that mostly is.

In goes a simple loop, a faster version of it, and the conditions under which that one computes the
same. Out comes a kernel that asks for the conditions before the loop, one after the other, and runs
one version or the other; behind both, a phi has each value that is used there. The passes differ in
what they assume and in how they make the faster version: a copy of the loop, or all of its
iterations in a row.
"""

from __future__ import annotations

from groundstate.compiler.analysis.simple_loop import SimpleLoop, retarget
from groundstate.compiler.ir import Block, Node
from groundstate.compiler.light_dataclass import field, light_dataclass


@light_dataclass()
class Guard:
    """A condition that must hold for the faster version."""

    condition: Node
    nodes: list[Node] = field(default_factory=list)
    """What computes it, in order; it is the last of them."""
    wanted: bool = True
    """The value that it must have."""


@light_dataclass()
class Version:
    """The faster version of a loop: it leads from one block to another, behind which is `after`."""

    entry: Block
    exit: Block
    after: Block
    values: dict[Node, Node]
    """What takes the place of the loop's values."""

    @staticmethod
    def copy_of(loop: SimpleLoop, guard: Block) -> Version:
        """A copy of a loop that is entered from a block."""
        after = Block(loop.header.where)
        head, copies = loop.copy(loop.inside, guard, after)
        return Version(head, head, after, copies)


def add_version(
    loop: SimpleLoop, first: Block, guards: list[Guard], fast: Version, slow: Block | None = None
) -> None:
    """Puts a faster version beside a loop, which runs if all guards hold.

    The first guard is asked in the block `first`; `slow` is a block that leads to the loop if not
    all hold. There must be one if there are several guards."""
    assert slow is not None or len(guards) == 1
    where = loop.header.where
    fast.after.successors = [loop.exit]
    loop.merge_exits(fast.exit, fast.after, fast.values)
    retarget(loop.entering, first, loop.header)
    loop.enter_from(slow or first)
    if slow is not None:
        slow.successors = [loop.header]
    block = first
    for number, guard in enumerate(guards):
        block.nodes += guard.nodes
        block.condition = guard.condition
        following = fast.entry if number == len(guards) - 1 else Block(where)
        ways = [following, slow or loop.header]
        block.successors = ways if guard.wanted else ways[::-1]
        block = following
