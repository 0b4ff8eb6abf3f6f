"""How much slower kernels are in checked mode that also looks for races."""

from __future__ import annotations

from benchmarks.kernels.checked import benchmark

BENCHMARK = benchmark("checked-races", "Checked mode, with races", "memory,races,sync", 1 / 15)
