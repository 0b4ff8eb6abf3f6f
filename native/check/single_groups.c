#include "check/single_groups.h"

#include <string.h>

#include "abi/abi.h"
#include "memory/kernel_memory.h"

uint64_t gs_vary_seed, gs_most_items, gs_most_local;
_Thread_local gs_bounds gs_local_here;

/* The Python half says what the knob says. */
GS_EXPORT void gs_vary(uint64_t seed) { gs_vary_seed = seed; }

GS_EXPORT void gs_limit_launches(uint64_t items, uint64_t local_bytes) {
    gs_most_items = items;
    gs_most_local = local_bytes;
}

/* --- Contents ---------------------------------------------------------------------------------------- */

/* Another number for each number: the finaliser of a common generator (splitmix64). */
static uint64_t mixed(uint64_t number) {
    number += UINT64_C(0x9e3779b97f4a7c15);
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return number ^ number >> 31;
}

/* A word over and over: as a float it is finite and large, as an index far away, and never zero. */
void gs_vary_contents(void *memory, size_t bytes) {
    uint32_t word = (uint32_t)mixed(gs_vary_seed) & 0x3f7f7f7f;
    word |= 0x40010101;
    char *to = memory;
    size_t whole = bytes / sizeof word * sizeof word;
    for (size_t at = 0; at < whole; at += sizeof word)
        memcpy(to + at, &word, sizeof word);
    memcpy(to + whole, &word, bytes - whole);
}

char *gs_single_group_memory(const gs_dispatch *dispatch, uint64_t private, uint64_t saved) {
    static _Thread_local uint32_t turn;
    char *local = gs_kernel_memory_slot(dispatch->local_bytes, private, saved, turn++ % GS_LOCAL_SLOTS);
    if (local == NULL)
        return NULL;
    gs_local_here = (gs_bounds){(uintptr_t)local, (uintptr_t)local + dispatch->local_bytes};
    if (gs_vary_seed != 0) {
        gs_vary_contents(local, dispatch->local_bytes);
        gs_vary_contents(gs_header_of(local)->private, private);
    }
    return local;
}

/* --- Order ------------------------------------------------------------------------------------------- */

static uint64_t common_divisor(uint64_t one, uint64_t other) {
    while (other != 0) {
        uint64_t rest = one % other;
        one = other;
        other = rest;
    }
    return one;
}

/* A step that has no divisor in common with the number of groups leads to each of them once. */
uint64_t gs_varied_group(const gs_dispatch *dispatch, uint64_t group) {
    const uint64_t *counts = dispatch->group_counts;
    uint64_t groups = counts[0] * counts[1] * counts[2];
    if (gs_vary_seed == 0 || groups < 2)
        return group;
    uint64_t step = mixed(gs_vary_seed ^ groups) % groups, first = mixed(gs_vary_seed + groups) % groups;
    while (common_divisor(step, groups) != 1)
        step = (step + 1) % groups;
    return (uint64_t)(((unsigned __int128)group * step + first) % groups);
}
