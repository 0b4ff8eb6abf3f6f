"""What calls do to the names and the memory of a recording, beyond the handles they return."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from groundstate import ze
from groundstate.capture.play.extents import EXTENTS
from groundstate.capture.play.images import image_size
from groundstate.capture.play.memory import Range
from groundstate.capture.play.passing import Passing
from groundstate.capture.play.topology import LISTED

if TYPE_CHECKING:
    from groundstate.capture.play.player import Player

WORD = 8
Effect = Callable[["Player", Passing], None]
EFFECTS: dict[str, Effect] = {}
"""What happens after a call that succeeded now and in the recording."""
ADJUSTMENTS: dict[str, Effect] = {}
"""What is changed in a call before it is made."""


def _after(*names: str) -> Callable[[Effect], Effect]:
    def register(effect: Effect) -> Effect:
        EFFECTS.update(dict.fromkeys(names, effect))
        return effect

    return register


def _answer(passing: Passing, place: int, size: int = WORD) -> tuple[int, int]:
    """The recorded and the present number that a call has answered through a pointer."""
    address = passing.words[place]
    recorded = int.from_bytes(passing.after(address)[:size], "little")
    present = passing.placed.get(address)
    return recorded, 0 if present is None else present.number(0, size)


# --- Memory ---------------------------------------------------------------------------------------


def _allocation(kind: str, size: int, device: int | None, pointer: int) -> Effect:
    def effect(player: Player, passing: Passing) -> None:
        recorded, present = _answer(passing, pointer)
        on = 0 if device is None else player.handle(passing.words[device])
        context = player.handle(passing.words[0])
        length = passing.words[size]
        if recorded and present:
            if kind in ("host", "shared"):
                ctypes.memset(present, 0, length)
            player.memory.add(Range(recorded, length, present, kind, context, on), passing.number)

    return effect


EFFECTS["zeMemAllocShared"] = _allocation("shared", 3, 5, 6)
EFFECTS["zeMemAllocDevice"] = _allocation("device", 2, 4, 5)
EFFECTS["zeMemAllocHost"] = _allocation("host", 2, None, 4)
EFFECTS["zeVirtualMemReserve"] = _allocation("reserved", 2, None, 3)


FREES = {"zeMemFree": 1, "zeMemCloseIpcHandle": 1, "zeVirtualMemFree": 1, "zeMemFreeExt": 2}
"""Which argument says what is freed."""


@_after(*FREES)
def _freed(player: Player, passing: Passing) -> None:
    player.memory.end(passing.words[FREES[passing.what]], passing.freed)


@_after("zeMemOpenIpcHandle")
def _opened(player: Player, passing: Passing) -> None:
    recorded, present = _answer(passing, 4)
    context = player.handle(passing.words[0])
    size = player.size_of(context, present)
    if recorded and present and size:
        device = player.handle(passing.words[1])
        player.memory.add(Range(recorded, size, present, "opened", context, device))


@_after("zeModuleGetGlobalPointer")
def _global(player: Player, passing: Passing) -> None:
    recorded, present = _answer(passing, 3)
    size = player.global_size(player.handle(passing.words[0]), passing.before(passing.words[1]))
    if recorded and present and size:
        context, device = player.modules.get(passing.words[0], (0, 0))
        player.memory.add(Range(recorded, size, present, "global", context, device))


def _value(place: int) -> Effect:
    """A number that is handed out and wanted back, in a kernel's argument for example."""

    def effect(player: Player, passing: Passing) -> None:
        player.names.learn(*_answer(passing, place))

    return effect


EFFECTS["zeModuleGetFunctionPointer"] = _value(2)
EFFECTS["zeImageGetDeviceOffsetExp"] = _value(1)
EFFECTS["zeEventCounterBasedGetDeviceAddress"] = _value(2)

# --- Sharing --------------------------------------------------------------------------------------


def _shared(place: int) -> Effect:
    def effect(player: Player, passing: Passing) -> None:
        present = passing.placed.get(passing.words[place])
        recorded = passing.after(passing.words[place])
        if present is not None and recorded:
            player.share(recorded, present.bytes(0, len(recorded)))

    return effect


EFFECTS["zeMemGetIpcHandle"] = _shared(2)
EFFECTS["zeMemGetIpcHandleWithProperties"] = _shared(3)
EFFECTS["zeMemGetIpcHandleFromFileDescriptorExp"] = _shared(2)
EFFECTS["zeEventPoolGetIpcHandle"] = _shared(1)
EFFECTS["zeEventCounterBasedGetIpcHandle"] = _shared(1)


@_after("zeMemGetFileDescriptorFromIpcHandleExp")
def _descriptor(player: Player, passing: Passing) -> None:
    recorded, present = _answer(passing, 2)
    player.names.descriptors.learn(recorded, present)


# --- Times ----------------------------------------------------------------------------------------


@_after("zeCommandListAppendWriteGlobalTimestamp")
def _time(player: Player, passing: Passing) -> None:
    player.comparison.varies(passing.words[1], WORD)


@_after("zeCommandListAppendQueryKernelTimestamps")
def _times(player: Player, passing: Passing) -> None:
    extent = EXTENTS[("zeCommandListAppendQueryKernelTimestamps", "dstptr")]
    player.comparison.varies(passing.words[3], extent(passing))


@_after("zeKernelSetIndirectAccess")
def _indirect(player: Player, passing: Passing) -> None:
    if passing.words[1] and not (player.options.scan_pointers or player.options.pointers_at):
        player.report.note(
            "kernels follow addresses inside buffers, which stay as recorded; see --scan-pointers"
        )


# --- Devices, queues and lists --------------------------------------------------------------------


def _listed(name: str) -> Effect:
    return lambda player, passing: player.topology.listed(name, passing)


for _name in LISTED:
    EFFECTS[_name] = _listed(_name)
EFFECTS["zeDeviceGetRootDevice"] = lambda player, passing: player.topology.root(passing)
EFFECTS["zeDeviceGetCommandQueueGroupProperties"] = lambda player, passing: (
    player.topology.recorded_groups(passing)
)


def _on_queue(description: int, *, has_index: bool) -> Effect:
    def adjust(player: Player, passing: Passing) -> None:
        words = passing.words
        player.topology.queue(passing, words[1], words[description], has_index=has_index)

    return adjust


ADJUSTMENTS["zeCommandQueueCreate"] = _on_queue(2, has_index=True)
ADJUSTMENTS["zeCommandListCreate"] = _on_queue(2, has_index=False)
ADJUSTMENTS["zeCommandListCreateImmediate"] = _on_queue(2, has_index=True)
ADJUSTMENTS["zeMemAllocDevice"] = lambda player, passing: player.topology.memory(
    passing, passing.words[4], passing.words[1]
)
ADJUSTMENTS["zeMemAllocShared"] = lambda player, passing: player.topology.memory(
    passing, passing.words[5], passing.words[1]
)


@_after("zeCommandListCreateImmediate")
def _immediate(player: Player, passing: Passing) -> None:
    """Takes note of a list whose work may have to be waited for; a synchronous one's never has."""
    data = passing.before(passing.words[2]) or b""
    mode: Any = ze.ze_command_queue_desc_t.mode
    number = int.from_bytes(data[mode.offset : mode.offset + mode.size], "little")
    if number != ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS:
        player.work.immediate.add(_answer(passing, 3)[1])


@_after("zeEventCreate")
def _event(player: Player, passing: Passing) -> None:
    player.work.events.add(_answer(passing, 2)[1])


@_after("zeCommandListGetNextCommandIdExp")
def _command(player: Player, passing: Passing) -> None:
    recorded, present = _answer(passing, 2)
    player.names.commands[(passing.words[0], recorded)] = present


@_after("zeCommandListGetNextCommandIdWithKernelsExp")
def _command_with_kernels(player: Player, passing: Passing) -> None:
    recorded, present = _answer(passing, 4)
    player.names.commands[(passing.words[0], recorded)] = present


@_after("zeCommandListCreateCloneExp")
def _clone(player: Player, passing: Passing) -> None:
    clone, commands = _answer(passing, 1)[0], player.names.commands
    for (owner, recorded), present in list(commands.items()):
        if owner == passing.words[0]:
            commands[(clone, recorded)] = present


# --- Modules, kernels and images ------------------------------------------------------------------


@_after("zeModuleCreate")
def _module(player: Player, passing: Passing) -> None:
    place = (player.handle(passing.words[0]), player.handle(passing.words[1]))
    player.modules[_answer(passing, 3)[0]] = place


def _image(place: int) -> Effect:
    def effect(player: Player, passing: Passing) -> None:
        data = passing.before(passing.words[2]) or b""
        if len(data) >= ctypes.sizeof(ze.ze_image_desc_t):
            description = ze.ze_image_desc_t.from_buffer_copy(data)
            player.names.images[_answer(passing, place)[0]] = image_size(description)

    return effect


EFFECTS["zeImageCreate"] = _image(3)
EFFECTS["zeImageViewCreateExt"] = _image(4)
EFFECTS["zeImageViewCreateExp"] = _image(4)
