"""How much slower kernels are in checked mode that also looks for uninitialised memory."""

from __future__ import annotations

from benchmarks.kernels.checked import benchmark

BENCHMARK = benchmark(
    "checked-uninit", "Checked mode, with uninitialised memory", "memory,uninit", 1 / 4
)
