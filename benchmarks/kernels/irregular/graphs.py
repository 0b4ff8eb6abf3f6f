"""Graphs and trees: edges that lead anywhere, and paths of different lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.cases import Argument, Array, Case
from benchmarks.kernels.irregular.inputs import (
    GROUP,
    PERIOD,
    empty,
    floats,
    generator,
    lengths,
    offsets,
    popular,
)
from benchmarks.kernels.irregular.sparse import row_sums

DEGREE = 8
"""Edges of a node on average."""
DAMPING = 0.85


def _edges(inputs: str, nodes: int) -> tuple[Array, Array]:
    """Where the edges of each node begin, and where they lead: often to the same if skewed."""
    starts = offsets(lengths(inputs, nodes, DEGREE))
    count = int(starts[-1])
    if inputs == "skewed":
        return starts, popular(count, nodes)
    return starts, generator(18).integers(0, nodes, count, dtype=np.int32)


def bfs_level(inputs: str, nodes: int) -> Case:
    """One level of a breadth-first search: nodes of the frontier mark neighbours not yet seen.

    In the adversarial graph, only the nodes with many edges are in the frontier.
    """

    def arguments() -> list[Argument]:
        starts, edges = _edges(inputs, nodes)
        levels = generator(19).choice([-1, -1, 2, 3], nodes).astype(np.int32)
        if inputs == "adversarial":
            many = np.diff(starts) > DEGREE
            levels = np.where(many, 3, np.where(levels == 3, 2, levels)).astype(np.int32)
        return [starts, edges, levels, empty(nodes, dtype=np.uint8), np.int32(3)]

    def marked(given: list[Any]) -> Array:
        starts, edges, levels, _, level = given
        reached = edges[np.repeat(levels == level, np.diff(starts))]
        result = np.zeros(nodes, np.uint8)
        result[reached[levels[reached] < 0]] = 1
        return result

    return Case(
        "bfs_level",
        f"breadth-first search, a level, {inputs} degrees",
        (nodes,),
        (GROUP,),
        arguments,
        3,
        marked,
        work=nodes * 1e3,
        unit="M nodes/s",
        limit="bfs_level",
        inputs=inputs,
    )


def pagerank_step(inputs: str, nodes: int) -> Case:
    """One step of PageRank: each node collects from the nodes that link to it."""

    def arguments() -> list[Argument]:
        starts, sources = _edges(inputs, nodes)
        degrees = np.maximum(np.bincount(sources, minlength=nodes), 1).astype(np.int32)
        return [starts, sources, degrees, floats(nodes), empty(nodes), np.int32(nodes)]

    def ranks(given: list[Any]) -> Array:
        starts, sources, degrees, before, _, _ = given
        parts = (before.astype(np.float64) / degrees)[sources]
        return (1 - DAMPING) / nodes + DAMPING * row_sums(parts, starts)

    return Case(
        "pagerank_step",
        f"PageRank step, {inputs} degrees",
        (nodes,),
        (GROUP,),
        arguments,
        4,
        ranks,
        work=nodes * DEGREE,
        unit="G edges/s",
        tolerance=1e-5,
        limit="pagerank_step",
        inputs=inputs,
    )


# --- Trees ----------------------------------------------------------------------------------------


def _tree(inputs: str, leaves: int) -> list[Array]:
    """A binary tree over 0 to `leaves`: where each node splits, and its two children.

    A child below 0 is a leaf, as its complement. The uniform tree is balanced, the skewed one has
    splits anywhere, in the adversarial one every node but the last has a leaf on its left. Nodes
    are anywhere in memory, except for the root.
    """
    chance = generator(20)
    splits = np.zeros(leaves - 1, np.float32)
    children = np.zeros((2, leaves - 1), np.int32)
    low, high, nodes, used = np.array([0]), np.array([leaves]), np.array([0]), 1
    places = np.concatenate(([0], 1 + chance.permutation(leaves - 2)))
    while len(nodes):
        at = {
            "uniform": (low + high) // 2,
            "skewed": low + 1 + (chance.random(len(low)) * (high - low - 1)).astype(np.int64),
            "adversarial": low + 1,
        }[inputs]
        splits[places[nodes]] = at
        begins, ends, inner = [], [], []
        for side, (begin, end) in enumerate(((low, at), (at, high))):
            leaf = end - begin == 1
            numbers = used + np.cumsum(~leaf) - 1
            used += int(np.sum(~leaf))
            inside = np.minimum(numbers, leaves - 2)  # a leaf's number is not used
            children[side, places[nodes]] = np.where(leaf, ~begin, places[inside])
            begins.append(begin[~leaf])
            ends.append(end[~leaf])
            inner.append(numbers[~leaf])
        low, high, nodes = map(np.concatenate, (begins, ends, inner))
    return [splits, children[0], children[1]]


LEAVES = {"uniform": 1 << 16, "skewed": 1 << 16, "adversarial": 1 << 11}


def tree_traversal(inputs: str, queries: int) -> Case:
    """Each work-item walks from the root of a binary tree to a leaf.

    In the adversarial tree one of 61 walks to the deepest leaf, the others to one near the root.
    """
    leaves = min(LEAVES[inputs], queries)

    def arguments() -> list[Argument]:
        keys = generator(21).random(queries, dtype=np.float32)
        if inputs == "adversarial":
            deep = np.arange(queries) % PERIOD == 0
            keys = np.where(deep, leaves - np.float32(0.5), 4 * keys).astype(np.float32)
        else:
            keys *= leaves
        return [*_tree(inputs, leaves), keys, empty(queries, dtype=np.int32)]

    return Case(
        "tree_traversal",
        f"tree traversal, {inputs} depths",
        (queries,),
        (GROUP,),
        arguments,
        4,
        lambda given: np.floor(given[3]).astype(np.int32),
        work=queries * 1e3,
        unit="M queries/s",
        inputs=inputs,
    )
