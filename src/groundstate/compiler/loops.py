"""Loops as a CPU likes them: no more sums than registers, addresses that stay in a row, and no
counting for a few rounds."""

from __future__ import annotations

from groundstate.compiler.adjacent_loads import join_loads
from groundstate.compiler.graph import Graph
from groundstate.compiler.ir import Block
from groundstate.compiler.reading_ahead import read_ahead
from groundstate.compiler.short_loops import write_out_short_loops
from groundstate.compiler.split_loops import Sums, load_of_one_lane, load_when_needed
from groundstate.compiler.straight_loops import StraightLoop
from groundstate.compiler.uniformity import Uniformity
from groundstate.compiler.unwrapped_loops import unwrap


def improve_loops(uniformity: Uniformity, natural: int) -> Uniformity:
    """The kernel with its loops changed; `natural` lanes fill a register."""
    if uniformity.width > 1:
        for change in (write_out_short_loops, join_loads, read_ahead):
            if change(uniformity):
                uniformity = _solved(uniformity)
    for header in [loop.header for loop in uniformity.graph.loops]:
        uniformity = _improve(uniformity, header, natural)
    return uniformity


def _improve(uniformity: Uniformity, header: Block, natural: int) -> Uniformity:
    loop = StraightLoop.at(uniformity, header)
    if loop is None:
        return uniformity
    is_overfull = Sums(loop, natural).are_too_many
    if is_overfull:
        for change in (load_when_needed, load_of_one_lane):
            change(loop)
            uniformity = _solved(uniformity)
            loop = StraightLoop.at(uniformity, header)
            assert loop is not None, "its branches are as they were"
    unwrapped = unwrap(loop)
    if unwrapped is not None:
        uniformity = _solved(uniformity)
        loop = StraightLoop.at(uniformity, unwrapped)
    if is_overfull and loop is not None:
        Sums(loop, natural).split_if_worth_it()
        uniformity = _solved(uniformity)
    return uniformity


def _solved(given: Uniformity) -> Uniformity:
    """The same for a kernel that was changed."""
    kernel = given.kernel
    kernel.reorder()
    return Uniformity(kernel, Graph(kernel), given.group_size, given.width, given.subgroup)
