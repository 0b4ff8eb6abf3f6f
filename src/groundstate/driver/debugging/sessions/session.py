"""A debugger's session, in the program that is debugged: its events and the threads it may stop."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from threading import Condition
from typing import Any

from groundstate import ze, zet
from groundstate.compiler.step.memory import AccessError
from groundstate.driver.api import Failure
from groundstate.driver.debugging.connection import Connection, Gone, Message
from groundstate.driver.debugging.sessions.device_thread import (
    INTERRUPTED,
    REASON,
    DeviceThread,
)
from groundstate.driver.debugging.sessions.loaded_module import LoadedModule
from groundstate.driver.debugging.sessions.places import Place, covers, is_single, places_on
from groundstate.driver.platform import Device

MOST_EVENTS = 1 << 16
"""So many events are kept for a debugger that does not read them; younger ones are lost."""
SENDING_SECONDS = 1.0
"""For a debugger that does not read its events, a program does not wait longer."""
PAGE_MASK = ~4095 & (1 << 64) - 1


class Interrupt:
    """What a debugger wants to stop, until it has."""

    def __init__(self, wanted: Place, threads: set[DeviceThread]) -> None:
        self.wanted = wanted
        self.waits_for = threads
        self.has_stopped = False
        """Whether one of the threads has; others may have ended instead."""


class Session:
    """What one debugger knows and wants. All of it is used with `changed`, which all sessions of
    the process share."""

    def __init__(self, device: Device, changed: Condition) -> None:
        self.device = device
        self.changed = changed
        self.is_over = False
        self.threads: dict[Place, DeviceThread] = {}
        self._free = places_on(device)
        self._interrupts: list[Interrupt] = []
        self._known: set[int] = set()
        """The addresses of modules whose event there was."""
        self._unacknowledged: set[int] = set()
        """The addresses of loaded modules whose event is to be acknowledged."""
        self._events: deque[Message] = deque()
        self._unsent = 0
        """Events that are not yet on their way."""

    def end(self) -> None:
        """The debugger has gone: everything goes on, and nothing waits for it."""
        with self.changed:
            self.is_over = True
            self._unacknowledged.clear()
            self._interrupts.clear()
            for each in self.threads.values():
                each.set_free()
            self.changed.notify_all()

    # --- Events ---------------------------------------------------------------------------------

    def tell(self, kind: str, **facts: Any) -> bool:
        """Adds an event: `kind` is the name of its type. False if nobody will read it."""
        with self.changed:
            if self.is_over or len(self._events) >= MOST_EVENTS:
                return False
            number = int(getattr(zet, f"ZET_DEBUG_EVENT_TYPE_{kind}"))
            self._events.append({"type": number, **facts})
            self._unsent += 1
            self.changed.notify_all()
            return True

    def tell_last(self, kind: str, **facts: Any) -> None:
        """Adds an event after which the process may end: returns when it is on its way."""
        with self.changed:
            if self.tell(kind, **facts):
                self.changed.wait_for(lambda: not self._unsent or self.is_over, SENDING_SECONDS)

    def send_events(self, connection: Connection) -> None:
        """Sends events as they come, until the session is over."""
        with suppress(Gone):
            while (event := self._next_event()) is not None:
                connection.send(event)
                with self.changed:
                    self._unsent -= 1
                    self.changed.notify_all()

    def _next_event(self) -> Message | None:
        with self.changed:
            self.changed.wait_for(lambda: self._events or self.is_over)
            return None if self.is_over else self._events.popleft()

    def load(self, module: LoadedModule, waits: bool) -> None:
        """Tells of a module, and waits until that is acknowledged if somebody is to wait."""
        with self.changed:
            self._tell_of(module)
            if waits:
                self.changed.wait_for(lambda: module.address not in self._unacknowledged)

    def _tell_of(self, module: LoadedModule) -> None:
        """Adds the event of a module, once: it may be made just while a debugger attaches."""
        if module.address in self._known:
            return
        need_ack = int(zet.ZET_DEBUG_EVENT_FLAG_NEED_ACK)
        if self.tell("MODULE_LOAD", flags=need_ack, **_described(module)):
            self._known.add(module.address)
            self._unacknowledged.add(module.address)

    def unload(self, module: LoadedModule) -> None:
        """Tells that a module is about to go."""
        with self.changed:
            if module.address in self._known:
                self._known.discard(module.address)
                self._unacknowledged.discard(module.address)
                self.tell_last("MODULE_UNLOAD", **_described(module))

    def acknowledge(self, address: int) -> None:
        """The debugger has dealt with the event of a module."""
        with self.changed:
            if address not in self._unacknowledged:
                raise Failure(
                    ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "no such event is to be acknowledged"
                )
            self._unacknowledged.discard(address)
            self.changed.notify_all()

    # --- Threads, for a debugger ----------------------------------------------------------------

    def interrupt(self, wanted: Place) -> None:
        """Stops threads; an event tells when all of them have."""
        with self.changed:
            found = [each for place, each in self.threads.items() if covers(wanted, place)]
            running = {each for each in found if not each.is_stopped}
            if found and not running:
                raise _unavailable(f"{_threads(wanted)} stopped already")
            self._interrupts.append(Interrupt(wanted, running))
            self._finish_interrupts()
            self.changed.notify_all()

    def resume(self, wanted: Place) -> None:
        """Lets stopped threads go on."""
        with self.changed:
            stopped = [
                each
                for place, each in self.threads.items()
                if covers(wanted, place) and each.is_stopped
            ]
            if not stopped:
                raise _unavailable(f"{_threads(wanted)} not stopped")
            for each in stopped:
                each.go_on()
            self.changed.notify_all()

    def stopped_thread(self, place: Place) -> DeviceThread:
        """The one thread of these numbers, which is stopped."""
        if not is_single(place):
            raise Failure(
                ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "the thread must be one: no number may be ~0"
            )
        found = self.threads.get(place)
        if found is None or not found.is_stopped:
            raise _unavailable(f"{_threads(place)} not stopped")
        return found

    # --- Threads, for a launch ------------------------------------------------------------------

    def take_place(self) -> Place | None:
        """A free execution unit; None if there is none."""
        with self.changed:
            return self._free.pop(0) if self._free else None

    def give_place_back(self, place: Place) -> None:
        """Nothing came onto an execution unit, or it has left."""
        with self.changed:
            self._free = sorted((*self._free, place))
            self.changed.notify_all()

    def begin(self, thread: DeviceThread) -> None:
        """A thread starts. It stops at once if somebody waits for all that are there."""
        with self.changed:
            self.threads[thread.place] = thread
            for each in self._interrupts:
                if covers(each.wanted, thread.place):
                    each.waits_for.add(thread)
            self.settle(thread, 0)

    def settle(self, thread: DeviceThread, reason: int) -> None:
        """Stops a thread for a reason of its own, or because somebody interrupts it."""
        with self.changed:
            waiting = [each for each in self._interrupts if thread in each.waits_for]
            self._tell_faults(thread.faults)
            thread.faults = []
            if self.is_over or not (waiting or reason):
                return
            thread.is_stopped = True
            thread.control[REASON : REASON + 4] = (reason or INTERRUPTED).to_bytes(4, "little")
            if reason:
                self.tell("THREAD_STOPPED", thread=thread.place)
            for each in waiting:
                each.has_stopped = True
                each.waits_for.discard(thread)
            self._finish_interrupts()

    def leave(self, thread: DeviceThread) -> None:
        """A thread has ended, or is given up."""
        with self.changed:
            self.threads.pop(thread.place, None)
            self.give_place_back(thread.place)
            for each in self._interrupts:
                each.waits_for.discard(thread)
            self._finish_interrupts()

    def _finish_interrupts(self) -> None:
        for each in list(self._interrupts):
            if not each.waits_for:
                self._interrupts.remove(each)
                kind = "THREAD_STOPPED" if each.has_stopped else "THREAD_UNAVAILABLE"
                self.tell(kind, thread=each.wanted)

    def _tell_faults(self, faults: list[AccessError]) -> None:
        """One event for each page that lanes have struck."""
        for page in sorted({each.address & PAGE_MASK for each in faults}):
            first = next(each for each in faults if each.address & PAGE_MASK == page)
            what = "PERMISSION" if first.is_mapped else "MAPPING"
            reason = int(getattr(zet, f"ZET_DEBUG_PAGE_FAULT_REASON_{what}_ERROR"))
            self.tell("PAGE_FAULT", address=first.address, mask=PAGE_MASK, reason=reason)


def _described(module: LoadedModule) -> Message:
    begin, end = module.image
    return {"begin": begin, "end": end, "load": module.address}


def _unavailable(sentence: str) -> Failure:
    return Failure(ze.ZE_RESULT_ERROR_NOT_AVAILABLE, sentence)


def _threads(wanted: Place) -> str:
    if is_single(wanted):
        return f"the thread on execution unit {wanted[2]} is"
    return "the threads are"
