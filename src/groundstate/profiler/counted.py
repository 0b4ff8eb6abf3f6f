"""What the groups of a kernel do, from the counters of its blocks and what the driver told of them.

>>> expression_at("    s += val[j] * x[col[j]];", 19)
'x[col[j]]'
>>> expression_at("    out[x * n + y] = in[y * n + x];", 20)
'out[x * n + y]'
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from groundstate.native_layouts import BLOCK_COSTS, MetricCounts
from groundstate.profiler.recorded import Counts, Place

WORDS = [name for name, *_ in MetricCounts._fields_][-BLOCK_COSTS:]
KINDS = ("consecutive", "uniform", "strided", "gathered")
MOST_CHARACTERS = 40
"""Of an expression in a sentence."""


@dataclass
class Site:
    """One place that accesses memory, in so many work-items."""

    kind: str
    space: str
    words: str
    """A read, a write or an atomic access."""
    size: int
    items: int
    place: Place | None
    text: str = ""
    """The line of the source, if it is known."""

    @property
    def expression(self) -> str:
        return expression_at(self.text, self.place[2]) if self.place else ""


@dataclass
class Branch:
    """A place that decides, or where work-items wait: how often vectors came there."""

    vectors: int
    diverged: int
    items: int
    place: Place | None
    text: str = ""


@dataclass
class Work:
    """What the counted groups of a launch did, all together."""

    groups: int
    all_groups: int
    lanes: int
    sums: dict[str, int]
    idle_lanes: int
    """One for each instruction that a lane without a work-item went along with."""
    sites: list[Site] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)
    barriers: list[Branch] = field(default_factory=list)

    @property
    def lanes_active(self) -> float:
        """The share of lanes with a work-item, from 0 to 1."""
        active = self.sums["instructions"]
        return active / (active + self.idle_lanes) if active else 1.0

    @property
    def bytes(self) -> int:
        """Of global and constant memory, as work-items ask for it."""
        words = ("global_loaded", "global_stored", "constant_loaded")
        return sum(self.sums[each] for each in words)


def work_of(counts: Counts) -> Work:
    """Adds up what one launch counted."""
    table = counts.table or {}
    sums = dict.fromkeys(WORDS, 0)
    idle = 0
    for (runs, items, _), costs in zip(counts.blocks, table.get("costs", []), strict=False):
        for word, cost in zip(WORDS, costs, strict=False):
            sums[word] += items * cost
        idle += (runs * counts.lanes - items) * costs[0]
    made = Work(counts.groups, counts.all_groups, counts.lanes, sums, idle)
    texts = {(file, line): text for file, line, text in table.get("texts", [])}
    places = [(file, line, column, of) for file, line, column, of in table.get("places", [])]

    def place(number: int) -> tuple[Place | None, str]:
        found = places[number - 1] if 0 < number <= len(places) else None
        return found, texts.get(found[:2], "") if found else ""

    for block, number, kind, space, words, size in table.get("accesses", []):
        items = counts.blocks[block][1]
        made.sites.append(Site(kind, space, words, size, items, *place(number)))
    for name, into in (("branches", made.branches), ("barriers", made.barriers)):
        for block, number in table.get(name, []):
            runs, items, diverged = counts.blocks[block]
            into.append(Branch(runs, diverged, items, *place(number)))
    return made


def shares(sites: Sequence[Site]) -> dict[str, float]:
    """Which part of the bytes is accessed how."""
    found: dict[str, float] = defaultdict(float)
    for each in sites:
        found[each.kind] += each.items * each.size
    total = sum(found.values())
    return {kind: found[kind] / total for kind in KINDS if found.get(kind)} if total else {}


_NAME = re.compile(r"[A-Za-z_]\w*")
_ENDS = {"(": ")", "[": "]"}


def expression_at(line: str, column: int) -> str:
    """What is accessed at a column, from 1 on; of an assignment, what is on its left."""
    at = column - 1
    if not 0 <= at < len(line):
        return ""
    if line[at] in "=+-*/|&^%" and "=" in line[at : at + 3]:
        left = line[:at].strip()
        start = max(left.rfind(each) for each in ";{") + 1
        return _short(left[start:].strip())
    name = _NAME.match(line, at)
    if name is None:
        return ""
    return _short(line[at : _end_of(line, name.end())])


def _end_of(line: str, at: int) -> int:
    """Behind a name: where its indices, arguments and members end."""
    while at < len(line):
        if line[at] in _ENDS:
            closed = _closing(line, at)
            if closed == 0:
                return at
            at = closed
        elif line[at] == "." or line.startswith("->", at):
            name = _NAME.match(line, at + (1 if line[at] == "." else 2))
            if name is None:
                return at
            at = name.end()
        else:
            return at
    return at


def _closing(line: str, at: int) -> int:
    """Behind the bracket that closes the one at a place; 0: there is none."""
    depth = 0
    for end in range(at, len(line)):
        depth += (line[end] in "([") - (line[end] in ")]")
        if depth == 0:
            return end + 1
    return 0


def _short(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."
