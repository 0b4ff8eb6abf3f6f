"""How busy the engines of a GPU are, from the samples that its driver takes.

NVML has no counter of busy time. Its driver looks at the engines all the time and keeps, for some
seconds, for which share of each fifth of a second (on most GPUs) an engine was busy. Here these
shares are added up. Time of which nobody has read the sample before the driver forgot it is left
out of both counters: the ratio of their differences is right for what was seen.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from groundstate import zes
from groundstate.driver.sysman.kinds.nvidia.library import Gpu, NothingToldError
from groundstate.driver.sysman.parts import Engine

GPU_SAMPLES, ENCODER_SAMPLES, DECODER_SAMPLES = 1, 3, 4

LONGEST_SAMPLE_US = 1_500_000
"""The driver samples each second at least: more between two samples is a hole."""

SHORTEST_SAMPLE_US = 100_000
"""It samples ten times a second at most: no need to ask again so soon."""

ENGINES = (
    (zes.ZES_ENGINE_GROUP_3D_RENDER_COMPUTE_ALL, GPU_SAMPLES, "UtilizationRates"),
    (zes.ZES_ENGINE_GROUP_MEDIA_DECODE_SINGLE, DECODER_SAMPLES, "DecoderUtilization"),
    (zes.ZES_ENGINE_GROUP_MEDIA_ENCODE_SINGLE, ENCODER_SAMPLES, "EncoderUtilization"),
)
"""A group, its samples, and a question that a GPU answers that has such engines."""

WHOLE_GPU = 4
"""The profile of an instance that is all of a GPU, on those that can be divided."""


class Utilisation:
    """Busy time, added up from samples of one kind."""

    def __init__(self, gpu: Gpu, kind: int) -> None:
        self._gpu = gpu
        self._kind = kind
        self._lock = threading.Lock()
        self._last = 0  # when the last sample was taken, in microseconds since 1970
        self._busy_percent_us = 0
        self._covered_us = 0

    def read(self) -> tuple[int, int]:
        """How long the engine was busy, and the time of which that is known, in microseconds."""
        with self._lock:
            age = time.time_ns() // 1000 - self._last
            if not 0 <= age < SHORTEST_SAMPLE_US:
                for sample in self._samples():
                    self._add(sample.timeStamp, sample.sampleValue.uiVal)
            return self._busy_percent_us // 100, self._covered_us

    def _samples(self) -> list[Any]:
        try:
            return list(self._gpu.ask("Samples", self._kind, self._last)[1])
        except NothingToldError:
            return []

    def _add(self, timestamp: int, percent: int) -> None:
        duration = timestamp - self._last
        if duration <= 0:
            return
        self._last = timestamp
        if duration <= LONGEST_SAMPLE_US:
            self._busy_percent_us += min(percent, 100) * duration
            self._covered_us += duration


@dataclass(slots=True)
class GpuEngine(Engine):
    """All engines of one kind."""

    utilisation: Utilisation = field(kw_only=True)

    def activity(self) -> tuple[int, int]:
        return self.utilisation.read()


def engines_of(gpu: Gpu) -> list[Engine]:
    return [
        GpuEngine(group, utilisation=Utilisation(gpu, samples))
        for group, samples, question in ENGINES
        if gpu.answers(question)
        and gpu.answers("Samples", samples, 0)
        and (samples != ENCODER_SAMPLES or _has_encoder(gpu))
    ]


def _has_encoder(gpu: Gpu) -> bool:
    """NVML tells the utilisation of encoders even of the large GPUs that have none.

    Those can be divided, and an instance of all of one says what there is.
    """
    whole = gpu.maybe("GpuInstanceProfileInfo", WHOLE_GPU)
    return whole is None or whole.encoderCount > 0
