"""What of a device can be watched and set: one small class for each noun of the specification.

A kind of device (`kinds/cpu.py`, `kinds/nvidia.py`) makes these objects and knows how to read them;
the noun files beside this one give them handles and put what they say into the caller's structs.
So a noun is written once for all kinds of devices, and a kind in one place for all nouns.

Properties are attributes, what changes is a method. Values are in the unit of the name. None is
what the machine does not tell; a reader that may not look raises `PermissionError`, a setter that
is not there `Unsupported`, and one that is given nonsense `ValueError`, all with a sentence
for the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from groundstate.driver.api import Unsupported


@dataclass(slots=True)
class Part:
    """What all have: the sub-device that it belongs to, or None for the whole device."""

    subdevice: int | None = field(default=None, kw_only=True)


@dataclass(slots=True)
class Engine(Part):
    """Some queues or workers of a device, whose busy time is counted."""

    group: int
    """zes_engine_group_t."""

    def activity(self) -> tuple[int, int]:
        """How long it was busy and when that was read, in microseconds; both only go up."""
        raise Unsupported("how long this engine was busy is not counted")

    def function_activity(self) -> Sequence[tuple[int, int]]:
        """The same for each virtual function; the first is the physical one."""
        return [self.activity()]


@dataclass(slots=True)
class MemoryState:
    """How full a memory is."""

    free_bytes: int
    size_bytes: int
    health: int = 0
    """zes_mem_health_t."""


@dataclass(slots=True)
class MemoryBandwidth:
    """Counters of what went through a memory's controller."""

    read_bytes: int
    written_bytes: int
    limit_bytes_per_second: int
    timestamp_us: int


@dataclass(slots=True)
class MemoryModule(Part):
    """A memory of a device."""

    type: int
    """zes_mem_type_t."""
    location: int
    """zes_mem_loc_t."""
    physical_bytes: int | None
    bus_width_bits: int | None = None
    channels: int | None = None

    def state(self) -> MemoryState:
        raise Unsupported("the state of this part is not told")

    def bandwidth(self) -> MemoryBandwidth:
        raise Unsupported("the memory controller's counters cannot be read here")


@dataclass(slots=True)
class FrequencyState:
    """Clocks in MHz, a voltage in volts."""

    actual_mhz: float | None = None
    request_mhz: float | None = None
    tdp_mhz: float | None = None
    efficient_mhz: float | None = None
    voltage: float | None = None
    throttle_reasons: int = 0
    """zes_freq_throttle_reason_flags_t."""


@dataclass(slots=True)
class FrequencyDomain(Part):
    """Clocks that change together."""

    type: int
    """zes_freq_domain_t."""
    minimum_mhz: float | None
    maximum_mhz: float | None
    can_control: bool = False
    tells_throttling: bool = False
    """Whether the reasons of its state are known, so that there are events about them."""

    def state(self) -> FrequencyState:
        raise Unsupported("the state of this part is not told")

    def range_mhz(self) -> tuple[float, float]:
        """The limits that are set now; -1 where there is none."""
        raise Unsupported("the limits of this clock cannot be read")

    def set_range(self, minimum_mhz: float, maximum_mhz: float) -> None:
        """Sets the limits; a value below 0 means the machine's own."""
        raise Unsupported("this clock cannot be controlled")

    def available_mhz(self) -> Sequence[float]:
        """The clocks that can be asked for, slowest first."""
        return []

    def throttle_time_us(self) -> tuple[int, int]:
        """How long it was held down so far, and when that was read."""
        raise Unsupported("the machine does not count how long this clock is held down")


@dataclass(slots=True)
class TemperatureSensor(Part):
    """A thermometer."""

    type: int
    """zes_temp_sensors_t."""
    maximum_celsius: float | None = None
    critical_celsius: float | None = None

    def celsius(self) -> float:
        raise Unsupported("this thermometer cannot be read")


@dataclass(slots=True)
class PowerLimit:
    """One limit of a power domain."""

    level: int
    """zes_power_level_t."""
    milliwatts: int
    interval_ms: int | None = None
    enabled: bool = True
    can_set: bool = False


@dataclass(slots=True)
class PowerDomain(Part):
    """Something whose energy is counted."""

    domain: int
    """zes_power_domain_t."""
    default_limit_mw: int | None = None
    minimum_limit_mw: int | None = None
    maximum_limit_mw: int | None = None
    can_control: bool = False

    def energy_uj(self) -> tuple[int, int]:
        """The energy used so far in microjoules, and when that was read in microseconds."""
        raise Unsupported("the energy of this domain is not counted")

    def usage_mw(self) -> tuple[int, int] | None:
        """The power of now and the average, if the machine tells more than the energy."""
        return None

    def limits(self) -> Sequence[PowerLimit]:
        return []

    def set_limits(self, limits: Sequence[PowerLimit]) -> None:
        raise Unsupported("the power of this domain cannot be limited")


@dataclass(slots=True)
class Fan(Part):
    """A fan."""

    maximum_rpm: int | None = None
    can_control: bool = False

    def rpm(self) -> int | None:
        return None

    def percent(self) -> int | None:
        return None


@dataclass(slots=True)
class PowerSupply(Part):
    """A power supply."""

    has_fan: bool = False
    limit_milliamperes: int | None = None

    def voltage_status(self) -> int:
        """zes_psu_voltage_status_t."""
        return 0

    def celsius(self) -> int | None:
        return None

    def milliamperes(self) -> int | None:
        return None


@dataclass(slots=True)
class ErrorCounters(Part):
    """Counters of errors of one type."""

    type: int
    """zes_ras_error_type_t."""

    def counts(self) -> dict[int, int]:
        """By zes_ras_error_cat_t; what is not there is not counted."""
        raise Unsupported("these errors are not counted")

    def clear(self) -> None:
        raise Unsupported("these counters cannot be cleared")


@dataclass(slots=True)
class Scheduler(Part):
    """How work is shared among programs."""

    engines: int
    """zes_engine_type_flags_t."""
    modes: int
    """Bits 1 << zes_sched_mode_t."""
    can_control: bool = False

    def mode(self) -> int:
        raise Unsupported("the mode of this scheduler is not told")

    def timeslice_us(self) -> tuple[int, int]:
        """The interval and the time to yield."""
        raise Unsupported("there are no time slices here")

    def set_timeslice(self, interval_us: int, yield_us: int) -> None:
        raise Unsupported("time slices cannot be set here")


@dataclass(slots=True)
class Firmware(Part):
    """A firmware of the device, such as the microcode of a CPU."""

    name: str
    version: str


@dataclass(slots=True)
class PciSpeed:
    """What a link can carry, or carries; None for what is not known."""

    generation: int | None = None
    width: int | None = None
    bytes_per_second: int | None = None


@dataclass(slots=True)
class PciBar:
    """A window into a device."""

    type: int
    """zes_pci_bar_type_t."""
    index: int
    base: int
    size_bytes: int
    is_resizable: bool = False
    """Whether the kernel can give it another size."""
    is_resized: bool = False
    """Whether it is larger than windows that cannot be resized usually are."""


@dataclass(slots=True)
class PciStats:
    """Counters of a PCI link."""

    timestamp_us: int
    replays: int | None = None
    received_bytes: int | None = None
    sent_bytes: int | None = None


@dataclass(slots=True)
class Pci:
    """The place of a device on the PCI bus."""

    address: tuple[int, int, int, int]
    maximum: PciSpeed = field(default_factory=PciSpeed)
    has_bandwidth_counters: bool = False
    has_replay_counter: bool = False

    def speed(self) -> PciSpeed:
        return PciSpeed()

    def bars(self) -> Sequence[PciBar]:
        return []

    def stats(self) -> PciStats:
        raise Unsupported("this device has no counters of its PCI link")


@dataclass(slots=True)
class Process:
    """A process that uses a device."""

    pid: int
    memory_bytes: int
    shared_bytes: int
    engines: int
    """zes_engine_type_flags_t."""
    busy_us: int | None = None
    """How long the device worked for it; one of several workers is only a part of the device."""


@dataclass(slots=True)
class Description:
    """The identity of a device and its names, each empty or 0 if unknown."""

    name: str = ""
    uuid: bytes = bytes(16)
    type: int = 0
    """zes_device_type_t."""
    flags: int = 0
    """zes_device_property_flags_t."""
    vendor_id: int = 0
    device_id: int = 0
    core_clock_mhz: int = 0
    serial_number: str = ""
    board_number: str = ""
    brand: str = ""
    model: str = ""
    vendor: str = ""
    driver_version: str = ""


class Watched:
    """All that can be watched of one device. A kind of device overrides what it has.

    Lists are made once: their objects keep their identity, because handles stand for them.
    """

    description = Description()

    def subdevices(self) -> Sequence[bytes]:
        """The UUIDs of its sub-devices, in their order."""
        return []

    def is_attached(self) -> bool:
        """False while the device is away, as a CPU that was taken offline."""
        return True

    def reset_reasons(self) -> int:
        """Why the device has to be reset: zes_reset_reason_flags_t, 0 if it has not."""
        return 0

    def engines(self) -> Sequence[Engine]:
        return []

    def memories(self) -> Sequence[MemoryModule]:
        return []

    def frequencies(self) -> Sequence[FrequencyDomain]:
        return []

    def temperatures(self) -> Sequence[TemperatureSensor]:
        return []

    def powers(self) -> Sequence[PowerDomain]:
        return []

    def fans(self) -> Sequence[Fan]:
        return []

    def supplies(self) -> Sequence[PowerSupply]:
        return []

    def errors(self) -> Sequence[ErrorCounters]:
        return []

    def schedulers(self) -> Sequence[Scheduler]:
        return []

    def firmwares(self) -> Sequence[Firmware]:
        return []

    def processes(self) -> Sequence[Process]:
        return []

    def pci(self) -> Pci | None:
        return None

    def ecc_is_enabled(self) -> bool | None:
        """None if the memory cannot have error correction, or nobody can tell."""
        return None

    def ecc_after_reset(self) -> bool | None:
        """What `ecc_is_enabled` will be after the next reset of the device."""
        return self.ecc_is_enabled()

    def ecc_by_default(self) -> bool | None:
        """What it is on a device that nobody has changed."""
        return None

    def ecc_can_be_set(self) -> bool:
        return False

    def set_ecc(self, enabled: bool) -> None:
        """Switches error correction on or off, from the next reset on."""
        raise Unsupported("only the firmware's setup can change the correction of errors")

    def is_used_here(self) -> bool:
        """Whether this process uses the device; `processes` counts it in any case."""
        return True

    def reset(self) -> None:
        """Starts the device anew, at the cost of the state that this process has on it."""
        raise Unsupported("this device cannot be reset apart from its machine")
