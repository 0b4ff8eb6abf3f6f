"""A target as passes and code generation see it: registers, instructions, and what things cost.

No pass has a tuning constant of its own: what it needs to know of the machine it asks here. What a
target does not say is as most CPUs have it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from groundstate.compiler.light_dataclass import light_dataclass


class Lookup(NamedTuple):
    """An instruction that picks an entry of a table for each lane of a register. It looks at no
    more bits of an entry's number than it needs."""

    entries: int
    """How many entries it picks from."""
    lanes: int
    """How many a register holds: it takes one register of them, or two."""
    intrinsic: str
    """Takes a register, the numbers of entries, which are as large as those, and the other one."""


SUBGROUP_SIZES = (1, 4, 8, 16, 32)
"""How many work-items can run side by side on a CPU, and make up a sub-group."""


@light_dataclass()
class Target:
    """What is known of one kind of machine."""

    lanes: int
    """How many 32-bit numbers a vector register holds."""
    name: str = "generic"
    pipeline: str = "vector"
    """Which passes run: a key of `pipeline.PIPELINES`."""

    # --- The machine that LLVM generates code for ---
    cpu: str = ""
    features: str = ""
    triple: str = ""

    # --- Registers and instructions ---
    vector_registers: int = 16
    has_mask_registers: bool = False
    """Whether masks have registers of their own, and gathers, scatters and stores take them.
    Without them, a mask is a vector, and LLVM writes a branch for each lane of a masked access."""
    passes_masks: bool = False
    """Whether a piece of assembly takes mask registers of all widths."""
    estimate_lanes: int = 0
    """Of the widest instruction that estimates reciprocals and their square roots; 0: none."""
    lane_permutations: Mapping[str, str] = {}
    """By LLVM type: the intrinsic that moves lanes of one register at will. Only where LLVM does
    not find it by itself for vectors of several registers."""
    table_lookups: Mapping[int, tuple[Lookup, ...]] = {}
    """By the bytes of an entry: what picks entries of small tables, the shorter tables first."""
    most_lookups: int = 4
    """Of one lane's entry, before it is gathered."""
    byte_dots: Mapping[int, str] = {}
    """By lanes: the intrinsic that adds the products of four unsigned and four signed bytes."""
    short_dots: Mapping[int, str] = {}
    """The same for that which adds the products of two pairs of 16 bits to each other."""
    bfloat_dots: Mapping[int, str] = {}
    """The same for that which adds the products of two pairs of bfloats to a float."""
    multiplies_words: bool = False
    """Whether vectors of 64-bit numbers can be multiplied by their lower words alone."""
    has_half_arithmetic: bool = False
    """Whether halves are added and multiplied as such, and not as floats that are rounded."""
    has_tiles: bool = False
    """Whether there are tile registers for products of matrices (AMX)."""
    cache_line_bytes: int = 64
    widest_exchange: int = 8
    """The bytes that a compare-and-exchange takes at most."""
    compute_capability: int = 0
    """Of one of NVIDIA's GPUs, times ten; 0: it is none."""
    trusts_alignment: bool = False
    """Whether an address is as aligned as the module says: else no more than a component is."""

    # --- Sub-groups and groups ---
    subgroup_sizes: tuple[int, ...] = SUBGROUP_SIZES
    subgroup_size: int = 16
    """Of kernels that ask for their sub-groups and do not say how large they should be."""
    subgroup_order: int = 0
    """In which order the sub-groups of a group run (codegen/group_loop.py), if it is not theirs."""
    likely_group_size: tuple[int, int, int] = (256, 1, 1)
    """What is suggested for most ranges, and what many programs choose."""

    # --- Choosing a width ---
    vectors_per_value: int = 2
    """How many registers a value of all lanes takes up at best: the second hides the latency of
    the first."""
    rows_together: tuple[int, ...] = (4, 2)
    """How many rows of a group run in lockstep where they share what they load, the best first."""
    rows_turned: tuple[int, ...] = (16, 8, 4)
    """The same where what rows load is turned in registers."""
    rows_of_tile: tuple[int, ...] = (8, 4, 2)
    """The same for a tile of a range that is known to be a matrix (`range_tiles.py`)."""
    large_kernel: int = 500
    """Operations from which on a kernel is compiled for one register, which takes half the time."""
    most_spilled: int = 16
    """How many values more than there are registers a wider vector may cost."""
    most_spilled_waiting: int = 64
    """The same in loops that wait for memory anyway."""

    # --- Vectors, or one work-item after the other: cycles, and instructions in a cycle ---
    gather_cycles: float = 1.5
    """For each lane of a gather or a scatter."""
    scattered_line_cycles: float = 4.0
    """More for each lane of a scatter whose line is far from its neighbours'."""
    atomic_cycles: float = 20.0
    """For an atomic operation, which waits for all that come before it."""
    vector_issue: float = 2.0
    scalar_issue: float = 4.0
    load_latency: float = 5.0
    float_latency: float = 4.0
    division_cycles: float = 5.0
    divergent_branch_cycles: float = 3.0
    """For the masks of lanes that go one way, and the other."""
    mispredicted_cycles: float = 16.0
    likely_utilisation: float = 0.5
    """Of the lanes, in a loop that each leaves when it is done."""
    likely_iterations: int = 8
    """Of a loop whose trip count is not known."""
    clearly_faster: float = 1.1
    """By which factor one work-item after the other must seem faster to begin with."""
    perhaps_faster: float = 3.0
    """By which it may seem slower if lanes leave a loop one by one, and still is tried first."""
    most_slower: float = 12.0
    """By which it may seem slower, and still is tried."""
    most_slower_in_loops: float = 16.0
    """The same if lanes leave a loop one by one: then most of them may be idle."""
    narrow_lanes: int = 8
    """Of a vector that is tried for such a kernel, too: fewer lanes wait for the last one. 4 and 16
    gained less, on AVX2 and on AVX-512, measured on sampling with rejection and on rays."""

    least_busy_lanes: float = 0.75
    """If lanes that are done take the next work-items: they do so when no more than this part of
    all lanes is in the loop."""

    # --- Loops ---
    most_sums: int = 16
    """How many vector registers the sums of a loop may take up before the loop is distributed."""
    registers_for_sums: int = 12
    """Of the vector registers, those that a distributed loop keeps sums in."""
    most_unrolled_iterations: int = 8
    most_unrolled_operations: int = 100
    """Of all iterations together."""
    most_unrolled_barriers: int = 12
    """Iterations of a loop in which the work-items of a group meet."""
    most_unrolled_barrier_operations: int = 400
    """Of all iterations of such a loop together."""
    most_unrolled_subgroup_lines: int = 2000
    """Of LLVM IR, of all sub-groups of a group together on their way from a barrier to the next."""
    most_unrolled_far_accesses: int = 8000
    """Numbers that the work-items of a group gather and scatter in such a kernel: LLVM writes an
    instruction or more for each."""
    most_versioned_operations: int = 250
    """Of a loop that is there twice."""

    # --- Divergent control flow ---
    most_converted: int = 16
    """Registers that the sides of a branch compute, for both to be computed without one."""
    most_duplicated_operations: int = 120
    """Of divergent blocks that also have an all-lanes-active path: more take long to compile."""
    most_duplicated_in_loops: int = 240
    """The same where only blocks in loops have one."""

    most_blends: int = 8
    """What lanes that leave a loop take with them may cost for that to need no branch."""
    broadcast_blends: int = 3
    """What a broadcast and a blend cost, in blends: of a scalar that each iteration changes."""

    # --- Memory ---
    merged_accesses: tuple[int, ...] = (2, 3, 4)
    """How many neighbouring loads or stores become one."""
    most_prefetched_bytes: int = 1024
    """Of one piece of memory that all lanes load."""
    most_copied_bytes: int = 256
    """Of a variable that is copied part by part; larger ones are copied as bytes."""
    most_interleaved_elements: int = 64
    """In one access to an interleaved variable: each is an instruction or two."""
    most_stack_bytes: int = 512
    """Of a private variable that lies on the stack."""
    most_rematerialised: int = 8
    """How many cheap operations are done again behind a barrier, rather than saved before it."""
    most_saved_on_stack: int = 8192
    """Bytes that the sub-groups of a group keep at barriers, all together, on the stack."""
    most_barrier_loops: int = 32
    """Barriers in a kernel that has a loop over sub-groups behind each of them."""
    privatised_lines: int = 1 << 14
    """Of a worker's table of atomic operations, at most: a megabyte, which the second-level cache
    mostly holds."""
    privatised_items_per_line: int = 4
    """The work-items of a worker's share for each line that its table has."""
    most_wasted_lines: int = 1024
    """How many more lines may be replaced in which there is little to do than others, before a
    worker does without the table."""
    privatised_items: int = 4096
    """A worker's share of a launch has to have this many work-items for a table to pay."""

    @property
    def widths(self) -> tuple[int, ...]:
        """How many work-items can run side by side if nobody can tell: as many as a register has
        bytes, too."""
        more = {self.vector_bytes} if self.lanes > 1 else set()
        return tuple(sorted({*self.subgroup_sizes, *more}))

    @property
    def vector_bytes(self) -> int:
        """Of a vector register."""
        return 4 * self.lanes

    @property
    def identity(self) -> str:
        """What code is good for: the CPU and the instructions that it has."""
        digest = hashlib.sha256(self.features.encode()).hexdigest()[:12]
        return f"{self.triple} {self.cpu} {digest}"


ANY_CPU = Target(4, "any CPU")
"""What holds for every CPU, and is known without asking LLVM which one this is."""
