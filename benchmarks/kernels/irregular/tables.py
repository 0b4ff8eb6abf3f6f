"""Looking things up: by an index, by halving, by a hash."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.cases import Argument, Array, Case
from benchmarks.kernels.irregular.inputs import GROUP, PERIOD, empty, floats, generator, popular

FACTOR = 2654435761
"""A key times this has its hash in the highest bits."""
EMPTY_SLOT = 0


def gather(inputs: str, n: int) -> Case:
    """A table read through an index: any entry of a small one, popular ones, any of a large one."""
    entries = n * 4 if inputs == "adversarial" else n // 16

    def arguments() -> list[Argument]:
        index = (
            popular(n, entries)
            if inputs == "skewed"
            else generator(6).integers(0, entries, n, dtype=np.int32)
        )
        return [floats(entries), index, empty(n)]

    return Case(
        "gather",
        f"gather, {inputs} indices",
        (n,),
        (GROUP,),
        arguments,
        2,
        lambda given: given[0][given[1]],
        work=n,
        unit="G items/s",
        limit="gather",
        inputs=inputs,
    )


def binary_search(inputs: str, queries: int) -> Case:
    """Each work-item looks for a key in a sorted table, until it is found or cannot be there."""
    entries = queries // 2

    def wanted(table: Array) -> Array:
        chance = generator(8)
        if inputs == "skewed":
            return np.asarray(table[popular(queries, entries)])
        keys = chance.integers(0, 4 * entries, queries, dtype=np.uint32)
        if inputs == "adversarial":
            middle = table[(entries - 1) // 2]  # found at once
            return np.where(np.arange(queries) % PERIOD == 0, keys, middle)
        return keys

    def arguments() -> list[Argument]:
        table = np.arange(entries, dtype=np.uint32) * 4
        table += generator(7).integers(0, 4, entries, dtype=np.uint32)
        return [table, np.int32(entries), wanted(table), empty(queries, dtype=np.int32)]

    def positions(given: list[Any]) -> Array:
        table, _, keys, _ = given
        at = np.minimum(np.searchsorted(table, keys), entries - 1)
        return np.where(table[at] == keys, at, -1)

    return Case(
        "binary_search",
        f"binary search, {inputs} queries",
        (queries,),
        (GROUP,),
        arguments,
        3,
        positions,
        work=queries * 1e3,
        unit="M queries/s",
        limit="" if inputs == "adversarial" else "binary_search",  # it looks at every level
        inputs=inputs,
    )


# --- Hash tables ----------------------------------------------------------------------------------


def slots_of(keys: Array, bits: int) -> Array:
    """Where the search for each key begins in a table of 2**bits slots."""
    return ((keys * np.uint32(FACTOR)) >> np.uint32(32 - bits)).astype(np.int64)


def insert(keys: Array, bits: int) -> Array:
    """The table of these keys, no two alike: each is in the first free slot from its own on."""
    table = np.full(1 << bits, EMPTY_SLOT, np.uint32)
    at = slots_of(keys, bits)
    while len(keys):
        free = table[at] == EMPTY_SLOT
        table[at[free]] = keys[free]  # of several for one slot, one stays
        left = table[at] != keys
        keys, at = keys[left], (at[left] + 1) & ((1 << bits) - 1)
    return table


def keys_of_table(inputs: str, bits: int) -> Array:
    """Keys for half the slots, no two alike; adversarial ones have few slots to begin from."""
    count = 1 << (bits - 1)
    if inputs != "adversarial":
        return generator(9).permutation(1 << (bits + 3))[:count].astype(np.uint32) + np.uint32(1)
    # The inverse of the factor turns a hash into its key: 64 keys begin at each slot of some.
    inverse = np.uint32(pow(FACTOR, -1, 1 << 32))
    chain = np.uint32(64)
    each = np.arange(count, dtype=np.uint32)
    hashes = (each // chain * (2 * chain) << np.uint32(32 - bits)) + each % chain + np.uint32(1)
    return np.asarray(hashes * inverse)


def hash_probe(inputs: str, queries: int) -> Case:
    """Each work-item looks for a key in a table with open addressing, half of whose slots are full.

    A key that is there is found after two slots on average; in the adversarial table, where 64
    keys begin at the same slot, after 32.
    """
    bits = queries.bit_length() - 2

    def arguments() -> list[Argument]:
        keys = keys_of_table(inputs, bits)
        table = insert(keys, bits)
        values = generator(10).integers(1, 1 << 30, len(table), dtype=np.int32)
        chance = generator(11)
        choice = (
            popular(queries, len(keys))
            if inputs == "skewed"
            else chance.integers(0, len(keys), queries)
        )
        wanted = keys[choice]
        wanted[chance.random(queries) < 0.25] += np.uint32(1)  # most of these are not there
        return [table, values, np.int32(bits), wanted, empty(queries, dtype=np.int32)]

    def found(given: list[Any]) -> Array:
        table, values, _, wanted, _ = given
        order = np.argsort(table)
        at = order[np.minimum(np.searchsorted(table, wanted, sorter=order), len(table) - 1)]
        return np.where(table[at] == wanted, values[at], -1)

    return Case(
        "hash_probe",
        f"hash table, probe, {inputs} keys",
        (queries,),
        (GROUP,),
        arguments,
        4,
        found,
        work=queries * 1e3,
        unit="M queries/s",
        limit="hash_probe",
        inputs=inputs,
    )


def hash_build(inputs: str, n: int) -> Case:
    """Each work-item puts a key into a table with open addressing, unless it is there.

    Keys are all different if uniform and adversarial; many are the same if skewed.
    """
    bits = n.bit_length()

    def arguments() -> list[Argument]:
        keys = generator(36).permutation(keys_of_table(inputs, bits))
        if inputs == "skewed":
            keys = keys[popular(n, len(keys))]
        return [keys, empty(1 << bits, dtype=np.uint32), np.int32(bits)]

    def table(given: list[Any]) -> Array:
        keys = np.unique(given[0])
        return np.pad(keys, (0, len(given[1]) - len(keys)))

    return Case(
        "hash_build",
        f"hash table, build, {inputs} keys",
        (n,),
        (GROUP,),
        arguments,
        1,
        table,
        work=n * 1e3,
        unit="M keys/s",
        inputs=inputs,
        unordered=True,
        restored=(1,),
    )
