"""Writes what brings back the state at the beginning of a cut, read from a player that is there.

Host and shared memory come as contents. Device memory, mapped memory and images are copied from
memory of the player's own, a piece at a time, by calls of our own. Events and fences that were
signalled are signalled again.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

from groundstate import ze
from groundstate.capture.play import Player, PlayError
from groundstate.capture.structure import Life
from groundstate.capture.subcapture.errors import CutError
from groundstate.capture.subcapture.foreign import is_foreign, opened_size
from groundstate.capture.subcapture.output import OURS, Given, Output, Wanted
from groundstate.capture.subcapture.recorded import Recorded

STAGING = OURS
STAGE_SIZE = 16 << 20
PAGE = 4096
ZEROS = bytes(PAGE)
CONTEXT = "ze_context_handle_t"
DEVICE = "ze_device_handle_t"
FOREVER = (1 << 64) - 1


class Restorer:
    """Brings lives back in a stream that is written, as a player has them now."""

    def __init__(self, output: Output, player: Player, recorded: Recorded, begin: int) -> None:
        self._output = output
        self._player = player
        self._recorded = recorded
        self._begin = begin
        self._lists: dict[tuple[tuple[int, int], bool], int] = {}

    def restore(self, lives: set[Life]) -> None:
        """Brings back everything that was alive where the cut begins."""
        alive = [life for life in lives if life.lives_at(self._begin)]
        alive.sort(key=lambda life: life.made_by)
        for life in alive:
            if life.sort in ("host", "shared"):
                self._host_visible(life)
            elif life.sort in ("device", "global"):
                self._on_device(life, life.value, life.size or 0)
            elif life.sort == "opened" and is_foreign(life):
                self._on_device(life, life.value, opened_size(self._player, life))
            elif life.sort == "reserved":
                for address, size in self._mapped(life):
                    self._on_device(life, address, size)
            elif life.kind == "ze_image_handle_t":
                self._image(life)
        for life in alive:
            if life.kind == "ze_event_handle_t" and is_signalled(self._player, life):
                self._signal(life)
            elif life.kind == "ze_fence_handle_t":
                self._fence(life)

    def program_memory(self, runs: Iterator[tuple[int, int]]) -> None:
        """Brings back memory of the program that commands of the cut read."""
        memory = [(address, self._player.memory.read(address, size)) for address, size in runs]
        self._output.writes(memory)

    # --- Memory ---

    def _read(self, address: int, size: int) -> bytes:
        try:
            data = self._player.memory.read(address, size)
        except PlayError as problem:
            raise CutError(f"memory at 0x{address:x} cannot be read: {problem}") from None
        return self._player.pointers.as_recorded(address, data)

    def _host_visible(self, life: Life) -> None:
        """Contents without the pages of zeros, which new memory has anyway."""
        for address, size in _pieces(life.value, life.size or 0):
            data = self._read(address, size)
            self._output.writes([(address + at, part) for at, part in _filled(data)])

    def _on_device(self, life: Life, address: int, size: int) -> None:
        commands = self._commands(life)
        for begin, length in _pieces(address, size):
            data = self._read(begin, length)
            if data.count(0) != length:
                self._output.writes([(STAGING, data)])
                self._output.make(
                    "zeCommandListAppendMemoryCopy", commands, begin, STAGING, length, 0, 0, 0
                )
            else:
                self._output.make(
                    "zeCommandListAppendMemoryFill", commands, begin, b"\0", 1, length, 0, 0, 0
                )

    def _mapped(self, reservation: Life) -> list[tuple[int, int]]:
        """The parts of reserved memory that are mapped where the cut begins."""
        mapped: dict[int, int] = {}
        for step in self._recorded.steps:
            if step.number >= self._begin:
                break
            if step.succeeded and reservation in self._recorded.uses(step.number):
                if step.name == "zeVirtualMemMap":
                    mapped[step.arguments[1]] = step.arguments[2]
                elif step.name == "zeVirtualMemUnmap":
                    first, last = step.arguments[1], step.arguments[1] + step.arguments[2]
                    mapped = {x: size for x, size in mapped.items() if not first <= x < last}
        return sorted(mapped.items())

    # --- Images, events, fences ---

    def _image(self, life: Life) -> None:
        size = self._player.names.images.get(life.value)
        if size is None or not size.bytes():
            raise CutError(
                f"the image of record {life.made_by} has a format whose size is not known"
            )
        data = self._image_bytes(life, size.bytes())
        self._output.writes([(STAGING, data)])
        self._output.make(
            "zeCommandListAppendImageCopyFromMemory",
            self._commands(life),
            life.value,
            STAGING,
            0,
            0,
            0,
            0,
        )

    def _image_bytes(self, life: Life, size: int) -> bytes:
        """The texels of an image, row after row."""
        context, device = self._owner(life)
        library = self._player.library
        description = ze.ze_command_queue_desc_t(mode=ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
        commands = ctypes.c_void_p()
        buffer = ctypes.create_string_buffer(size)
        present = (self._player.handle(context), self._player.handle(device))
        result = library.zeCommandListCreateImmediate(
            *present, ctypes.byref(description), ctypes.byref(commands)
        )
        if result == 0:
            result = library.zeCommandListAppendImageCopyToMemory(
                commands, buffer, self._player.handle(life.value), None, None, 0, None
            )
            library.zeCommandListDestroy(commands)
        if result != 0:
            raise CutError(f"the image of record {life.made_by} cannot be read: 0x{result:x}")
        return buffer.raw

    def signal(self, events: list[Life]) -> None:
        """Signals events that are not signalled yet."""
        for event in events:
            if not is_signalled(self._player, event):
                self._signal(event)

    def _signal(self, life: Life) -> None:
        """Signals an event; one that follows a list's counter gets one of ours to follow."""
        if self._follows_counter(life):
            commands = self._commands(life, in_order=True)
            self._output.make("zeCommandListAppendSignalEvent", commands, life.value)
        else:
            self._output.make("zeEventHostSignal", life.value)

    def _follows_counter(self, event: Life) -> bool:
        flags = ctypes.c_uint32()
        try:
            ask = self._player.library.zeEventGetCounterBasedFlags
        except AttributeError:
            return False  # a library from before there were such events
        handle = self._player.handle(event.value)
        return ask(handle, ctypes.byref(flags)) == 0 and flags.value != 0

    def _fence(self, life: Life) -> None:
        """Only an execution signals a fence; one of an empty list does."""
        if self._player.library.zeFenceQueryStatus(self._player.handle(life.value)) != 0:
            return
        queue = next(need for need in life.needs if need.kind == "ze_command_queue_handle_t")
        context, device = self._owner(queue)
        empty = self._output.new_handle()
        description = ze.ze_command_list_desc_t()
        self._output.make("zeCommandListCreate", context, device, description, Wanted(empty))
        self._output.make("zeCommandListClose", empty)
        lists = Given([empty])
        self._output.make("zeCommandQueueExecuteCommandLists", queue.value, 1, lists, life.value)
        self._output.make("zeCommandQueueSynchronize", queue.value, FOREVER)
        self._output.make("zeCommandListDestroy", empty)

    # --- Lists of our own ---

    def _commands(self, life: Life, *, in_order: bool = False) -> int:
        """An immediate list in whose context and on whose device something lives.

        Only a list that is in order has a counter; libraries from before that refuse the flag.
        """
        owner = self._owner(life)
        if (owner, in_order) not in self._lists:
            made = self._output.new_handle()
            self._lists[owner, in_order] = made
            description = ze.ze_command_queue_desc_t(
                flags=ze.ZE_COMMAND_QUEUE_FLAG_IN_ORDER if in_order else 0,
                mode=ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS,
            )
            self._output.make("zeCommandListCreateImmediate", *owner, description, Wanted(made))
        return self._lists[owner, in_order]

    def _owner(self, life: Life) -> tuple[int, int]:
        """The context and the device that something was made with, directly or indirectly."""
        found: dict[str, int] = {}
        waiting = list(life.needs)
        while waiting and len(found) < 2:
            need = waiting.pop(0)
            if need.kind in (CONTEXT, DEVICE):
                found.setdefault(need.kind, need.value)
            waiting += need.needs
        if CONTEXT in found and DEVICE not in found and (device := self._any_device()):
            found[DEVICE] = device
        if len(found) < 2:
            raise CutError(f"the recording does not tell where {life!r} was made")
        return found[CONTEXT], found[DEVICE]

    def _any_device(self) -> int | None:
        alive = self._recorded.lifetimes.alive_at(self._begin)
        return next((life.value for life in alive if life.kind == DEVICE), None)


def is_signalled(player: Player, event: Life) -> bool:
    """Whether an event is signalled where a player is."""
    return bool(player.library.zeEventQueryStatus(player.handle(event.value)) == 0)


def _pieces(address: int, size: int) -> Iterator[tuple[int, int]]:
    for begin in range(0, size, STAGE_SIZE):
        yield address + begin, min(STAGE_SIZE, size - begin)


def _filled(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The runs of pages that are not all zeros, with their offsets."""
    begin = None
    for at in range(0, len(data), PAGE):
        if data[at : at + PAGE] != ZEROS[: len(data) - at]:
            begin = at if begin is None else begin
        elif begin is not None:
            yield begin, data[begin:at]
            begin = None
    if begin is not None:
        yield begin, data[begin:]
