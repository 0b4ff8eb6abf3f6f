"""Whose turn it is when the streams of several processes are played together."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from groundstate.capture.play.timing import DURATION, TIME, Head
from groundstate.capture.play.together import ENDED, Member
from groundstate.capture.stream import Record

if TYPE_CHECKING:
    from groundstate.capture.play.player import Player


class Turns:
    """Holds the calls of one stream, and what its host wrote, until the others are as far."""

    def __init__(self, member: Member, start: int, player: Player) -> None:
        self.member = member
        self._start = start
        self._player = player
        self._held: list[Record] = []
        self._ends: dict[int, int] = {}
        self._frontier = 0
        self._threaded = False
        self._lock = Lock()

    def hold(self, record: Record) -> None:
        """Keeps what the host wrote until the next call is due: it was written just before."""
        self._held.append(record)

    def expect(self, number: int, head: Head) -> None:
        """Takes note of when a call returned, which is to be made by some thread."""
        self._threaded = True
        with self._lock:
            self._ends[number] = self._start + head[TIME] + head[DURATION]
            if number == self._frontier:
                self.member.say(self._ends.pop(number))

    def reached(self, number: int) -> None:
        """All records before one have been dealt with."""
        with self._lock:
            self._frontier = number
            if number in self._ends:
                self.member.say(self._ends.pop(number))

    def end(self) -> None:
        """All calls have been made; what the host wrote after the last of them is written."""
        self._write_held()
        self.member.say(ENDED)

    def wait(self, head: Head) -> None:
        """Waits until a call may be made."""
        if not self._threaded:
            self.member.say(self._start + head[TIME] + head[DURATION])
        if not self.member.wait_for_others(self._start + head[TIME]):
            self._player.report.note("another process of the recording did not get on")
        self._write_held()

    def _write_held(self) -> None:
        with self._lock:
            held, self._held = self._held, []
        for record in held:
            self._player.write(record)
