"""Kernels whose barriers and fences say which memory they order, some while they run."""

from __future__ import annotations

from tests.check.labelled.cases import Case
from tests.check.labelled.races import GLOBAL_RACE, LOCAL_RACE, labelled

PUBLISH = """kernel void $(global int *out, MEMORY int *data, MEMORY atomic_int *flag) {
    if (get_global_id(0) == 0) atomic_store(&flag[300], 0);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_global_id(0) == 0) {
        data[301] = 42;
        atomic_work_item_fence(CLK_ORDERED_MEM_FENCE, memory_order_release, memory_scope_device);
        atomic_store_explicit(&flag[300], 7, memory_order_relaxed, memory_scope_device);
    } else if (get_local_id(0) == 63) {
        if (atomic_load_explicit(&flag[300], memory_order_acquire, memory_scope_device) == 7)
            out[get_group_id(0)] = data[301];
    }
}"""


def published(name: str, kind: str, memory: str, fence: str) -> Case:
    """A number and a flag in one memory, with a fence for one."""
    source = PUBLISH.replace("$", name).replace("MEMORY", memory).replace("ORDERED", fence)
    return labelled(source, kind)


CASES: tuple[Case, ...] = (
    labelled(
        """kernel void flags_that_only_one_gives(global int *a, local int *t) {
    int flags = get_local_id(0) == 0 ? CLK_LOCAL_MEM_FENCE : 0;
    t[get_local_id(0)] = a[get_local_id(0)];
    barrier(flags);
    a[get_local_id(0)] = t[get_local_id(0) ^ 1];
}""",
        LOCAL_RACE,
        1,
    ),
    labelled(
        """kernel void flags_that_half_of_a_group_give(global int *a, local int *t) {
    int flags = get_local_id(0) < 32 ? CLK_LOCAL_MEM_FENCE : CLK_GLOBAL_MEM_FENCE;
    t[get_local_id(0)] = a[get_local_id(0)];
    barrier(flags);
    a[get_local_id(0)] = t[63 - get_local_id(0)];
}""",
        LOCAL_RACE,
        1,
    ),
    labelled(
        """kernel void computed_flags_without_global(global int *a, global int *out, local int *t) {
    int flags = a[0] == 0 ? CLK_LOCAL_MEM_FENCE : CLK_GLOBAL_MEM_FENCE;
    out[get_local_id(0)] = a[get_local_id(0)];
    barrier(flags);
    t[get_local_id(0)] = out[63 - get_local_id(0)];
}""",
        GLOBAL_RACE,
        1,
    ),
    labelled(
        """kernel void computed_flags_with_local(global int *a, global int *out, local int *t) {
    int flags = a[0] == 0 ? CLK_LOCAL_MEM_FENCE : CLK_GLOBAL_MEM_FENCE;
    t[get_local_id(0)] = a[get_local_id(0)];
    barrier(flags);
    out[get_global_id(0)] = t[63 - get_local_id(0)];
}"""
    ),
    labelled(
        """kernel void one_of_two_barriers(global int *a, global int *out, local int *t) {
    out[get_global_id(0)] = t[get_local_id(0)] = a[get_local_id(0)];
    if (a[1] == 1) barrier(CLK_LOCAL_MEM_FENCE); else barrier(CLK_GLOBAL_MEM_FENCE);
    out[get_global_id(0)] += t[63 - get_local_id(0)];
}"""
    ),
    published("published_by_a_fence_of_local", GLOBAL_RACE, "global", "LOCAL"),
    published("published_by_a_fence_of_global", "", "global", "GLOBAL"),
    published("published_in_local_by_a_fence_of_global", LOCAL_RACE, "local", "GLOBAL"),
    published("published_in_local_by_a_fence_of_local", "", "local", "LOCAL"),
    labelled(
        """kernel void fences_and_nothing_else(global int *unused) {
    mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    write_mem_fence(CLK_GLOBAL_MEM_FENCE);
}"""
    ),
)
