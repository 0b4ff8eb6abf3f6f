"""Loops as a CPU likes them: no more sums than registers, addresses that stay in a row, and no
counting for a few rounds."""

from __future__ import annotations

from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.analysis.simple_loop import SimpleLoop
from groundstate.compiler.ir import Block
from groundstate.compiler.opt.distribute import Sums, load_of_one_lane, load_when_needed
from groundstate.compiler.opt.merge_loads import join_loads
from groundstate.compiler.opt.nowrap import unwrap
from groundstate.compiler.opt.prefetch import read_ahead
from groundstate.compiler.opt.unroll import write_out_short_loops


def improve_loops(divergence: Divergence, natural: int) -> Divergence:
    """The kernel with its loops changed; `natural` lanes fill a register."""
    if divergence.width > 1:
        for change in (write_out_short_loops, join_loads, read_ahead):
            if change(divergence):
                divergence = _solved(divergence)
    for header in [loop.header for loop in divergence.cfg.loops]:
        divergence = _improve(divergence, header, natural)
    return divergence


def _improve(divergence: Divergence, header: Block, natural: int) -> Divergence:
    loop = SimpleLoop.at(divergence, header)
    if loop is None:
        return divergence
    is_overfull = Sums(loop, natural).are_too_many
    if is_overfull:
        for change in (load_when_needed, load_of_one_lane):
            change(loop)
            divergence = _solved(divergence)
            loop = SimpleLoop.at(divergence, header)
            assert loop is not None, "its branches are as they were"
    unwrapped = unwrap(loop)
    if unwrapped is not None:
        divergence = _solved(divergence)
        loop = SimpleLoop.at(divergence, unwrapped)
    if is_overfull and loop is not None:
        Sums(loop, natural).split_if_worth_it()
        divergence = _solved(divergence)
    return divergence


def _solved(given: Divergence) -> Divergence:
    """The same for a kernel that was changed."""
    kernel = given.kernel
    kernel.reorder()
    return Divergence(kernel, CFG(kernel), given.group_size, given.width, given.subgroup)
