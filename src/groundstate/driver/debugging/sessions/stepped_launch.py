"""A launch while a debugger is attached: as many groups at a time as the device has threads."""

from __future__ import annotations

from groundstate.compiler.step.group import Group, Launch
from groundstate.driver.debugging.sessions.device_thread import DeviceThread
from groundstate.driver.debugging.sessions.loaded_module import LoadedModule
from groundstate.driver.debugging.sessions.places import Place
from groundstate.driver.debugging.sessions.session import Session

MOMENT = 0.2
"""Seconds after which a launch that waits looks again whether it may go on."""


class SteppedLaunch:
    """Steps the groups of a launch, in order."""

    def __init__(self, session: Session, module: LoadedModule, launch: Launch) -> None:
        self.session = session
        self.module = module
        self.launch = launch
        self.threads: list[DeviceThread] = []

    def run(self, first: int) -> int:
        """Steps groups from one on; returns the first that it did not, as the debugger has gone."""
        next_group = first
        try:
            while True:
                next_group = self._fill(next_group)
                if not self.threads and (self._is_done(next_group) or self.session.is_over):
                    return next_group
                self._let_go_on()
        finally:
            for thread in self.threads:
                self.session.leave(thread)

    def _is_done(self, next_group: int) -> bool:
        return next_group >= self.launch.group_count

    def _fill(self, next_group: int) -> int:
        """Gives groups to free execution units."""
        while not self._is_done(next_group) and not self.session.is_over:
            place = self.session.take_place()
            if place is None:
                break
            self._begin(place, next_group)
            next_group += 1
        return next_group

    def _begin(self, place: Place, number: int) -> None:
        try:
            group = Group(self.launch, number)
            thread = DeviceThread(place, group, self.module, self.launch.code.name)
        except BaseException:
            self.session.give_place_back(place)
            raise
        self.threads.append(thread)
        self.session.begin(thread)

    def _let_go_on(self) -> None:
        """A round of each thread that is not stopped; if all are, waits for something to change."""
        running = [each for each in self.threads if not each.is_stopped]
        if not running:
            with self.session.changed:
                if all(each.is_stopped for each in self.threads):
                    self.session.changed.wait(MOMENT)
            return
        for thread in running:
            reason = thread.round()
            if thread.is_over and not reason:
                self.threads.remove(thread)
                self.session.leave(thread)
            else:
                self.session.settle(thread, reason)
