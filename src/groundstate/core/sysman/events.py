"""Events of devices: what a program wants to be told, and waiting for it."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from groundstate.core.api import NOT_READY, WAIT_SLICE_NS, check, deadline_of, handle_array
from groundstate.core.sysman.enums import SysmanEvent

if TYPE_CHECKING:
    from groundstate.core.sysman.device import SysmanDevice

_SLICE_MS = WAIT_SLICE_NS // 1_000_000


class Events:
    """What a program is told about a device.

    The thresholds of temperatures and energy are set at `TemperatureSensor.config` and
    `PowerDomain.set_energy_event`.
    """

    def __init__(self, sysman: SysmanDevice) -> None:
        self.sysman = sysman
        self.registered = SysmanEvent(0)
        """What is waited for."""

    def __repr__(self) -> str:
        return f"<Events of {self.sysman.name!r}: {self.registered!r}>"

    def register(self, events: SysmanEvent) -> None:
        """Says what to wait for, in place of what was said before."""
        self.sysman.api.call("zesDeviceEventRegister", self.sysman.handle, events)
        self.registered = SysmanEvent(events)

    def wait(self, timeout: float | None = None) -> SysmanEvent:
        """Waits until one of them happens, and says which; `TimeoutError` after some seconds."""
        return wait_for_events([self.sysman], timeout)[self.sysman]


def wait_for_events(
    devices: Sequence[SysmanDevice], timeout: float | None = None
) -> dict[SysmanDevice, SysmanEvent]:
    """Waits until something happens to one of several devices of a driver, and says what.

    The time is in seconds; None waits for ever. `TimeoutError` is raised when it has passed.
    """
    if not devices or len({device.driver_handle for device in devices}) != 1:
        raise ValueError("events are waited for with one or more devices of one driver")
    deadline = None if timeout is None else deadline_of(timeout)
    while True:
        left = _SLICE_MS
        if deadline is not None:
            left = min(max(0, -(-(deadline - time.monotonic_ns()) // 1_000_000)), _SLICE_MS)
        happened = _listen(devices, left)
        if happened:
            return happened
        if left == 0:
            raise TimeoutError(f"nothing happened within {timeout} s")


def _listen(devices: Sequence[SysmanDevice], milliseconds: int) -> dict[SysmanDevice, SysmanEvent]:
    """What happens to some devices within a moment."""
    api = devices[0].api
    handles = handle_array([device.handle for device in devices])
    events, count = (ctypes.c_uint32 * len(devices))(), ctypes.c_uint32()
    name, driver = "zesDriverEventListenEx", devices[0].driver_handle
    result = api.raw(name, driver, milliseconds, len(devices), handles, ctypes.byref(count), events)
    if result != NOT_READY:  # which is how a signal ends it: its handler runs when we are back
        check(result, name, api)
    pairs = zip(devices, events, strict=True)
    return {device: SysmanEvent(found) for device, found in pairs if found}
