"""Makes up for what came from another process: in a cut there is no other process.

Memory that was opened becomes memory of its own, of the same size, and a pool of events becomes a
pool of its own. What they held is restored as anything else is.
"""

from __future__ import annotations

from dataclasses import replace

from groundstate import ze
from groundstate.capture.describe import NamedCall, named_calls
from groundstate.capture.play import Player
from groundstate.capture.stream import Block, Call
from groundstate.capture.stream.formats import Form, Phase
from groundstate.capture.structure import Life
from groundstate.capture.structure.kernels import structure
from groundstate.capture.subcapture.errors import CutError
from groundstate.capture.subcapture.output import DESCRIPTION
from groundstate.capture.subcapture.recorded import Recorded

POOL = "ze_event_pool_handle_t"


def is_foreign(life: Life) -> bool:
    """Whether something was opened that this process has not shared itself."""
    opened = life.function.endswith("OpenIpcHandle")
    return opened and not any(need.kind.startswith("ze_ipc_") for need in life.needs)


def substitute(recorded: Recorded, player: Player, call: NamedCall) -> tuple[str, Call]:
    """The name and the call that are to be made instead, if a call opens something foreign."""
    made = [x for x in recorded.lifetimes.made.get(call.number, ()) if is_foreign(x)]
    if made and call.name == "zeMemOpenIpcHandle":
        return "zeMemAllocDevice", _allocation(call, opened_size(player, made[0]))
    if made and call.name == "zeEventPoolOpenIpcHandle":
        return "zeEventPoolCreate", _pool(call, _events_in(recorded, made[0]))
    return call.name, call.call


def opened_size(player: Player, life: Life) -> int:
    """How large opened memory is, which only the player knows."""
    found = player.memory.find(life.value)
    if found is None:
        raise CutError(
            f"the memory that record {life.made_by} opens is another process's, and that is not "
            "in the recording; cut a range that does not use it"
        )
    return found.size


def _allocation(call: NamedCall, size: int) -> Call:
    context, device, _, _, pointer = call.call.arguments[:5]
    arguments = (context, DESCRIPTION, size, 0, device, pointer)
    return _with_description(call, arguments, bytes(ze.ze_device_mem_alloc_desc_t()))


def _pool(call: NamedCall, count: int) -> Call:
    context, _, pool = call.call.arguments[:3]
    description = ze.ze_event_pool_desc_t(flags=ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE, count=count)
    return _with_description(call, (context, DESCRIPTION, 0, 0, pool), bytes(description))


def _with_description(call: NamedCall, arguments: tuple[int, ...], data: bytes) -> Call:
    given = Block(DESCRIPTION, len(data), Phase.BEFORE, Form.BYTES, data)
    answered = tuple(block for block in call.call.blocks if block.phase == Phase.AFTER)
    return replace(call.call, arguments=arguments, blocks=(given, *answered))


def _events_in(recorded: Recorded, pool: Life) -> int:
    """How many events a pool must have: as many as the largest index asks for."""
    count = 1
    for call in named_calls(recorded.reader):
        if call.name == "zeEventCreate" and pool in recorded.uses(call.number):
            description = structure(call, "desc")
            count = max(count, 0 if description is None else description.index + 1)
    return count
