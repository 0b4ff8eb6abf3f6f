"""Asynchronous copies of a group, and waits for them: what the checkers of races and barriers are
told of both (native/check/group_copies.c).

For races, a copy gives its event a number of its own, so that a wait says which copy it is for. For
barriers, each work-item tells what it gave, because all of them have to give the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from groundstate.compiler.ir import Kernel, Node, constant_int, constant_node
from groundstate.compiler.ir.ops import guards_of
from groundstate.compiler.ir.site import make_site
from groundstate.compiler.spirv.types import Event, Int, Pointer, Void

NO_ACCESS = {"arguments": 0, "is_own": True, "row": None}
COPIES = ("GroupAsyncCopy", "UntypedGroupAsyncCopyKHR")
WAIT = "GroupWaitEvents"
MOST_EVENTS = 16
"""Of a wait that are looked at."""


def tell_copy(kernel: Kernel, node: Node) -> Node:
    """What is told of a copy before the memory that it accesses: it gets an event."""
    site = len(kernel.sites)
    kernel.sites.append(make_site("races", node, bytes=0, flags=0, is_copy=True, **NO_ACCESS))
    event = arguments(node)[-1]
    node.literals = (*node.literals, site + 1)
    return node.derive("TellCopyBegins", Void(), [event], (site,))


def tell_wait(kernel: Kernel, node: Node) -> Iterator[Node]:
    """What is told of a wait: the events, or that all are waited for."""
    nodes, events = _events(node)
    yield from nodes
    site = len(kernel.sites)
    kernel.sites.append(make_site("races", node, bytes=0, flags=0, **NO_ACCESS))
    for operands in [[each] for each in events] or [[]]:
        yield node.derive("TellWait", Void(), operands, (site,))


def tell_together(kernel: Kernel, node: Node) -> Iterator[Node]:
    """What each work-item tells of a copy or a wait."""
    given = arguments(node)[1:]
    if node.op == WAIT:
        nodes, events = _events(node)
        yield from nodes
        given = [given[0], *events]
    noun = "wait for copies" if node.op == WAIT else "copy"
    kernel.sites.append(make_site("sync", node, noun=noun, bytes=0, flags=0))
    yield node.derive("TellTogether", Void(), given, (len(kernel.sites) - 1,))


def arguments(node: Node) -> list[Node]:
    """The operands that the program gives."""
    guards = guards_of(node)
    return [each for each in node.operands if each not in guards]


def _events(node: Node) -> tuple[list[Node], list[Node]]:
    """What loads the events of a wait, and these; none if it is not known where they are."""
    _, count, pointer = arguments(node)
    number = constant_int(count)
    event = pointer.type.pointee if isinstance(pointer.type, Pointer) else None
    if number is None or not 0 < number <= MOST_EVENTS or not isinstance(event, Event):
        return [], []
    nodes: list[Node] = []
    events = []
    for each in range(number):
        index = constant_node(Int(64, False), each)
        place = node.derive("PtrAccessChain", pointer.type, [pointer, index])
        events.append(node.derive("Load", event, [place]))
        nodes += [place, events[-1]]
    return nodes, events
