"""Reads and writes memory that only the device reaches, with command lists of the player's own."""

from __future__ import annotations

import ctypes

from groundstate import _raw, ze
from groundstate.capture.play.errors import UnplayableError
from groundstate.capture.play.memory import Range
from groundstate.capture.play.report import result_name


class DeviceCopies:
    """Copies between the device and the player, one at a time and to their end."""

    def __init__(self, library: _raw.Library) -> None:
        self._library = library
        self._lists: dict[tuple[int, int], int] = {}

    def transfer(self, memory: Range, present: int, other: int, size: int, reads: bool) -> None:
        """Copies `size` bytes from device memory to the address `other`, or back."""
        to, source = (other, present) if reads else (present, other)
        command_list = self._list_for(memory)
        copy = self._library.zeCommandListAppendMemoryCopy
        result = copy(command_list, to, source, size, None, 0, None)
        if result != ze.ZE_RESULT_SUCCESS:
            raise UnplayableError(f"memory of the device: {result_name(result)}")

    def forget(self, context: int) -> None:
        """Ends the lists of a context, before the context itself ends."""
        for key in [key for key in self._lists if key[0] == context]:
            self._library.zeCommandListDestroy(self._lists.pop(key))

    def close(self) -> None:
        """Ends all lists."""
        for context in {context for context, _ in self._lists}:
            self.forget(context)

    def _list_for(self, memory: Range) -> int:
        key = (memory.context, memory.device or self._device_of(memory))
        if key not in self._lists:
            description = ze.ze_command_queue_desc_t(mode=ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
            made = ctypes.c_void_p()
            create = self._library.zeCommandListCreateImmediate
            result = create(*key, ctypes.byref(description), ctypes.byref(made))
            if result != ze.ZE_RESULT_SUCCESS or made.value is None:
                raise UnplayableError(f"memory of the device: {result_name(result)}")
            self._lists[key] = made.value
        return self._lists[key]

    def _device_of(self, memory: Range) -> int:
        """The device that an allocation is on, or the first one there is."""
        properties = ze.ze_memory_allocation_properties_t()
        device = ctypes.c_void_p()
        self._library.zeMemGetAllocProperties(
            memory.context, memory.present, ctypes.byref(properties), ctypes.byref(device)
        )
        if device.value is None:
            one, driver = ctypes.c_uint32(1), ctypes.c_void_p()
            self._library.zeDriverGet(ctypes.byref(one), ctypes.byref(driver))
            self._library.zeDeviceGet(driver, ctypes.byref(one), ctypes.byref(device))
        return device.value or 0
