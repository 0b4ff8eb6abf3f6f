"""Lists of which only some commands are wanted, and calls that name others instead.

A list that one submission of a cut runs in part and another one whole becomes two lists. What was
said to the list is then said to both, except for commands that one of them leaves out.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from groundstate.capture.describe import NamedCall
from groundstate.capture.stream import Block, Call
from groundstate.capture.stream.formats import Form, Phase
from groundstate.capture.structure import CommandList
from groundstate.capture.subcapture.cut import Part
from groundstate.capture.subcapture.recorded import LIST, Recorded

_APPENDS = re.compile(r"zet?(RTASBuilder)?CommandListAppend\w+")


@dataclass(frozen=True)
class Variant:
    """A list with some of the commands of a recorded list; all of them if `calls` is None."""

    handle: int
    calls: frozenset[int] | None

    def takes(self, call: NamedCall) -> bool:
        """Whether something that was said to the list is said to this one."""
        return self.calls is None or not _APPENDS.fullmatch(call.name) or call.number in self.calls


class Variants:
    """The lists of a stream that is written, and how calls name them.

    Parts that are whole lists share the recorded list. Each other part has a list of its own, which
    is the recorded one if no part is whole.
    """

    def __init__(self, recorded: Recorded, new_handle: Callable[[], int]) -> None:
        self._recorded = recorded
        self._new_handle = new_handle
        self._of: dict[CommandList, list[Variant]] = {}

    def keep(self, kept: CommandList) -> None:
        """Leaves a list as it was, whatever else is made of it."""
        self._of.setdefault(kept, []).insert(0, Variant(kept.handle, None))

    def want(self, parts: list[Part]) -> None:
        """Makes the lists that hold these parts; to be said once for all parts that are whole."""
        whole: dict[CommandList, set[int]] = {}
        parts = [part for part in parts if not part.list.immediate]  # those hold nothing
        for part in parts:
            if part.whole:
                whole.setdefault(part.list, set()).update(part.calls)
        for each, calls in whole.items():
            if not self._of.get(each):
                self._of[each] = [Variant(each.handle, frozenset(calls))]
        for part in parts:
            if not part.whole and self._found(part) is None:
                variants = self._of.setdefault(part.list, [])
                handle = self._new_handle() if variants else part.list.handle
                variants.append(Variant(handle, part.calls))

    def handle(self, part: Part) -> int:
        """The list that holds a part's commands."""
        found = self._found(part)
        return part.list.handle if found is None else found.handle

    def _found(self, part: Part) -> Variant | None:
        variants = self._of.get(part.list, [])
        if part.whole:
            return variants[0] if variants else None
        return next((x for x in variants if x.calls == part.calls), None)

    def said(self, call: NamedCall) -> Iterator[Call]:
        """A call as it is said to each list that it was about; as it is if it was about none."""
        mine = self._list_of(call)
        variants = [] if mine is None else self._of.get(mine, [])
        if mine is None or not variants:
            yield call.call
            return
        for variant in variants:
            if variant.takes(call):
                yield renamed(call.call, mine.handle, variant.handle)

    def _list_of(self, call: NamedCall) -> CommandList | None:
        """The list that a call makes, or else the first one that it was given."""
        made = self._recorded.lifetimes.made.get(call.number, ())
        for life in (*made, *self._recorded.uses(call.number)):
            if life.kind == LIST:
                return self._recorded.list_of(life)
        return None


def renamed(call: Call, old: int, new: int) -> Call:
    """A call with another handle in its arguments and in the handles that it gives back."""
    if old == new:
        return call
    arguments = tuple(new if word == old else word for word in call.arguments)
    return replace(
        call, arguments=arguments, blocks=tuple(_renamed(b, old, new) for b in call.blocks)
    )


def _renamed(block: Block, old: int, new: int) -> Block:
    if block.phase != Phase.AFTER or block.form != Form.BYTES or block.size != 8:
        return block
    (handle,) = struct.unpack("<Q", block.data)
    return replace(block, data=struct.pack("<Q", new)) if handle == old else block


def with_lists(call: NamedCall, handles: list[int]) -> Call:
    """A submission of lists with other lists; the array may be shorter than it was."""
    address = call.argument("phCommandLists")
    words = dict(zip(_names(call), call.call.arguments, strict=False))
    words["numCommandLists"] = len(handles)
    data = struct.pack(f"<{len(handles)}Q", *handles)
    others = [b for b in call.call.blocks if (b.address, b.phase) != (address, Phase.BEFORE)]
    blocks = (*others, Block(address, len(data), Phase.BEFORE, Form.BYTES, data))
    return replace(call.call, arguments=tuple(words.values()), blocks=blocks)


def _names(call: NamedCall) -> list[str]:
    return [declaration.split()[-1].lstrip("*") for declaration in call.parameters]
