"""Races between commands become findings: launches, copies and fills that nothing orders.

native/check/order/records.c finds them. A party that is a launch shows the line of its kernel and
the work-item, and any party the call of the program that appended it.
"""

from __future__ import annotations

import ctypes

from groundstate import findings, knobs
from groundstate.compiler.light_dataclass import replace
from groundstate.driver.api import request
from groundstate.driver.checking import host_stack, race_notes
from groundstate.driver.checking.group_findings import item_at
from groundstate.driver.checking.kernel_findings import group_of, places_of
from groundstate.driver.module import entry_point_at
from groundstate.excerpt import Place, of_other
from groundstate.findings import Finding
from groundstate.native_layouts import CommandRace, Dispatch, RaceParty

KIND, KIND_WITH_HOST = "race-between-commands", "race-with-host"
HOST = "the program itself"
"""What native/check/order/records.c calls the party that is no command."""
ACCESSES = ("read", "write", "atomic operation")
ADVICE = (
    "nothing orders the two: let one wait for an event of the other, append both to one in-order"
    " list, put a barrier between them, or wait on the host before the second is submitted"
)
HOST_ADVICE = (
    "nothing orders the two: wait for the command before (zeEventHostSynchronize,"
    " zeFenceHostSynchronize, zeCommandQueueSynchronize or zeCommandListHostSynchronize)"
)

Item = tuple[int, ...]


@request
def report_command_race(address: int) -> int:
    """Tells of a race; 1 if the context is to be lost for it."""
    return int(findings.report(read(CommandRace.from_address(address))) and knobs.CHECK_STOP.get())


def read(race: CommandRace) -> Finding:
    """The finding that two parties make. The one that ended last comes first."""
    one, other = race.parties
    places, its = _place(one), _place(other)
    notes = _call(one, places) + _call(other, its)
    launch = one if one.entry_point else other
    item = _work_item(launch)
    is_host = _words(one.what) == HOST
    return Finding(
        checker="races",
        kind=KIND_WITH_HOST if is_host else KIND,
        title=(
            f"race between {_words(one.what)} and {_words(other.what)}: {ACCESSES[one.access]} and "
            f"{ACCESSES[other.access]} of the same {'byte' if race.bytes == 1 else 'bytes'}"
        ),
        places=[*places, *of_other(its, _name(other))],
        notes=[
            *notes,
            *race_notes.place("global", race.address),
            HOST_ADVICE if is_host else ADVICE,
        ],
        kernel=_kernel(one) or _kernel(other),
        work_item=item,
        group=group_of(item, Dispatch.from_address(launch.dispatch)) if item is not None else None,
    )


def _call(party: RaceParty, places: list[Place]) -> list[str]:
    """Who appended a launch, or whatever has no place in the source."""
    if places and not party.entry_point:
        return []
    what = [] if places else [f"the {ACCESSES[party.access]} is by {_words(party.what)}"]
    call = f"{_name(party)}: appended by {_words(party.function)}"
    return what + host_stack.notes(call, party.stack) * bool(party.stack)


def _words(address: int) -> str:
    return ctypes.string_at(address).decode("utf-8", "replace") if address else ""


def _kernel(party: RaceParty) -> str:
    return str(entry_point_at(party.entry_point).signature.name) if party.entry_point else ""


def _name(party: RaceParty) -> str:
    """What a party is called beside a call: `kernel 'add'`, or without the addresses of a copy."""
    return _words(party.what).split(" from ")[0].split(" at ")[0]


def _work_item(party: RaceParty) -> Item | None:
    """The global id of who did it; None for what is no launch."""
    if not party.entry_point:
        return None
    return item_at(Dispatch.from_address(party.dispatch), party.group, party.item)


def _place(party: RaceParty) -> list[Place]:
    """Where in a kernel, or for what is no launch where in the program."""
    item = _work_item(party)
    if item is None:
        places = host_stack.places(party.stack) if party.stack else []
        label = f"{ACCESSES[party.access]} by {_name(party)}"
        return [replace(places[0], label=label), *places[1:]] if places else []
    entry_point = entry_point_at(party.entry_point)
    size = Dispatch.from_address(party.dispatch).group_size
    sites = entry_point.codes[size[0], size[1], size[2]].sites
    who = f"work-item ({', '.join(map(str, item))})"
    near = "" if party.is_exact else ", or one near it"
    return places_of(entry_point, sites[party.site], f"{ACCESSES[party.access]} by {who}{near}")
