"""The verifier names the rule that a kernel breaks, and the pass that broke it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.parser import parse_kernel
from groundstate.compiler.ir.pass_observers import Verifier
from groundstate.compiler.ir.passes import Analyses, Pass, observers, run_passes
from groundstate.compiler.ir.verifier import VerifierError, verify
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Float, Int, Pointer, Void
from groundstate.compiler.target import Target

TEXT = """
kernel "k"
argument 0: global u32*
argument 1: bool
block 0:
  %0: u32 = Load argument 0
  branch argument 1, block 1, block 2
block 1:
  %1: u32 = IAdd %0, u32:1
  branch block 3
block 2:
  %2: u32 = IMul %0, u32:3
  branch block 3
block 3:
  %3: u32 = Phi block 1: %1, block 2: %2
  Store argument 0, %3
  return
"""


def of_op(kernel: Kernel, op: str) -> Node:
    return next(node for node in kernel.nodes() if node.op == op)


def uses_what_may_not_be_there(kernel: Kernel) -> None:
    of_op(kernel, "Store").operands[1] = of_op(kernel, "IAdd")


def uses_what_comes_later(kernel: Kernel) -> None:
    block = kernel.blocks[0]
    late = Node("IAdd", Int(32, False), [block.nodes[0], block.nodes[0]])
    block.nodes.append(late)
    block.nodes[0].operands = [Node("Argument", late.type, literals=(0,))]
    kernel.renumber()
    block.nodes.reverse()
    kernel.renumber()


def uses_a_node_of_no_block(kernel: Kernel) -> None:
    of_op(kernel, "Store").operands[1] = Node("Load", Int(32, False))


def phi_of_other_blocks(kernel: Kernel) -> None:
    phi = of_op(kernel, "Phi")
    phi.literals = (phi.literals[0], kernel.blocks[0])


def phi_of_another_type(kernel: Kernel) -> None:
    of_op(kernel, "IMul").type = Float(32)
    of_op(kernel, "IMul").op = "FConvert"
    of_op(kernel, "FConvert").operands = [Node("Undef", Float(64))]


def number_where_a_float_is_needed(kernel: Kernel) -> None:
    of_op(kernel, "IAdd").op = "FAdd"


def too_few_operands(kernel: Kernel) -> None:
    of_op(kernel, "IAdd").operands.pop()


def no_such_operation(kernel: Kernel) -> None:
    of_op(kernel, "IAdd").op = "IPlus"


def no_result(kernel: Kernel) -> None:
    node = of_op(kernel, "IAdd")
    of_op(kernel, "Phi").operands = [Node("Undef", node.type), Node("Undef", node.type)]
    node.type = Void()


def branch_on_a_number(kernel: Kernel) -> None:
    kernel.blocks[0].condition = of_op(kernel, "Load")


def branch_without_a_condition(kernel: Kernel) -> None:
    kernel.blocks[0].condition = None


def block_outside(kernel: Kernel) -> None:
    kernel.blocks[1].successors = [Block()]


def not_numbered_again(kernel: Kernel) -> None:
    kernel.blocks[1].successors = [kernel.blocks[2]]


def twice_in_the_kernel(kernel: Kernel) -> None:
    kernel.blocks[2].nodes.append(of_op(kernel, "IAdd"))


def address_that_is_none(kernel: Kernel) -> None:
    of_op(kernel, "Store").operands[0] = of_op(kernel, "Load")


def constant_memory_is_written(kernel: Kernel) -> None:
    constants = Pointer(StorageClass.UniformConstant, Int(32, False))
    of_op(kernel, "Store").operands[0] = Node("Undef", constants)


def argument_that_is_not_there(kernel: Kernel) -> None:
    of_op(kernel, "IAdd").operands[1] = Node("Argument", Int(32, False), literals=(2,))


def phi_with_a_value_too_many(kernel: Kernel) -> None:
    of_op(kernel, "Phi").operands.append(of_op(kernel, "Load"))


def phi_with_two_values_from_a_block(kernel: Kernel) -> None:
    phi = of_op(kernel, "Phi")
    phi.operands.append(phi.operands[1])
    phi.literals = (*phi.literals, phi.literals[0])


def condition_that_nobody_asks(kernel: Kernel) -> None:
    kernel.blocks[1].condition = kernel.blocks[0].condition


def block_that_nothing_leads_to(kernel: Kernel) -> None:
    kernel.blocks.append(Block("k"))
    kernel.renumber()


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (uses_what_may_not_be_there, "which not every way to here passes"),
        (uses_what_comes_later, "which comes only later"),
        (uses_a_node_of_no_block, "which is not in the kernel"),
        (phi_of_other_blocks, "its sources are not the predecessors of its block"),
        (phi_of_another_type, "it is a u32, and"),
        (number_where_a_float_is_needed, "its result is a u32, and not made of floats"),
        (too_few_operands, "it does not take 1 operands"),
        (no_such_operation, "there is no such operation"),
        (no_result, "its result is a void, and not made of integers"),
        (branch_on_a_number, "it branches on a u32"),
        (branch_without_a_condition, "and nothing decides which"),
        (block_outside, "leads to a block that is not in the kernel"),
        (not_numbered_again, "its predecessors are not those blocks that lead to it"),
        (twice_in_the_kernel, "stands in the kernel twice"),
        (constant_memory_is_written, "it writes through a "),
        (argument_that_is_not_there, "it uses argument 2, which the kernel does not have"),
        (phi_with_a_value_too_many, "it has 3 values from 2 blocks"),
        (phi_with_two_values_from_a_block, "it has two values from one block"),
        (condition_that_nobody_asks, "has a condition, and leads to 1 blocks"),
        (block_that_nothing_leads_to, "no way leads there from block 0"),
        (address_that_is_none, "it needs an address, and is given a u32"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_broken_rule_is_named(damage: Callable[[Kernel], None], sentence: str) -> None:
    kernel = parse_kernel(TEXT)
    verify(kernel)
    damage(kernel)
    with pytest.raises(VerifierError, match=sentence):
        verify(kernel, "a pass")


def test_pass_that_breaks_a_rule_is_named() -> None:
    def swap(kernel: Kernel, analyses: Analyses) -> bool:
        del analyses
        uses_what_may_not_be_there(kernel)
        return True

    kernel = parse_kernel(TEXT)
    assert any(isinstance(each, Verifier) for each in observers), "all tests verify every pass"
    with pytest.raises(VerifierError, match=r"after swap-values, kernel 'k': "):
        run_passes([Pass("swap-values", swap)], kernel, Analyses(kernel, Target(lanes=8)))


def test_pass_is_not_blamed_for_what_it_is_given() -> None:
    kernel = parse_kernel(TEXT)
    uses_what_may_not_be_there(kernel)
    step = Pass("innocent", lambda kernel, analyses: False)
    with pytest.raises(VerifierError, match=r"after what comes before innocent, kernel 'k': "):
        run_passes([step], kernel, Analyses(kernel, Target(lanes=8)))


def test_copy_is_the_same_and_apart() -> None:
    kernel = parse_kernel(TEXT)
    copy = kernel.copy()
    verify(copy)
    of_op(copy, "IAdd").op = "ISub"
    copy.blocks[1].successors = [copy.blocks[0]]
    assert of_op(kernel, "IAdd").op == "IAdd"
    verify(kernel)
