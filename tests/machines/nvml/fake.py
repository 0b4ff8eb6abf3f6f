"""Plays a recording of NVML: what the package `pynvml` is to the driver on a machine with a GPU."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FOLDER = Path(__file__).parent


class NVMLError(Exception):
    """An error of the library, with its number."""

    def __init__(self, value: int) -> None:
        super().__init__(f"error {value}")
        self.value = value


class Fake:
    """The library on a recorded machine.

    `answers` may be changed; `changes` are the calls that would have changed the machine.
    """

    NVMLError = NVMLError

    def __init__(self, recording: str = "h200.json", moment: str = "idle") -> None:
        self._moments = json.loads((FOLDER / recording).read_text())
        self.changes: list[tuple[Any, ...]] = []
        self.asked: list[str] = []
        self.go_to(moment)

    def go_to(self, moment: str) -> None:
        self.answers = copy.deepcopy(self._moments[moment])

    def nvmlInit(self) -> None:
        """There is nothing to start."""

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:
        return f"handle {index}"

    def nvmlDeviceGetCount(self) -> int:
        return int(self._answer("nvmlDeviceGetCount", ""))

    def nvmlDeviceGetFieldValues(self, handle: str, numbers: list[int]) -> list[Any]:
        return [self._answer("nvmlDeviceGetFieldValues", str(each)) for each in numbers]

    def nvmlDeviceGetSamples(self, handle: str, kind: int, last: int) -> tuple[int, list[Any]]:
        value_type, samples = self._answer("nvmlDeviceGetSamples", str(kind))
        return value_type, _newer(samples, last)

    def nvmlDeviceGetProcessUtilization(self, handle: str, last: int) -> list[Any]:
        return _newer(self._answer("nvmlDeviceGetProcessUtilization", ""), last)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not name.startswith("nvml"):
            raise AttributeError(name)

        def ask(*arguments: Any) -> Any:
            numbers = [each for each in arguments if isinstance(each, int)]
            if name.startswith(("nvmlDeviceSet", "nvmlDeviceReset")) and name not in self.answers:
                self.changes.append((name, *numbers))
                return None
            return self._answer(name, ",".join(str(each) for each in numbers))

        return ask

    def _answer(self, name: str, arguments: str) -> Any:
        self.asked.append(name)
        answer = self.answers[name][arguments]
        if isinstance(answer, dict) and "error" in answer:
            raise NVMLError(answer["error"])
        return _object(answer)


def _newer(samples: list[Any], last: int) -> list[Any]:
    """The samples after a time, or the error that the library answers without any."""
    new = [sample for sample in samples if sample.timeStamp > last]
    if not new:
        raise NVMLError(6)
    return new


def _object(answer: Any) -> Any:
    """Structs have attributes."""
    if isinstance(answer, list):
        return [_object(each) for each in answer]
    if isinstance(answer, dict):
        return SimpleNamespace(**{name: _object(each) for name, each in answer.items()})
    return answer
