"""An NVIDIA GPU, as NVIDIA's management library (NVML) tells of it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from groundstate import ze, zes
from groundstate.driver.api import Failure, Unsupported
from groundstate.driver.sysman.kinds.nvidia.clocks import GRAPHICS_CLOCK, frequencies_of
from groundstate.driver.sysman.kinds.nvidia.engines import engines_of
from groundstate.driver.sysman.kinds.nvidia.library import Gpu
from groundstate.driver.sysman.kinds.nvidia.link import link_of
from groundstate.driver.sysman.kinds.nvidia.memory import errors_of, memories_of
from groundstate.driver.sysman.kinds.nvidia.power import (
    THE_GPU,
    fans_of,
    powers_of,
    temperatures_of,
)
from groundstate.driver.sysman.kinds.nvidia.processes import Processes
from groundstate.driver.sysman.parts import (
    Description,
    Engine,
    ErrorCounters,
    Fan,
    Firmware,
    FrequencyDomain,
    MemoryModule,
    Pci,
    PowerDomain,
    Process,
    TemperatureSensor,
    Watched,
)

VENDOR = 0x10DE
BRANDS = {1: "Quadro", 2: "Tesla", 3: "NVS", 5: "GeForce", 6: "TITAN", 12: "Quadro RTX"}
BRANDS |= {13: "NVIDIA RTX", 14: "NVIDIA", 15: "GeForce RTX", 16: "TITAN RTX"}

FIRMWARES = (
    ("VBIOS", "VbiosVersion"),
    ("InfoROM", "InforomImageVersion"),
    ("GSP", "GspFirmwareVersion"),
)


def open_gpu(library: Any, index: int, root: str) -> Nvidia:
    """One of the library's GPUs, on the machine whose files are below `root`."""
    return Nvidia(Gpu(library, library.nvmlDeviceGetHandleByIndex(index)), root)


class Nvidia(Watched):
    """What can be watched of an NVIDIA GPU."""

    def __init__(self, gpu: Gpu, root: str) -> None:
        self.gpu = gpu
        self._root = root
        self.description = _describe(gpu)
        self._processes = Processes(gpu)

    @cached_property
    def _engines(self) -> list[Engine]:
        return engines_of(self.gpu)

    @cached_property
    def _memories(self) -> list[MemoryModule]:
        return memories_of(self.gpu)

    @cached_property
    def _frequencies(self) -> list[FrequencyDomain]:
        return frequencies_of(self.gpu)

    @cached_property
    def _temperatures(self) -> list[TemperatureSensor]:
        return temperatures_of(self.gpu)

    @cached_property
    def _powers(self) -> list[PowerDomain]:
        return powers_of(self.gpu)

    @cached_property
    def _fans(self) -> list[Fan]:
        return fans_of(self.gpu)

    @cached_property
    def _errors(self) -> list[ErrorCounters]:
        return errors_of(self.gpu)

    @cached_property
    def _firmwares(self) -> list[Firmware]:
        return _firmwares(self.gpu)

    @cached_property
    def _pci(self) -> Pci | None:
        return link_of(self.gpu, self._root)

    def engines(self) -> Sequence[Engine]:
        return self._engines

    def memories(self) -> Sequence[MemoryModule]:
        return self._memories

    def frequencies(self) -> Sequence[FrequencyDomain]:
        return self._frequencies

    def temperatures(self) -> Sequence[TemperatureSensor]:
        return self._temperatures

    def powers(self) -> Sequence[PowerDomain]:
        return self._powers

    def fans(self) -> Sequence[Fan]:
        return self._fans

    def errors(self) -> Sequence[ErrorCounters]:
        return self._errors

    def firmwares(self) -> Sequence[Firmware]:
        return self._firmwares

    def pci(self) -> Pci | None:
        return self._pci

    def ecc_is_enabled(self) -> bool | None:
        return _flag(self.gpu.maybe("CurrentEccMode"))

    def ecc_after_reset(self) -> bool | None:
        return _flag(self.gpu.maybe("PendingEccMode"))

    def ecc_by_default(self) -> bool | None:
        default = self.gpu.maybe("DefaultEccMode")
        return _flag(default[0] if isinstance(default, list | tuple) else default)

    def ecc_can_be_set(self) -> bool:
        return self.ecc_is_enabled() is not None

    def set_ecc(self, enabled: bool) -> None:
        self.gpu.call("nvmlDeviceSetEccMode", int(enabled))

    def is_attached(self) -> bool:
        """False once the GPU does not answer on its bus any more."""
        try:
            self.gpu.maybe("PciInfo")
            self.gpu.maybe("Temperature", THE_GPU)
        except Failure:
            return False
        return True

    def reset_reasons(self) -> int:
        """It hangs, or spare rows wait to be put in the place of bad ones."""
        if not self.is_attached():
            return int(zes.ZES_RESET_REASON_FLAG_WEDGED)
        rows = self.gpu.maybe("RemappedRows")
        return int(zes.ZES_RESET_REASON_FLAG_REPAIR) if rows is not None and rows[2] else 0

    def reset(self) -> None:
        raise Unsupported("NVML resets no GPU; the command nvidia-smi --gpu-reset does")

    def processes(self) -> Sequence[Process]:
        return self._processes.read()


def _flag(answer: Any) -> bool | None:
    return None if answer is None else bool(answer)


def _describe(gpu: Gpu) -> Description:
    name, pci = text(gpu.ask("Name")), gpu.maybe("PciInfo")
    has_ecc = gpu.maybe("CurrentEccMode")
    return Description(
        name=name,
        uuid=uuid.UUID(text(gpu.ask("UUID")).removeprefix("GPU-")).bytes,
        type=ze.ZE_DEVICE_TYPE_GPU,
        flags=int(ze.ZE_DEVICE_PROPERTY_FLAG_ECC) if has_ecc else 0,
        vendor_id=VENDOR,
        device_id=0 if pci is None else pci.pciDeviceId >> 16,
        core_clock_mhz=gpu.maybe("MaxClockInfo", GRAPHICS_CLOCK) or 0,
        serial_number=text(gpu.maybe("Serial")),
        board_number=text(gpu.maybe("BoardPartNumber")),
        brand=BRANDS.get(gpu.maybe("Brand"), "NVIDIA"),
        model=name,
        vendor="NVIDIA Corporation",
        driver_version=text(gpu.library.nvmlSystemGetDriverVersion()),
    )


def _firmwares(gpu: Gpu) -> list[Firmware]:
    versions = {name: gpu.maybe(question) for name, question in FIRMWARES}
    return [Firmware(name, text(version)) for name, version in versions.items() if version]


def text(answer: Any) -> str:
    """Older packages answer bytes."""
    return answer.decode() if isinstance(answer, bytes) else str(answer or "")
