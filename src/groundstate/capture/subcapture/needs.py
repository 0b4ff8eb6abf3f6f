"""Which calls before a cut have to be kept, so that what the cut uses is there as it was.

From the cut backwards: a call that makes or shapes something that is needed is kept, and what it
was given is needed, too. Submissions are never kept: what they did to memory is restored as
contents. Of the settings of a kernel only those are kept that a kept append, or the cut, sees.
"""

from __future__ import annotations

import re

from groundstate.capture.structure import Life
from groundstate.capture.subcapture.cut import Cut, Part
from groundstate.capture.subcapture.recorded import LIST, Recorded, Step

_ALWAYS = {"zeInit", "zeInitDrivers"}
_KERNEL_SETTINGS = {
    "zeKernelSetArgumentValue",
    "zeKernelSetGroupSize",
    "zeKernelSetIndirectAccess",
    "zeKernelSetCacheConfig",
    "zeKernelSetGlobalOffsetExp",
    "zeKernelSchedulingHintExp",
}
_SHAPES_MEMORY = {
    "zeContextMakeMemoryResident",
    "zeVirtualMemMap",
    "zeVirtualMemUnmap",
    "zeVirtualMemSetAccessAttribute",
    "zeMemSetAtomicAccessAttributeExp",
}
_SHAPES_ANY = {"zeModuleDynamicLink", "zeContextMakeImageResident"}
_SHAPES_LIST = re.compile(
    r"zeCommandList(Close|GetNextCommandId\w+|UpdateMutableCommand\w+)|zeCommandListImmediate\w*Set\w*"
)
_INDIRECT = {1: "host", 2: "device", 4: "shared"}


class Needs:
    """What a cut needs: lives, the calls to keep before it, and the parts of lists."""

    def __init__(self, recorded: Recorded, cut: Cut, *, all_memory: bool = False) -> None:
        self.lives: set[Life] = set()
        self.kept: set[int] = set()
        self._recorded = recorded
        self._begin = cut.begin
        self._appends: set[int] = set()
        self._last_reset: dict[Life, int] = {}
        self._find_resets()
        for part in (part for parts in cut.parts().values() for part in parts):
            self._want(part)
        for step in recorded.steps:
            if cut.begin < step.number <= cut.end:
                self._need(step.number)
        self._need_targets(cut)
        self._need_resident()
        if all_memory:
            self._need_memory({"host", "device", "shared"})
        self._settle()

    def _find_resets(self) -> None:
        for step in self._before():
            if step.name == "zeCommandListReset":
                for life in self._recorded.uses(step.number)[:1]:
                    self._last_reset[life] = step.number

    def _before(self) -> list[Step]:
        return [step for step in self._recorded.steps if step.number < self._begin]

    def _want(self, part: Part) -> None:
        """The commands of a list that is run, and what they were given."""
        self.lives.add(self._recorded.life_of(part.list))
        for command in part.commands:
            self._appends.add(command.call)
            self._need(command.call)

    def _need_targets(self, cut: Cut) -> None:
        """The queue and the fence of the first submission, but not the lists that it leaves out."""
        number = cut.begin
        lists = {self._recorded.life_of(b.list) for b in cut.first_submission.batches}
        wanted = {self._recorded.life_of(part.list) for part in cut.parts()[number]}
        self.lives |= set(self._recorded.uses(number)) - (lists - wanted)

    def _need(self, number: int) -> None:
        self.lives.update(self._recorded.uses(number))

    def _need_memory(self, sorts: set[str]) -> None:
        alive = self._recorded.lifetimes.alive_at(self._begin)
        self.lives.update(life for life in alive if life.sort in sorts)

    def _need_resident(self) -> None:
        """What the program made resident, kernels may reach without an argument that says so."""
        resident: set[Life] = set()
        for step in self._before():
            memory = {life for life in self._recorded.uses(step.number) if life.is_memory}
            if step.name == "zeContextMakeMemoryResident" and step.succeeded:
                resident |= memory
            elif step.name == "zeContextEvictMemory":
                resident -= memory
        self.lives |= {life for life in resident if life.lives_at(self._begin)}

    def _settle(self) -> None:
        """Goes backwards again until nothing new is needed."""
        before = self._before()
        size = (-1, -1)
        while size != (len(self.lives), len(self.kept)):
            size = (len(self.lives), len(self.kept))
            self._need_captures()
            seen: dict[Life, set[tuple[str, int]]] = {}
            self.kept = {step.number for step in reversed(before) if self._keeps(step, seen)}

    def _need_captures(self) -> None:
        """The calls of each capture whose graph is needed."""
        for captured in self._recorded.submissions.captures:
            graphs = [x for x in self.lives if x.value == captured.graph]
            if any(x.lives_at(captured.ended + 1) for x in graphs):
                self._appends.update((captured.began, captured.ended, *captured.appends))

    def _keeps(self, step: Step, seen: dict[Life, set[tuple[str, int]]]) -> bool:
        if not step.succeeded or not self._matters(step, seen):
            return False
        uses = self._recorded.uses(step.number)
        self.lives.update(uses)
        if step.number in self._appends:
            for life in uses:
                seen.pop(life, None)  # this append sees what is set before it
        if step.name == "zeKernelSetIndirectAccess":
            flags = step.arguments[1] if len(step.arguments) > 1 else 0
            self._need_memory({sort for bit, sort in _INDIRECT.items() if flags & bit})
        return True

    def _matters(self, step: Step, seen: dict[Life, set[tuple[str, int]]]) -> bool:
        if step.name in _ALWAYS or step.number in self._appends:
            return True
        lifetimes = self._recorded.lifetimes
        if any(life in self.lives for life in lifetimes.made.get(step.number, ())):
            return True
        ended = lifetimes.ended.get(step.number)
        if ended is not None:
            return ended in self.lives
        uses = self._recorded.uses(step.number)
        if step.name in _KERNEL_SETTINGS:
            return self._is_last_setting(step, uses, seen)
        if step.name in _SHAPES_MEMORY:
            return any(life.is_memory and life in self.lives for life in uses)
        if step.name in _SHAPES_ANY:
            return any(life in self.lives for life in uses if life.kind not in _EVERYWHERE)
        if _SHAPES_LIST.fullmatch(step.name):
            return self._shapes_kept_list(step, uses)
        return False

    def _is_last_setting(
        self, step: Step, uses: tuple[Life, ...], seen: dict[Life, set[tuple[str, int]]]
    ) -> bool:
        """Whether a kernel keeps a setting until something sees it."""
        kernel = uses[0] if uses else None
        if kernel is None or kernel not in self.lives:
            return False
        place = step.arguments[1] if step.name == "zeKernelSetArgumentValue" else 0
        later = seen.setdefault(kernel, set())
        if (step.name, place) in later:
            return False
        later.add((step.name, place))
        return True

    def _shapes_kept_list(self, step: Step, uses: tuple[Life, ...]) -> bool:
        mine = next((life for life in uses if life.kind == LIST), None)
        return (
            mine in self.lives and step.number > self._last_reset.get(mine, -1) if mine else False
        )


_EVERYWHERE = {"ze_context_handle_t", "ze_device_handle_t", "ze_driver_handle_t"}
