"""x86: SSE, AVX, AVX2 and AVX-512.

AVX-512 has 32 registers, all of which are used before a wider vector may cost spills. Loops with 17
to 28 registers of sums ran within 4 % of the same time in one piece and distributed, some faster
and some slower, so they are distributed as on the others.
"""

from __future__ import annotations

from groundstate.compiler.light_dataclass import replace
from groundstate.compiler.target.description import Lookup, Target

PAIRS = {4: "llvm.x86.sse2.pmadd.wd", 8: "llvm.x86.avx2.pmadd.wd"}
PAIRS |= {16: "llvm.x86.avx512.pmaddw.d.512"}
"""By lanes: what multiplies pairs of 16 bits and adds two products."""

AVX2_LOOKUPS = {
    1: (Lookup(16, 16, "llvm.x86.ssse3.pshuf.b.128"),),
    4: (Lookup(8, 8, "llvm.x86.avx2.permd"),),
}
AVX512_LOOKUPS = {
    1: AVX2_LOOKUPS[1],
    4: (
        Lookup(16, 16, "llvm.x86.avx512.permvar.si.512"),
        Lookup(32, 16, "llvm.x86.avx512.vpermi2var.d.512"),
    ),
    8: (
        Lookup(8, 8, "llvm.x86.avx512.permvar.di.512"),
        Lookup(16, 8, "llvm.x86.avx512.vpermi2var.q.512"),
    ),
}
AVX512BW_LOOKUPS = AVX512_LOOKUPS | {
    2: (
        Lookup(32, 32, "llvm.x86.avx512.permvar.hi.512"),
        Lookup(64, 32, "llvm.x86.avx512.vpermi2var.hi.512"),
    ),
}
VBMI_LOOKUPS = AVX512BW_LOOKUPS | {
    1: (
        *AVX2_LOOKUPS[1],
        Lookup(64, 64, "llvm.x86.avx512.permvar.qi.512"),
        Lookup(128, 64, "llvm.x86.avx512.vpermi2var.qi.512"),
    ),
}

SSE = Target(4, "sse", multiplies_words=True, short_dots={4: PAIRS[4]})
AVX = replace(SSE, name="avx", estimate_lanes=8)
AVX2 = Target(
    8,
    "avx2",
    estimate_lanes=8,
    multiplies_words=True,
    gather_cycles=2.0,  # where lanes may be inactive, each has an extraction, a load, an insertion
    short_dots={4: PAIRS[4], 8: PAIRS[8]},
    lane_permutations={"float": "llvm.x86.avx2.permps", "i32": "llvm.x86.avx2.permd"},
    table_lookups=AVX2_LOOKUPS,
)
AVX512F = Target(
    16,
    "avx512f",
    estimate_lanes=8,
    multiplies_words=True,
    short_dots={4: PAIRS[4], 8: PAIRS[8]},
    vector_registers=32,
    table_lookups=AVX512_LOOKUPS,
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


def _of_widths(name: str, *lanes: int) -> dict[int, str]:
    """An intrinsic whose name ends with the bits of its vectors."""
    return {each: f"{name}.{32 * each}" for each in lanes}


MORE: tuple[tuple[tuple[str, ...], dict[str, object]], ...] = (
    (("amx-tile", "amx-int8", "amx-bf16"), {"has_tiles": True}),
    (("cx16",), {"widest_exchange": 16}),
    (("avx512fp16", "avx512vl"), {"has_half_arithmetic": True}),
    (("avx512bw", "avx512dq", "avx512vl"), {"passes_masks": True}),
    (("avx512bw", "avx512vl"), {"short_dots": PAIRS, "table_lookups": AVX512BW_LOOKUPS}),
    (("avx512bw", "avx512vbmi"), {"table_lookups": VBMI_LOOKUPS}),
    (("avxvnni",), {"byte_dots": _of_widths("llvm.x86.avx512.vpdpbusd", 4, 8)}),
    (
        ("avx512vnni", "avx512vl"),
        {"byte_dots": _of_widths("llvm.x86.avx512.vpdpbusd", 4, 8, 16)},
    ),
    (
        ("avx512bf16", "avx512vl"),
        {"bfloat_dots": _of_widths("llvm.x86.avx512bf16.dpbf16ps", 4, 8, 16)},
    ),
)
"""What machines of one kind have or lack: the features that it takes, and what they are good
for."""
