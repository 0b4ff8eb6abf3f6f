"""Immediate dominators of a directed graph, in time that grows little faster than the graph.

The "semi-NCA" way: a depth-first walk numbers the nodes; working backwards, each node's
semi-dominator is found (the earliest node from which a way leads to it through later nodes only);
working forwards, the immediate dominator is the closest ancestor in the tree of the walk that is
not behind the semi-dominator.
"""

from __future__ import annotations

from collections.abc import Sequence


def immediate_dominators(successors: Sequence[Sequence[int]], root: int) -> list[int]:
    """For each node the last one before it that every way from the root passes.

    The root's is the root itself; of a node that cannot be reached it is -1.

    >>> immediate_dominators([[1, 2], [3], [3], [1], [0]], 0)
    [0, 0, 0, 0, -1]
    """
    order, parents = _walk(successors, root)
    number = {node: position for position, node in enumerate(order)}
    predecessors: list[list[int]] = [[] for _ in order]
    for node in order:
        for successor in successors[node]:
            predecessors[number[successor]].append(number[node])
    semi = _semi_dominators(parents, predecessors)
    above = list(parents)
    for node in range(1, len(order)):
        closest = parents[node]
        while closest > semi[node]:
            closest = above[closest]
        above[node] = closest
    found = [-1] * len(successors)
    for position, node in enumerate(order):
        found[node] = order[above[position]]
    return found


def _walk(successors: Sequence[Sequence[int]], root: int) -> tuple[list[int], list[int]]:
    """The nodes in the order of a depth-first walk, and the position of each one's parent."""
    order, parents = [root], [0]
    position = {root: 0}
    stack = [(0, iter(successors[root]))]
    while stack:
        parent, rest = stack[-1]
        for node in rest:
            if node not in position:
                position[node] = len(order)
                stack.append((len(order), iter(successors[node])))
                order.append(node)
                parents.append(parent)
                break
        else:
            stack.pop()
    return order, parents


def _semi_dominators(parents: list[int], predecessors: list[list[int]]) -> list[int]:
    """The semi-dominator of each node; nodes are their positions in the walk."""
    semi = list(range(len(parents)))
    best = list(range(len(parents)))
    """The node with the earliest semi-dominator between a node and its `above`."""
    above = list(parents)
    for node in range(len(parents) - 1, 0, -1):
        earliest = parents[node]
        for source in predecessors[node]:
            earliest = min(earliest, semi[_best(source, node, above, best, semi)])
        semi[node] = earliest
    return semi


def _best(start: int, after: int, above: list[int], best: list[int], semi: list[int]) -> int:
    """The node with the earliest semi-dominator among `start` and its ancestors behind `after`.

    The ways that were gone are shortened, so that they are not gone again.
    """
    path = []
    node = start
    while node > after and above[node] > after:
        path.append(node)
        node = above[node]
    for later in reversed(path):
        earlier = above[later]
        if semi[best[earlier]] < semi[best[later]]:
            best[later] = best[earlier]
        above[later] = above[earlier]
    return best[start]
