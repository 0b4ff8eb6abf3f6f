"""A thread of the device: a work-group that is stepped on one execution unit.

Its lanes are the work-items. They go on by turns, a share of instructions each, so that lanes that
take the same way are at the same place after a round. A debugger stops a thread between rounds.
"""

from __future__ import annotations

from groundstate.compiler.step.group import Group
from groundstate.compiler.step.memory import AccessError
from groundstate.compiler.step.work_item import FAILED, READY, WorkItem
from groundstate.driver.debugging.sessions.loaded_module import LoadedKernel, LoadedModule
from groundstate.driver.debugging.sessions.places import Place

ROUND = 4096
"""Instructions of all lanes together, after which a thread looks whether it is to stop."""
PATIENCE = 64
"""Rounds for which lanes at a breakpoint wait for lanes that do not come to one."""
CONTROL_BYTES = 16
STEPS = 1
"""In the first control register: stop after one instruction of the active lanes."""
REASON = 4
"""Where the second control register lies: why the thread has stopped."""
INTERRUPTED, AT_BREAKPOINT, STEPPED, FAULTED = 1, 2, 3, 4


class DeviceThread:
    """A work-group, its place on the device and what a debugger has set for it."""

    def __init__(self, place: Place, group: Group, module: LoadedModule, name: str) -> None:
        self.place = place
        self.group = group
        self.module = module
        self.kernel: LoadedKernel = module.kernels[name]
        self.is_stopped = False
        self.control = bytearray(CONTROL_BYTES)
        self.faults: list[AccessError] = []
        """Wrong accesses that nobody has been told of."""
        self._parked: set[int] = set()
        """Lanes that wait at a breakpoint for the others."""
        self._passing: set[int] = set()
        """Lanes that go on from a breakpoint: they execute one instruction whatever it is."""
        self._failed: set[int] = set()
        self._waited = 0
        self._is_free = False
        group.memory.keeps_undo = False

    @property
    def is_over(self) -> bool:
        """Whether no lane will go on: all have ended, or wait for some that have."""
        return all(each.state != READY for each in self.group.items)

    # --- Where it is ----------------------------------------------------------------------------

    def pointer(self, item: WorkItem) -> int:
        """The address of the instruction that a lane executes next; 0 if it has ended."""
        return 0 if item.is_over else self.module.address_of(self.kernel.number(item))

    def active(self) -> list[WorkItem]:
        """The lanes that are at the thread's own place: at a breakpoint, or else the rearmost."""
        live = [each for each in self.group.items if not each.is_over]
        chosen = [each for each in live if each.number in self._parked]
        chosen = chosen or [each for each in live if each.state == READY] or live
        if not chosen:
            return []
        first = min((each.block, each.at) for each in chosen)
        return [each for each in live if (each.block, each.at) == first]

    # --- Going on -------------------------------------------------------------------------------

    def go_on(self) -> None:
        """Lets it leave where it has stopped."""
        self.is_stopped = False
        self._passing, self._parked, self._waited = self._parked, set(), 0

    def set_free(self) -> None:
        """Lets it go on to its end, because the debugger has gone."""
        self._is_free = True
        self.control[0] = 0
        self.go_on()

    def round(self) -> int:
        """Lets each lane execute its share; why the thread stops, 0 if it does not."""
        self.group.turns.clear()
        if self.control[0] & STEPS:
            for item in self.active():
                if item.state == READY:
                    self.group.step(item)
            self._passing.clear()
            return self._fault() or STEPPED
        marks = b"" if self._is_free else self.module.breakpoints(self.kernel)
        share = max(1, ROUND // len(self.group.items))
        executed = self.group.executed
        for item in self.group.items:
            item.lines.clear()
            self._advance(item, share, marks)
        self._waited += bool(self._parked)
        is_stuck = self.group.executed == executed or self._waited > PATIENCE
        return self._fault() or (AT_BREAKPOINT if self._parked and is_stuck else 0)

    def _advance(self, item: WorkItem, share: int, marks: bytes) -> None:
        for _ in range(share):
            if item.state != READY:
                return
            if marks and item.number not in self._passing and self._is_marked(item, marks):
                self._parked.add(item.number)
                return
            self._passing.discard(item.number)
            self.group.step(item)

    def _is_marked(self, item: WorkItem, marks: bytes) -> bool:
        return marks[self.kernel.number(item) - self.kernel.first] != 0

    def _fault(self) -> int:
        """Looks for lanes that have failed since, which end there."""
        failed = {each.number for each in self.group.items if each.state == FAILED}
        new = failed - self._failed
        self._failed = failed
        wrong = [self.group.items[number].wrong_access for number in sorted(new)]
        self.faults += [each for each in wrong if each is not None]
        return FAULTED if new else 0
