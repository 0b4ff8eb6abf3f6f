"""Finds out whether a range waits for something that only happens outside of it."""

from __future__ import annotations

from collections.abc import Callable

from groundstate.capture.structure import Life, Submission
from groundstate.capture.structure.commands import Command
from groundstate.capture.subcapture.cut import Cut
from groundstate.capture.subcapture.errors import CutError
from groundstate.capture.subcapture.foreign import is_foreign
from groundstate.capture.subcapture.recorded import Recorded, Step

EVENT = "ze_event_handle_t"
_SIGNALS = {"zeEventHostSignal", "zeCommandListAppendSignalEvent"}
_NEITHER = {"zeCommandListAppendEventReset", "zeCommandListAppendQueryKernelTimestamps"}


def check_waits(recorded: Recorded, cut: Cut, is_signalled: Callable[[Life], bool]) -> list[Life]:
    """Raises `CutError` if work of the range waits for an event that nothing there signals.

    Gives back the events of other processes that it waits for: those will have signalled them.
    """
    calls = [step.number for step in recorded.steps if cut.begin <= step.number <= cut.end]
    for parts in cut.parts().values():
        for part in parts:
            for command in part.commands:
                calls += _calls_of(command)
    waited: set[Life] = set()
    signalled: set[Life] = set()
    for number in dict.fromkeys(calls):
        signal, waits = _events_of(recorded, recorded.step(number))
        waited |= waits
        if signal is not None:
            signalled.add(signal)
    elsewhere: list[Life] = []
    for event in waited - signalled:
        if any(is_foreign(need) for need in event.needs):
            elsewhere.append(event)
        elif event.function != "zeEventCounterBasedCreate" and not is_signalled(event):
            raise CutError(
                f"the range waits for the event of record {event.made_by}, which is signalled "
                "neither before the range nor in it; take a larger range"
            )
    return elsewhere


def first_that_waits(
    recorded: Recorded, cut: Cut, is_signalled: Callable[[Life], bool]
) -> Submission | None:
    """The first submission before the range that waits for an event which is not signalled yet."""
    for run in recorded.submissions.submissions:
        if run.call >= cut.begin:
            break
        calls = [run.call]
        for batch in run.batches:
            for command in batch.commands:
                calls += _calls_of(command)
        for number in calls:
            _, waits = _events_of(recorded, recorded.step(number))
            if any(not is_signalled(event) for event in waits if event.lives_at(cut.begin)):
                return run
    return None


def _calls_of(command: Command) -> list[int]:
    return [command.call, *(call for inner in command.inside for call in _calls_of(inner))]


def _events_of(recorded: Recorded, step: Step) -> tuple[Life | None, set[Life]]:
    """The event that a call signals, or that its command will, and those that it waits for."""
    events = [life for life in recorded.uses(step.number) if life.kind == EVENT]
    signal = _signal_of(step, events)
    if not step.name.startswith("zeCommandList") or step.name in _NEITHER:
        return signal, set()
    return signal, {event for event in events if event is not signal}


def _signal_of(step: Step, events: list[Life]) -> Life | None:
    """The event that a call signals, or that its command will."""
    if step.name in _SIGNALS:
        return events[0] if events else None
    if "Append" not in step.name or step.name == "zeCommandListAppendWaitOnEvents":
        return None
    values = set(step.arguments)
    return next((event for event in events if event.value in values), None)
