"""What the driver itself counts of a CPU device: busy workers, memory, processes.

All of it is over every process of this machine that this user may look into. Work and memory of the
whole device belong to its sub-devices in equal shares, as far as their workers are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from groundstate import zes
from groundstate.driver import native
from groundstate.driver.platform import Device
from groundstate.driver.sysman.activity import PROCESSES, Meter, Page, Place, Record, Seen
from groundstate.driver.sysman.parts import Engine, MemoryModule, MemoryState, Process, Watched

Count = Callable[[Record], int]
"""Nanoseconds of all workers of a record."""


def _computing(record: Record) -> int:
    copied = record.all_copied()
    return max(0, record.all_busy() - copied)


def place_of(device: Device) -> Place:
    """Where a device is on the machine, as the pages of all processes name it."""
    path = device.part.path
    return path[0], path[1] if len(path) > 1 else -1


def _records(page: Page, device: Device) -> list[tuple[Record, float]]:
    """The records of a process that concern a device, each with the share that does."""
    found = page.shares.get(device)
    if found is None:
        found = page.shares[device] = list(_find_records(page, device))
    return found


def _find_records(page: Page, device: Device) -> Iterator[tuple[Record, float]]:
    number, subdevice = place_of(device)
    for (other_number, other_subdevice), record in page.records.items():
        if other_number != number:
            continue
        if subdevice in (-1, other_subdevice):
            yield record, 1.0
        elif other_subdevice == -1:
            yield record, device.worker_count / record.workers


def _by_all(device: Device, count: Count) -> Callable[[Page], int]:
    """What all workers of a device did together for a process."""

    def sample(page: Page) -> int:
        return int(sum(share * count(record) for record, share in _records(page, device)))

    return sample


def _by_one(device: Device, worker: int) -> Callable[[Page], int]:
    """What one worker computed for a process. Work of the whole device is shared by all equally."""
    own = place_of(device)

    def sample(page: Page) -> int:
        total = 0.0
        for record, share in _records(page, device):
            if record.place == own:
                if worker < record.workers:
                    copied = record.copied(worker)
                    total += max(0, record.busy(worker) - copied)
            elif own[1] >= 0:
                total += share * _computing(record) / device.worker_count
        return int(total)

    return sample


@dataclass(slots=True)
class CountedEngine(Engine):
    """Workers of a device. Activity is the mean over them."""

    meter: Meter
    workers: int

    def activity(self) -> tuple[int, int]:
        nanoseconds, now = self.meter.read()
        return nanoseconds // self.workers // 1000, now // 1000


def engines_of(root: Device) -> list[Engine]:
    """Of the whole device, of each sub-device, and of each worker."""
    found: list[Engine] = []
    for subdevice, device in [(None, root), *enumerate(root.subdevices)]:
        for group, count in (
            (zes.ZES_ENGINE_GROUP_ALL, Record.all_busy),
            (zes.ZES_ENGINE_GROUP_COMPUTE_ALL, _computing),
            (zes.ZES_ENGINE_GROUP_COPY_ALL, Record.all_copied),
        ):
            meter = Meter(device.worker_count, _by_all(device, count))
            found.append(CountedEngine(group, meter, device.worker_count, subdevice=subdevice))
        if subdevice is None and root.subdevices:
            continue  # its workers are those of its sub-devices
        for worker in range(device.worker_count):
            meter, single = Meter(1, _by_one(device, worker)), zes.ZES_ENGINE_GROUP_COMPUTE_SINGLE
            found.append(CountedEngine(single, meter, 1, subdevice=subdevice))
    return found


# --- Memory ---------------------------------------------------------------------------------


@dataclass(slots=True)
class CountedMemory(MemoryModule):
    """The memory that a device was given of the machine's."""

    device: Device = field(kw_only=True)
    health: Callable[[], int] = field(kw_only=True)

    def state(self) -> MemoryState:
        size = self.device.part.memory_bytes
        used = sum(_memory_of(page, self.device) for page in PROCESSES.pages())
        return MemoryState(max(0, size - used), size, self.health())


def _memory_of(page: Page, device: Device) -> int:
    """What a process holds. A whole device counts what its sub-devices hold, too."""
    number, subdevice = place_of(device)
    whole = page.records.get((number, -1))
    if subdevice == -1:
        if whole is not None:
            return whole.memory_bytes
        return sum(record.memory_bytes for record, _ in _records(page, device))
    own = page.records.get((number, subdevice))
    used = 0 if own is None else own.memory_bytes
    if whole is None:
        return used
    parts = sum(
        record.memory_bytes
        for place, record in page.records.items()
        if place[0] == number and place[1] >= 0
    )
    everybodys = max(0, whole.memory_bytes - parts)
    return used + everybodys * device.worker_count // whole.workers


def memories_of(root: Device, health: Callable[[], int]) -> list[MemoryModule]:
    """One for each sub-device, or one for a device that is not divided.

    Nothing that every user may read tells which kind of memory the machine has.
    """
    devices = root.subdevices or [root]
    return [
        CountedMemory(
            type=zes.ZES_MEM_TYPE_DDR,
            location=zes.ZES_MEM_LOC_SYSTEM,
            physical_bytes=device.part.memory_bytes,
            device=device,
            health=health,
            subdevice=ordinal if root.subdevices else None,
        )
        for ordinal, device in enumerate(devices)
    ]


# --- Processes ---------------------------------------------------------------------------------


def processes_of(root: Device) -> list[Process]:
    """The processes that use a device, looked for at once."""
    number = place_of(root)[0]
    return [
        _describe(seen, root)
        for seen in PROCESSES.all(at_once=True)
        if seen.page is None or any(place[0] == number for place in seen.page.records)
    ]


def _describe(seen: Seen, root: Device) -> Process:
    process = Process(seen.pid, 0, 0, 0)
    if seen.page is None:
        return process
    everything = _by_all(root, Record.all_busy)(seen.page)
    copies = _by_all(root, Record.all_copied)(seen.page)
    whole = seen.page.records.get((place_of(root)[0], -1))
    records = [whole] if whole is not None else [each for each, _ in _records(seen.page, root)]
    process.memory_bytes = sum(record.memory_bytes for record in records)
    process.shared_bytes = sum(record.shared_bytes for record in records)
    process.busy_us = everything // root.worker_count // 1000
    if everything > copies:
        process.engines |= zes.ZES_ENGINE_TYPE_FLAG_COMPUTE
    if copies > 0:
        process.engines |= zes.ZES_ENGINE_TYPE_FLAG_DMA
    return process


# --- The device ---------------------------------------------------------------------------------


class Counted(Watched):
    """A device of this driver, with what the driver counts of it."""

    def __init__(self, device: Device) -> None:
        self.device = device

    @cached_property
    def _engines(self) -> list[Engine]:
        return engines_of(self.device)

    @cached_property
    def _memories(self) -> list[MemoryModule]:
        return memories_of(self.device, self._memory_health)

    def engines(self) -> Sequence[Engine]:
        return self._engines

    def memories(self) -> Sequence[MemoryModule]:
        return self._memories

    def processes(self) -> Sequence[Process]:
        return processes_of(self.device)

    def is_used_here(self) -> bool:
        return native.is_used(self.device.handle)

    def reset(self) -> None:
        """All state of the device lives in the processes that use it. Others keep theirs."""
        native.reset_device(self.device.handle)

    def subdevices(self) -> Sequence[bytes]:
        return [subdevice.uuid for subdevice in self.device.subdevices]

    def is_attached(self) -> bool:
        """Whether one of its CPUs is online."""
        online = self.device.machine.online_cpus()
        return not online or any(cpu in online for cpu in self.device.cpus)

    def _memory_health(self) -> int:
        """What the counters of memory errors say, if there are any."""
        counters = self.errors()
        if not counters:
            return zes.ZES_MEM_HEALTH_UNKNOWN
        uncorrected = zes.ZES_RAS_ERROR_TYPE_UNCORRECTABLE
        if any(sum(each.counts().values()) for each in counters if each.type == uncorrected):
            return zes.ZES_MEM_HEALTH_CRITICAL
        return zes.ZES_MEM_HEALTH_OK
