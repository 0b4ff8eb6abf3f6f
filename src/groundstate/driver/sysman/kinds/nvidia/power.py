"""The power that a GPU uses, how warm it gets, and its fans."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from groundstate import zes
from groundstate.driver.api import Unsupported
from groundstate.driver.sysman.kinds.nvidia.library import Gpu
from groundstate.driver.sysman.parts import Fan, PowerDomain, PowerLimit, TemperatureSensor

AVERAGE_POWER, INSTANT_POWER = 185, 186


@dataclass(slots=True)
class GpuPower(PowerDomain):
    """All that the card uses."""

    gpu: Gpu = field(kw_only=True)

    def energy_uj(self) -> tuple[int, int]:
        energy = self.gpu.ask("TotalEnergyConsumption")
        return int(energy) * 1000, time.monotonic_ns() // 1000

    def usage_mw(self) -> tuple[int, int] | None:
        instant, average = self.gpu.fields([INSTANT_POWER, AVERAGE_POWER])
        if instant is None or average is None:
            average = instant = int(self.gpu.ask("PowerUsage"))
        return instant, average

    def limits(self) -> Sequence[PowerLimit]:
        limit = self.gpu.maybe("PowerManagementLimit")
        if limit is None:
            return []
        return [PowerLimit(zes.ZES_POWER_LEVEL_SUSTAINED, limit, can_set=self.can_control)]

    def set_limits(self, limits: Sequence[PowerLimit]) -> None:
        present = self.limits()
        if not self.can_control or not present:
            raise Unsupported("the power of this GPU cannot be limited")
        for limit in limits:
            if limit.level != zes.ZES_POWER_LEVEL_SUSTAINED:
                raise Unsupported("an NVIDIA GPU has a sustained limit only")
            if not limit.enabled:
                raise Unsupported("the limit of an NVIDIA GPU cannot be switched off")
            lowest, highest = self.minimum_limit_mw or 0, self.maximum_limit_mw or 0
            if not lowest <= limit.milliwatts <= highest:
                allowed = f"{lowest} to {highest} mW"
                raise ValueError(f"{limit.milliwatts} mW is no limit of this GPU: give {allowed}")
        for limit in limits:
            if limit.milliwatts != present[0].milliwatts:
                self.gpu.call("nvmlDeviceSetPowerManagementLimit", limit.milliwatts)


def powers_of(gpu: Gpu) -> list[PowerDomain]:
    if not gpu.answers("PowerUsage") and not gpu.answers("TotalEnergyConsumption"):
        return []
    lowest, highest = gpu.maybe("PowerManagementLimitConstraints") or (None, None)
    default = gpu.maybe("PowerManagementDefaultLimit")
    is_limited = lowest is not None and gpu.maybe("PowerManagementLimit") is not None
    card = zes.ZES_POWER_DOMAIN_CARD
    return [GpuPower(card, default, lowest, highest, can_control=is_limited, gpu=gpu)]


# --- Temperature, fans ----------------------------------------------------------------------------

THE_GPU = 0
SLOWDOWN, MEMORY_MAXIMUM, GPU_MAXIMUM = 1, 2, 3
MEMORY_TEMPERATURE = 82


@dataclass(slots=True)
class GpuTemperature(TemperatureSensor):
    """The thermometer of the chip, or that of its memory."""

    gpu: Gpu = field(kw_only=True)

    def celsius(self) -> float:
        if self.type == zes.ZES_TEMP_SENSORS_MEMORY:
            return float(self.gpu.field(MEMORY_TEMPERATURE))
        return float(self.gpu.ask("Temperature", THE_GPU))


def temperatures_of(gpu: Gpu) -> list[TemperatureSensor]:
    found: list[TemperatureSensor] = []
    if gpu.answers("Temperature", THE_GPU):
        limits = [gpu.maybe("TemperatureThreshold", each) for each in (GPU_MAXIMUM, SLOWDOWN)]
        found.append(GpuTemperature(zes.ZES_TEMP_SENSORS_GPU, *limits, gpu=gpu))
    if gpu.has_field(MEMORY_TEMPERATURE):
        limit = gpu.maybe("TemperatureThreshold", MEMORY_MAXIMUM)
        found.append(GpuTemperature(zes.ZES_TEMP_SENSORS_MEMORY, limit, gpu=gpu))
    return found


@dataclass(slots=True)
class GpuFan(Fan):
    """A fan of the card, which NVML tells in percent of what the maker allows."""

    gpu: Gpu = field(kw_only=True)
    number: int = field(kw_only=True)

    def percent(self) -> int | None:
        speed = self.gpu.ask("FanSpeed_v2", self.number)
        return min(int(speed), 100)


def fans_of(gpu: Gpu) -> list[Fan]:
    count = gpu.maybe("NumFans") or 0
    return [GpuFan(gpu=gpu, number=number) for number in range(count)]
