"""When the commands of a queue ran, as far as that can be told.

Four sources, the better ones first: device timestamps that the recorder asked for, and those that
the program asked for; the durations of a play; and an even share of the time from a command's
submission until somebody saw it done.
Timestamps of a device count from a moment of its own: they are moved so that no command begins
before it was submitted and one begins right then.
"""

from __future__ import annotations

from collections.abc import Iterator

from groundstate.capture.views.device_work import DeviceWork, Queue, Ran, Submitted

MEASURED = "measured by the recorder"
RECORDED = "measured by the program"
PLAYED = "measured in a play"

Durations = dict[tuple[int, int], int]
"""Nanoseconds by the record of a submission and a command's place in it."""


def settle(work: DeviceWork, end: int, durations: Durations | None = None) -> None:
    """Gives every command of every queue a start and an end; `end` is that of the stream."""
    _find_measured(work)
    for device in {queue.device for queue in work.queues}:
        queues = [queue for queue in work.queues if queue.device == device]
        _place_measured(queues, *work.timers.get(device, (1.0, 64)))
    for queue in work.queues:
        _spread(queue, end, durations or {})


def _find_measured(work: DeviceWork) -> None:
    """Of a list that one call submitted several times, only the last run was measured."""
    for queue in work.queues:
        for submitted in queue.submitted:
            last = {ran.command.call: ran for ran in submitted.commands}
            for append, ran in last.items():
                ran.device_ns = work.times.get((submitted.submission.call, append))


def _place_measured(queues: list[Queue], tick: float, bits: int) -> None:
    measured = [
        ran
        for queue in queues
        for submitted in queue.submitted
        for ran in submitted.commands
        if ran.ticks is not None or ran.device_ns is not None
    ]
    for ran in measured:
        if ran.device_ns is not None:
            ran.start, ran.end = ran.device_ns
            ran.measured = MEASURED
            continue
        begin, end = ran.ticks or (0, 0)
        ran.start = int(begin * tick)
        ran.end = ran.start + int(((end - begin) % (1 << bits)) * tick)
        ran.measured = RECORDED
    shift = max((ran.submitted - ran.start for ran in measured), default=0)
    for ran in measured:
        ran.start += shift
        ran.end += shift


def _spread(queue: Queue, end: int, durations: Durations) -> None:
    """Places what was not measured between its neighbours."""
    before = 0
    pending: list[tuple[Ran, int]] = []
    completed = 0
    for submitted in queue.submitted:
        done = max(submitted.begin, end if submitted.completed is None else submitted.completed)
        if pending and done != completed:
            before = _share(pending, before, completed)
            pending = []
        completed = done
        for place, ran in enumerate(submitted.commands):
            if ran.measured:
                before = max(_share(pending, before, ran.start), ran.end)
                pending = []
            else:
                played = durations.get((submitted.submission.call, place), -1)
                pending.append((ran, played))
    _share(pending, before, completed)


def _share(pending: list[tuple[Ran, int]], before: int, until: int) -> int:
    """Gives commands even shares of the time that they have, or what they took in a play.

    If that was longer than what they have here, they share it in the same proportions.
    """
    wanted = sum(played for _, played in pending if played >= 0)
    for done, (ran, played) in enumerate(pending):
        ran.start = max(ran.submitted, before)
        room = max(0, until - ran.start)
        if played >= 0:
            ran.end = ran.start + (played if wanted <= room else room * played // wanted)
            ran.measured, ran.played = PLAYED, played
            wanted -= played
        else:
            ran.end = ran.start + room // (len(pending) - done)
        before = ran.end
    return before


def whole(submitted: Submitted, end: int) -> tuple[int, int]:
    """From when to when a submission was under way."""
    last = max((ran.end for ran in submitted.commands), default=submitted.begin)
    if submitted.commands and all(ran.measured for ran in submitted.commands):
        return submitted.begin, last
    return submitted.begin, max(last, end if submitted.completed is None else submitted.completed)


def all_runs(work: DeviceWork) -> Iterator[tuple[Queue, Submitted, Ran]]:
    """Every command that ran."""
    for queue in work.queues:
        for submitted in queue.submitted:
            for ran in submitted.commands:
                yield queue, submitted, ran
