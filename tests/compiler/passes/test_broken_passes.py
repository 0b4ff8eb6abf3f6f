"""A pass that is broken on purpose: the verifier names the pass and the node."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.analysis.simple_loop import SimpleLoop
from groundstate.compiler.instrument.passes import ALL_PASSES as PASSES
from groundstate.compiler.ir import Block, Kernel, Node
from groundstate.compiler.ir.passes import Analyses, Pass
from groundstate.compiler.ir.verifier import VerifierError
from groundstate.compiler.light_dataclass import replace
from groundstate.compiler.lower import barriers, builtins, copies, group_operations
from groundstate.compiler.opt import mem2reg, merge_loads
from groundstate.compiler.spirv.types import Float, Vector, Void
from tests.compiler.passes.test_passes import CASES

Break = Callable[[pytest.MonkeyPatch], None]


def nothing(*_: object) -> None:
    """Takes the place of something that a pass should do."""


def value_of_one_way_where_several_meet(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(mem2reg._Joins, "behind", lambda self, blocks, inside: [])
    patch.setattr(
        mem2reg._Promotion,
        "_entering",
        lambda self, block: [self.undefined, *self.leaving.values()][-1],
    )


def phis_with_one_value(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(mem2reg._Promotion, "_leaving", lambda self, block: Node("Undef", Float(64)))


def first_value_is_taken_from_the_loop(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SimpleLoop, "first_value", SimpleLoop.next_value)


def exits_are_not_merged(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SimpleLoop, "merge_exits", nothing)


def loop_is_still_entered_from_before(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SimpleLoop, "enter_from", nothing)


def phis_behind_a_barrier_keep_their_source(patch: pytest.MonkeyPatch) -> None:
    def continue_in(block: Block, rest: Block) -> Block:
        rest.condition, block.condition = block.condition, None
        rest.successors, block.successors = block.successors, [rest]
        return rest

    patch.setattr(barriers, "_continue_in", continue_in)


def condition_stays_before_the_barrier(patch: pytest.MonkeyPatch) -> None:
    def continue_in(block: Block, rest: Block) -> Block:
        rest.successors, block.successors = block.successors, [rest]
        return rest

    patch.setattr(barriers, "_continue_in", continue_in)


def vector_of_the_wrong_length(patch: pytest.MonkeyPatch) -> None:
    right = merge_loads._Merging._merge

    def join(self: Any, first: Node, type_: Any, parts: Any) -> None:
        right(self, first, Vector(type_.element, type_.count - 1), parts)

    patch.setattr(merge_loads._Merging, "_merge", join)


def store_with_its_operands_swapped(patch: pytest.MonkeyPatch) -> None:
    def store(copy: Node, value: Node) -> None:
        copy.op, copy.operands, copy.literals = "Store", [value, copy.operands[0]], ()

    patch.setattr(copies, "_store", store)


def barrier_without_semantics(patch: pytest.MonkeyPatch) -> None:
    def barrier(where: str) -> Node:
        scope = group_operations._number(2)
        return Node("ControlBarrier", Void(), [scope, scope], where=where)

    patch.setattr(group_operations, "_barrier", barrier)


def builtin_that_keeps_its_operand(patch: pytest.MonkeyPatch) -> None:
    def become(node: Node, name: str, component: int | None) -> None:
        node.op, node.literals = "Builtin", (name, component or 0)

    patch.setattr(builtins, "_become", become)


BROKEN: dict[Break, tuple[str, str]] = {
    value_of_one_way_where_several_meet: ("mem2reg", "which not every way to here passes"),
    phis_with_one_value: ("mem2reg", "Phi: it is a"),
    first_value_is_taken_from_the_loop: ("no-wrap", "which not every way to here passes"),
    exits_are_not_merged: ("unroll", "which not every way to here passes"),
    loop_is_still_entered_from_before: ("no-wrap", "its sources are not the predecessors"),
    phis_behind_a_barrier_keep_their_source: (
        "split-at-barriers",
        "its sources are not the predecessors",
    ),
    condition_stays_before_the_barrier: ("split-at-barriers", "nothing decides which"),
    vector_of_the_wrong_length: ("merge-loads", "CompositeExtract: a"),
    store_with_its_operands_swapped: ("lower-copies", "Store: it needs an address"),
    barrier_without_semantics: (
        "lower-group-operations",
        "ControlBarrier: it does not take 2 operands",
    ),
    builtin_that_keeps_its_operand: ("lower-builtins", "Builtin: it does not take 1 operands"),
}


def run_cases(step: Pass, name: str) -> None:
    """Runs a pass on the kernels of its file that it should change."""
    for case in CASES:
        if case.step == name and not case.is_unchanged:
            case.run(step)


@pytest.mark.parametrize("damage", BROKEN, ids=lambda each: each.__name__)
def test_broken_pass_is_named_with_the_node(damage: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    name, sentence = BROKEN[damage]
    run_cases(PASSES[name], name)
    damage(monkeypatch)
    with pytest.raises(VerifierError) as problem:
        run_cases(PASSES[name], name)
    assert f"after {name}, kernel " in str(problem.value)
    assert sentence in str(problem.value)


@pytest.mark.parametrize("name", ["mem2reg", "unroll", "lower-copies", "simplify"])
def test_change_that_a_pass_denies_is_found(name: str) -> None:
    def silent(kernel: Kernel, analyses: Analyses) -> bool:
        PASSES[name].run(kernel, analyses)
        kernel.reorder()
        return False

    with pytest.raises(VerifierError, match=f"after {name}, .* says that it has changed nothing"):
        run_cases(replace(PASSES[name], run=silent), name)


@pytest.mark.parametrize("name", ["unroll", "no-wrap", "distribute-loops", "split-at-barriers"])
def test_graph_that_a_pass_breaks_is_found(name: str) -> None:
    with pytest.raises(VerifierError, match=f"after {name}, .* keeps the control-flow graph"):
        run_cases(replace(PASSES[name], keeps=(CFG,)), name)


def test_verifier_tells_kernels_of_threads_apart() -> None:
    """A driver compiles one for a launch and others in the background."""

    def run_beside_another(kernel: Kernel, analyses: Analyses) -> bool:
        thread = threading.Thread(target=run_cases, args=(PASSES["simplify"], "simplify"))
        thread.start()
        thread.join()
        return PASSES["simplify"].run(kernel, analyses)

    run_cases(replace(PASSES["simplify"], run=run_beside_another), "simplify")
