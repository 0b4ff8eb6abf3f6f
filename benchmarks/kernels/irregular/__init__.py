"""Kernels whose memory accesses, trip counts or branches depend on their input.

Each has three inputs: a uniform one; a skewed one, in which a few elements have most of the work;
and an adversarial one, in which neighbouring work-items have as little in common as possible.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.kernels.cases import Case
from benchmarks.kernels.irregular import (
    graphs,
    images,
    loops,
    particles,
    sorting,
    sparse,
    tables,
    text,
)
from benchmarks.kernels.irregular.inputs import INPUTS

KERNELS: dict[Callable[[str, int], Case], tuple[int, int]] = {
    sparse.spmv_csr: (1 << 17, 1 << 10),
    sparse.spmv_ell: (1 << 22, 1 << 14),
    sparse.triangular_solve: (1 << 16, 1 << 10),
    graphs.bfs_level: (1 << 18, 1 << 10),
    graphs.pagerank_step: (1 << 18, 1 << 10),
    graphs.tree_traversal: (1 << 18, 1 << 12),
    tables.gather: (1 << 22, 1 << 12),
    tables.binary_search: (1 << 19, 1 << 12),
    tables.hash_build: (1 << 18, 1 << 12),
    tables.hash_probe: (1 << 20, 1 << 12),
    text.string_match: (1 << 22, 1 << 12),
    text.run_length_decode: (1 << 17, 1 << 10),
    text.fnv_hash: (1 << 17, 1 << 10),
    sorting.bitonic_sort: (1 << 19, 1 << 12),
    sorting.radix_pass: (1 << 21, 1 << 13),
    particles.ray_sphere: (1 << 17, 1 << 10),
    particles.monte_carlo: (1 << 16, 1 << 10),
    particles.particles_in_cells: (1 << 19, 1 << 12),
    particles.nearest_neighbours: (1 << 14, 1 << 8),
    loops.divergent_loop: (1 << 18, 1 << 10),
    images.convolution_3x3: (2048, 64),
    images.convolution: (1024, 64),
}
"""What makes a case of each kernel, and its sizes: for measuring its speed, and for checking it."""


def _cases(which: int) -> dict[str, Case]:
    cases = (make(inputs, sizes[which]) for make, sizes in KERNELS.items() for inputs in INPUTS)
    return {case.id: case for case in cases}


IRREGULAR_CASES = _cases(0)
"""By name, as large as the speed of a kernel is measured with."""

SMALL_IRREGULAR_CASES = _cases(1)
"""The same, over in no time."""
