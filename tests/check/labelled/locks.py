"""Locks, claimed slots and flags: fences behind what takes them, before what gives them back, and
fences whose scope is the group.

A lock at 0 is free, and so is a slot that holds its own number.
"""

from __future__ import annotations

from tests.check.labelled.cases import Case
from tests.check.labelled.races import GLOBAL_RACE, labelled

GROUP_FENCE = """
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_work_group);"""
DEVICE_FENCE = """
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device);"""
OLD_FENCE = """
    mem_fence(CLK_GLOBAL_MEM_FENCE);"""

OWNER = """kernel void $(global int *lock, global int *sum) {
    if (get_local_id(0) != WHO) return;
    while (atomic_cmpxchg(&lock[0], 0, 1) != 0) {}TAKEN
    sum[300] += get_group_id(0) + 1;GIVEN
    atomic_xchg(&lock[0], 0);
}"""

PUBLISHER = """kernel void $(global int *data, global int *flag, global int *out) {
    if (get_local_id(0) == 0 && get_group_id(0) == 0) {
        data[301] = 42;GIVEN
        atomic_xchg(&flag[300], 7);
    } else if (get_local_id(0) == 63 && get_group_id(0) == OTHER) {
        while (atomic_add(&flag[300], 0) != 7) {}
        out[5] = data[301];
    }
}"""


def owner(name: str, kind: str, taken: str, fence: str, who: str = "0") -> Case:
    """Groups that add to a sum, one after the other, each by one work-item."""
    source = OWNER.replace("$", name).replace("TAKEN", taken).replace("GIVEN", fence)
    return labelled(source.replace("WHO", who), kind)


def publisher(name: str, kind: str, fence: str, other: int) -> Case:
    """A number that a work-item reads when it finds that there is one."""
    source = PUBLISHER.replace("$", name).replace("GIVEN", fence)
    return labelled(source.replace("OTHER", str(other)), kind)


CASES: tuple[Case, ...] = (
    owner("lock_taken_without_fence", GLOBAL_RACE, "", OLD_FENCE),
    owner("lock_taken_by_exchange_and_fences", "", OLD_FENCE, OLD_FENCE),
    owner("lock_with_fences_of_the_device", "", DEVICE_FENCE, DEVICE_FENCE),
    owner("lock_taken_with_fence_of_the_group", GLOBAL_RACE, GROUP_FENCE, DEVICE_FENCE),
    owner("lock_given_back_with_fence_of_the_group", GLOBAL_RACE, DEVICE_FENCE, GROUP_FENCE),
    publisher("number_published_to_another_group", "", DEVICE_FENCE, 1),
    publisher("number_published_by_a_fence_of_opencl_1", "", OLD_FENCE, 1),
    publisher("number_published_to_another_group_by_group_fence", GLOBAL_RACE, GROUP_FENCE, 1),
    publisher("number_published_in_the_group_by_group_fence", "", GROUP_FENCE, 0),
    publisher("number_published_without_fence", GLOBAL_RACE, "", 0),
    labelled(
        """kernel void first_owner_of_lock_without_fence(global int *lock, global int *sum) {
    if (get_local_id(0) != 0) return;
    while (atomic_cmpxchg(&lock[0], 0, 1) != 0) {}
    if (get_group_id(0) != 0) mem_fence(CLK_GLOBAL_MEM_FENCE);
    sum[300] = get_group_id(0) + 1;
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    atomic_xchg(&lock[0], 0);
}""",
        GLOBAL_RACE,
    ),
    labelled(
        """kernel void lock_taken_by_one_for_the_group(global int *lock, global int *sum) {
    if (get_local_id(0) == 0)
        while (atomic_cmpxchg(&lock[0], 0, 1) != 0) {}
    barrier(CLK_GLOBAL_MEM_FENCE);
    sum[300 + get_local_id(0)] += get_group_id(0);
    barrier(CLK_GLOBAL_MEM_FENCE);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0) atomic_xchg(&lock[0], 0);
}"""
    ),
    labelled(
        """kernel void claimed_slot(global int *slot, global int *value, global int *out) {
    if (get_local_id(0) != 0) return;
    if (atomic_cmpxchg(&slot[0], 0, 1) == 0) {
        value[300] = 7;
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        atomic_xchg(&slot[0], 2);
    } else {
        while (atomic_add(&slot[0], 0) != 2) {}
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        out[get_group_id(0)] = value[300];
    }
}"""
    ),
    labelled(
        """kernel void passed_on_to_other_groups(global int *data, global int *flag) {
    uint item = get_local_id(0), group = get_group_id(0);
    if (item != 0 && item != 32) return;
    int turn = group * 2 + item / 32; // one after the other
    while (atomic_add(&flag[0], 0) != turn) {}
    data[300] += turn;
    if (item == 0)
        atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_seq_cst, memory_scope_work_group);
    else
        atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_seq_cst, memory_scope_device);
    atomic_xchg(&flag[0], turn + 1);
}"""
    ),
    labelled(
        """kernel void slots_of_a_hash_table(global int *slot, global int *value) {
    uint own = get_global_id(0), at = own * 7 % 64;
    while (atomic_cmpxchg(&slot[at], at, -1) != at) at = (at + 1) % 256;
    value[300 + at] = own; // the slot is this work-item's from now on
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    atomic_xchg(&slot[at], -2);
}"""
    ),
)
