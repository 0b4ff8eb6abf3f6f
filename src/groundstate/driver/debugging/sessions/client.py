"""A session as the debugger has it: a line for requests, and one for events."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from threading import Lock

from groundstate import ze, zet
from groundstate.driver.api import Failure
from groundstate.driver.debugging.connection import Connection, Gone, Message, wait_for_input
from groundstate.driver.debugging.sessions.listener import name_of
from groundstate.driver.debugging.sessions.places import Place
from groundstate.driver.platform import Device

ATTACH_SECONDS = 10.0
"""A process may have been started just now, and its driver later than that."""
ANSWER_SECONDS = 60.0
"""A process that does not answer for so long is given up."""
RETRY_SECONDS = 0.02
SOCKETS = "/proc/net/unix"


class RemoteSession:
    """What a debugger has of a process that it debugs on a device."""

    def __init__(self, device: Device, pid: int) -> None:
        self._is_asking = Lock()
        self._is_reading = Lock()
        self._is_closed = self._is_ended = False
        self._process = _Process(pid)
        self._lines: list[Connection] = []
        self._last: list[Message] = []
        """Events that come before the one that says that the process has ended."""
        try:
            self._requests = self._connect(pid)
            number = self.ask({"command": "attach", "device": device.uuid.hex()})["session"]
            self._events = self._connect(pid)
            self._events.send({"command": "events", "session": number})
        except (Failure, Gone):
            self.close()
            raise

    def _connect(self, pid: int) -> Connection:
        self._lines.append(_connect(pid, self._process))
        return self._lines[-1]

    @property
    def _is_over(self) -> bool:
        return self._is_closed or self._is_ended

    def detach(self) -> None:
        """Ends the session: when it returns, another debugger can attach."""
        with suppress(Failure):
            self.ask({"command": "detach"})
        self.close()

    def close(self) -> None:
        """Forgets the session, also for threads of this process that wait for an event."""
        self._is_closed = True
        for each in self._lines:
            each.close()
        with self._is_reading:
            self._process.close()

    def ask(self, request: Message) -> Message:
        """The answer to a request."""
        try:
            with self._is_asking:
                self._requests.send(request)
                answer = self._requests.next()
        except Gone as problem:
            raise _lost() from problem
        if answer.get("result"):
            raise Failure(int(answer["result"]), str(answer.get("sentence")))
        return answer

    def interrupt(self, wanted: Place) -> None:
        """Stops threads. Those of a process that has just ended are not available."""
        try:
            self.ask({"command": "interrupt", "thread": wanted})
        except Failure as problem:
            if problem.result != ze.ZE_RESULT_ERROR_DEVICE_LOST or self._is_over:
                raise
            unavailable = int(zet.ZET_DEBUG_EVENT_TYPE_THREAD_UNAVAILABLE)
            self._last.append({"type": unavailable, "thread": wanted})

    def next_event(self, seconds: float | None) -> Message | None:
        """The next event; None if there is none within some time."""
        until = None if seconds is None else time.monotonic() + seconds
        if not self._is_reading.acquire(timeout=-1 if seconds is None else seconds):
            return None
        try:
            left = None if until is None else max(0.0, until - time.monotonic())
            return self._read(left)
        finally:
            self._is_reading.release()

    def _read(self, seconds: float | None) -> Message | None:
        if self._is_over:
            raise _lost()
        try:
            if self._events.is_ready(seconds, *self._process.watched) or self._events.is_ready(0):
                return self._events.next()
            if not self._process.has_ended:
                return None
        except Gone as problem:
            if self._is_closed:
                raise _lost() from problem
        if self._last:
            return self._last.pop(0)
        self._is_ended = True
        reason = int(zet.ZET_DEBUG_DETACH_REASON_HOST_EXIT)
        return {"type": int(zet.ZET_DEBUG_EVENT_TYPE_DETACHED), "reason": reason}


class _Process:
    """The process that is debugged, also if its children keep its sockets open."""

    def __init__(self, pid: int) -> None:
        self.watched: list[int] = []
        """A descriptor that has something to read when the process has ended, if there are such."""
        try:
            owner = os.stat(f"/proc/{pid}").st_uid
        except OSError as problem:
            raise _invalid(f"there is no process {pid}") from problem
        if os.geteuid() not in (0, owner):
            raise Failure(
                ze.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS,
                f"process {pid} belongs to another user",
            )
        with suppress(AttributeError, OSError):
            self.watched.append(os.pidfd_open(pid))

    @property
    def has_ended(self) -> bool:
        """Whether it has; False if that cannot be known."""
        return bool(self.watched and wait_for_input(0, *self.watched))

    def close(self) -> None:
        """Forgets it."""
        while self.watched:
            os.close(self.watched.pop())


def _connect(pid: int, process: _Process) -> Connection:
    """Connects with a process, which may have begun just now."""
    until = time.monotonic() + ATTACH_SECONDS
    while True:
        try:
            connection = Connection.to(name_of(pid), ANSWER_SECONDS)
        except OSError as problem:
            if process.has_ended:
                raise _invalid(f"process {pid} has ended") from problem
            if _uses_driver(pid) or time.monotonic() > until:
                raise Failure(
                    ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                    f"process {pid} cannot be debugged; start it with "
                    "ZET_ENABLE_PROGRAM_DEBUGGING=1",
                ) from problem
            time.sleep(RETRY_SECONDS)
            continue
        if connection.peer[0] != pid or process.has_ended:
            connection.close()
            raise _invalid(f"process {pid} has ended")
        return connection


def _uses_driver(pid: int) -> bool:
    """Whether a process has done something on a device, so that it would be listening by now."""
    begins = f"@groundstate/activity/1/{pid}/"
    with suppress(OSError), open(SOCKETS, encoding="utf-8", errors="replace") as file:
        return any(begins in line for line in file)
    return False


def _invalid(sentence: str) -> Failure:
    return Failure(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, sentence)


def _lost() -> Failure:
    return Failure(
        ze.ZE_RESULT_ERROR_DEVICE_LOST, "the session is over: the process has ended, or it detached"
    )
