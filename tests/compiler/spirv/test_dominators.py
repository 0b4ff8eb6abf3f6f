"""Dominators by their definition, for graphs of all shapes, and for one that is large."""

from __future__ import annotations

import random

from groundstate.compiler.analysis.dominators import immediate_dominators


def reached(successors: list[list[int]], root: int, without: int) -> set[int]:
    """The nodes that can be reached from the root if one is taken away."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node not in seen and node != without:
            seen.add(node)
            stack += successors[node]
    return seen


def by_definition(successors: list[list[int]], root: int) -> list[int]:
    """A node dominates another if that cannot be reached without it."""
    nodes = reached(successors, root, -1)
    dominated_by: dict[int, set[int]] = {node: set() for node in nodes}
    for node in nodes:
        for other in nodes - reached(successors, root, node) - {node}:
            dominated_by[other].add(node)
    found = [-1] * len(successors)
    found[root] = root
    for node in nodes - {root}:
        # The closest dominator is the one that all the others dominate.
        found[node] = max(dominated_by[node], key=lambda each: len(dominated_by[each]))
    return found


def test_random_graphs() -> None:
    for seed in range(500):
        chance = random.Random(seed)
        count = chance.randint(1, 14)
        graph = [
            [chance.randrange(count) for _ in range(chance.randint(0, 3))] for _ in range(count)
        ]
        assert immediate_dominators(graph, 0) == by_definition(graph, 0), graph


def test_large_graph() -> None:
    """Each node leads to the next and to the last; so only the first dominates the last."""
    count = 50_000
    chain = [[node + 1, count] for node in range(count)]
    found = immediate_dominators([*chain, []], 0)
    assert found == [0, *range(count - 1), 0]
