"""Device threads by their numbers: slice, sub-slice, execution unit and thread."""

from __future__ import annotations

from collections.abc import Sequence

from groundstate import ze
from groundstate.driver.devices import quirks
from groundstate.driver.platform import Device

Place = tuple[int, int, int, int]

ANY = 0xFFFFFFFF
"""Stands for all numbers of a kind."""
ALL: Place = (ANY, ANY, ANY, ANY)


def place_at(address: int) -> Place:
    """The caller's `ze_device_thread_t`."""
    told = ze.ze_device_thread_t.from_address(address)
    return told.slice, told.subslice, told.eu, told.thread


def place_of(numbers: Sequence[int]) -> Place:
    """A place out of a message."""
    one, two, three, four = (int(each) for each in numbers)
    return one, two, three, four


def covers(wanted: Place, place: Place) -> bool:
    """Whether a thread is one of those that are wanted."""
    return all(number in (ANY, own) for number, own in zip(wanted, place, strict=True))


def is_single(wanted: Place) -> bool:
    """Whether it names one thread."""
    return ANY not in wanted


def places_on(device: Device) -> list[Place]:
    """All threads that a device has, as `zeDeviceGetProperties` counts them."""
    threads = quirks.threads_per_unit()
    units = range(device.worker_count)
    return [(0, 0, unit, thread) for unit in units for thread in range(threads)]
