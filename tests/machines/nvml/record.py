"""Writes down what NVML answers to everything that the driver asks it, idle and at work.

    python tests/machines/nvml/record.py h200.json --load "python multiply.py"

needs `nvidia-ml-py` and an NVIDIA GPU, the first of which is recorded. `fake.py` beside this file
plays the recording. What tells one card of a model from another, the serial number and the UUID,
is replaced, and the processes are numbered anew.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import shlex
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pynvml

from groundstate.driver.api import Unsupported
from groundstate.driver.sysman.kinds.nvidia.device import open_gpu
from groundstate.driver.sysman.parts import Watched

STARTING_SECONDS, SAMPLED_SECONDS = 30, 5
MOST_SAMPLES = 24
REPLACED = {
    "nvmlDeviceGetSerial": "1650000000000",
    "nvmlDeviceGetUUID": "GPU-00112233-4455-6677-8899-aabbccddeeff",
}
FIRST_PID = 4001
PROCESSES = ("ComputeRunningProcesses", "GraphicsRunningProcesses", "ProcessUtilization")


class Recorder:
    """The library, with a memory of what it answered: by function, then by arguments."""

    NVMLError = pynvml.NVMLError

    def __init__(self) -> None:
        self.answers: dict[str, dict[str, Any]] = {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(pynvml, name)

        def ask(*arguments: Any) -> Any:
            known = self.answers.setdefault(name, {})
            plain_arguments = [each for each in arguments if isinstance(each, int | list)]
            try:
                answer = function(*arguments)
            except pynvml.NVMLError as error:
                known[key_of(name, plain_arguments)] = {"error": error.value}
                raise
            if name == "nvmlDeviceGetSamples":
                answer = (answer[0], answer[1][-MOST_SAMPLES:])
            if name == "nvmlDeviceGetFieldValues":
                known.update({str(field.fieldId): plain(field) for field in answer})
            elif name != "nvmlDeviceGetHandleByIndex":
                known[key_of(name, plain_arguments)] = REPLACED.get(name, plain(answer))
            return answer

        return ask


def key_of(name: str, arguments: Sequence[Any]) -> str:
    """What arguments are called in the recording. Samples are kept whatever was seen before."""
    if name in ("nvmlDeviceGetSamples", "nvmlDeviceGetProcessUtilization"):
        arguments = arguments[:-1]
    return ",".join(str(each) for each in arguments)


def plain(value: Any) -> Any:
    """An answer as JSON can say it."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, ctypes.Structure):
        return {name: plain(getattr(value, name)) for name, *_ in value._fields_}
    if isinstance(value, ctypes.Union):
        names = ("uiVal", "siVal", "ullVal")
        return {name: getattr(value, name) for name in names}
    if isinstance(value, list | tuple | ctypes.Array):
        return [plain(each) for each in value]
    if hasattr(value, "__dict__"):
        return {name: plain(each) for name, each in vars(value).items()}
    return value


def read_everything(device: Watched) -> None:
    """Asks all that can be asked of a device."""
    readings: list[Callable[[], Any]] = [device.processes, device.reset_reasons]
    readings += [device.ecc_is_enabled, device.ecc_after_reset, device.ecc_by_default]
    readings += [engine.activity for engine in device.engines()]
    readings += [memory.state for memory in device.memories()]
    for clock in device.frequencies():
        readings += [clock.state, clock.available_mhz, clock.throttle_time_us]
    readings += [sensor.celsius for sensor in device.temperatures()]
    for power in device.powers():
        readings += [power.energy_uj, power.usage_mw, power.limits]
    readings += [fan.percent for fan in device.fans()]
    readings += [errors.counts for errors in device.errors()]
    link = device.pci()
    if link is not None:
        readings += [link.speed, link.stats]
    device.firmwares()
    for reading in readings:
        with suppress(Unsupported, PermissionError):
            reading()


def moment() -> dict[str, dict[str, Any]]:
    """All answers of now."""
    recorder = Recorder()
    recorder.nvmlDeviceGetCount()
    read_everything(open_gpu(recorder, 0, "/"))
    _number_anew(recorder.answers)
    return recorder.answers


def _number_anew(answers: dict[str, dict[str, Any]]) -> None:
    """Gives processes the same numbers in all recordings."""
    numbers: dict[int, int] = {}
    for name in PROCESSES:
        known = answers[f"nvmlDeviceGet{name}"][""]
        for process in known if isinstance(known, list) else []:
            number = FIRST_PID + len(numbers)
            process["pid"] = numbers.setdefault(process["pid"], number)


def wait_for_work() -> None:
    """Waits until the GPU is busy, and then until its samples say so."""
    device = pynvml.nvmlDeviceGetHandleByIndex(0)
    for _ in range(STARTING_SECONDS):
        if pynvml.nvmlDeviceGetUtilizationRates(device).gpu > 0:
            break
        time.sleep(1)
    time.sleep(SAMPLED_SECONDS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--load", required=True, help="a command that keeps the GPU busy")
    options = parser.parse_args()
    pynvml.nvmlInit()
    moments = {"idle": moment()}
    with subprocess.Popen(shlex.split(options.load)) as load:
        wait_for_work()
        moments["busy"] = moment()
        load.terminate()
    options.file.write_text(json.dumps(moments, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
