"""Measures how long commands take: the device writes its clock before and behind each of them."""

from __future__ import annotations

import ctypes
import re
from multiprocessing.connection import Connection
from typing import Any

from groundstate import ze
from groundstate.capture.describe import NamedCall
from groundstate.capture.play import Player
from groundstate.capture.stream.formats import Phase
from groundstate.capture.structure import Batch, Command, Submission
from groundstate.capture.structure.kernels import argument, listed
from groundstate.capture.views.device_times import Durations
from groundstate.capture.views.runs import Run, Runs, find_runs
from groundstate.capture.views.watching import LookError, Watcher

_WORD = 8
_CHUNK = 1 << 16


class Timing(Watcher):
    """Fills `durations` while a stream is played. Commands run one after the other meanwhile."""

    def __init__(self, runs: Runs) -> None:
        super().__init__(runs)
        self.durations: Durations = {}
        self._places: dict[int, int] = {}  # by append: two words
        self._free: dict[int, list[int]] = {}  # by context: words that are not used yet
        self._contexts: dict[int, int] = {}  # of recorded lists
        self._tick = 0.0
        self._bits = 64

    def see(self, player: Player, call: NamedCall) -> None:
        """Notes which context a list belongs to."""
        if call.name in ("zeCommandListCreate", "zeCommandListCreateImmediate"):
            if not self._tick:
                self._tick, self._bits = _timer(player, player.handle(argument(call, "hDevice")))
            for handle in listed(call, "phCommandList", Phase.AFTER):
                self._contexts[handle] = argument(call, "hContext")

    def begin(self, player: Player, call: NamedCall, run: Run, where: int) -> None:
        """The clock before the command."""
        if run.mutable:
            raise LookError("commands of mutable lists are not measured")
        context = self._contexts.get(argument(call, "hCommandList"))
        if context is None:
            raise LookError("a list of which the recording does not say where it is from")
        self._places[run.append] = self._words(player, player.handle(context))
        self._clock(player, where, self._places[run.append])

    def end(self, player: Player, call: NamedCall, run: Run, where: int) -> None:
        """The clock behind it."""
        if run.append in self._places:
            self._clock(player, where, self._places[run.append] + _WORD)

    def done(self, player: Player, runs: list[Run]) -> None:
        """Reads both."""
        for run in runs:
            place = self._places.get(run.append)
            if place is not None:
                first, last = (ctypes.c_uint64.from_address(place + k).value for k in (0, _WORD))
                ticks = (last - first) % (1 << self._bits)
                self.durations[run.submission, run.position] = int(ticks * self._tick)

    def _clock(self, player: Player, where: int, place: int) -> None:
        self.barrier(player, where)
        name = "zeCommandListAppendWriteGlobalTimestamp"
        self.appended(player, where, name, place, None, 0, None)
        self.barrier(player, where)

    def _words(self, player: Player, context: int) -> int:
        free = self._free.setdefault(context, [])
        if not free:
            begin = self.allocate(player, context, _CHUNK)
            free.extend(range(begin, begin + _CHUNK, 2 * _WORD))
        return free.pop()


def _timer(player: Player, device: int) -> tuple[float, int]:
    """Nanoseconds of a tick of a present device's clock, and how many bits it has."""
    properties = ze.ze_device_properties_t(stype=ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES)
    result = player.library.zeDeviceGetProperties(device, ctypes.byref(properties))
    if result != ze.ZE_RESULT_SUCCESS:
        return 1.0, 64
    return float(properties.timerResolution) or 1.0, properties.timestampValidBits or 64


def _takes_time(_: Submission, __: Batch, command: Command) -> bool:
    return bool(command.launches) or re.search("Copy|Fill", command.function) is not None


def measure(player: Player, connection: Connection, _: Any) -> dict[str, Any]:
    """Plays a stream and measures its kernels, copies and fills; runs in a `PlayProcess`."""
    timing = Timing(find_runs(player.reader, _takes_time))
    report = player.run(timing)
    timing.close(player)
    return {"durations": timing.durations, "notes": list(timing.notes), "damage": report.damage}
