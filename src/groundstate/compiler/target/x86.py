"""x86: SSE, AVX, AVX2 and AVX-512.

AVX-512 has 32 registers, all of which are used before a wider vector may cost spills. Loops with 17
to 28 registers of sums ran within 4 % of the same time in one piece and distributed, some faster
and some slower, so they are distributed as on the others.
"""

from __future__ import annotations

from groundstate.compiler.light_dataclass import replace
from groundstate.compiler.target.description import Target

SSE = Target(4, "sse")
AVX = Target(4, "avx", estimate_lanes=8)
AVX2 = Target(
    8,
    "avx2",
    estimate_lanes=8,
    lane_permutations={"float": "llvm.x86.avx2.permps", "i32": "llvm.x86.avx2.permd"},
)
AVX512F = Target(
    16,
    "avx512f",
    estimate_lanes=8,
    vector_registers=32,
    most_spilled=0,
    most_spilled_waiting=48,
)
"""Without the instructions for shorter vectors, which masks of all widths need."""
AVX512 = replace(AVX512F, name="avx512", has_mask_registers=True, estimate_lanes=16, most_blends=5)

NEWEST_FIRST = (
    (("avx512f", "avx512vl"), AVX512),
    (("avx512f",), AVX512F),
    (("avx2",), AVX2),
    (("avx",), AVX),
    ((), SSE),
)
"""The features that each needs."""
