#include "threads/affinity.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "objects/device.h"

/* Bits as the kernel takes them, for CPUs and for memory nodes. */
enum { MOST = 4096, WORD_BITS = 8 * sizeof(unsigned long), WORDS = MOST / WORD_BITS };

struct gs_affinity {
    unsigned long cpus[WORDS];
    unsigned long nodes[WORDS];
    uint32_t node_count; /* 0: the machine has only one, or all of them are near */
};

/* Of linux/mempolicy.h, which not every system installs. */
enum { POLICY_DEFAULT = 0, POLICY_PREFERRED = 1, POLICY_INTERLEAVE = 3, POLICY_PREFERRED_MANY = 5, MOVE_PAGES = 2 };

/* Smaller blocks are carved from common chunks: a policy for each would cut the chunk into many mappings. */
static const uint64_t SMALLEST_PLACED = 1 << 20;

/* Set before the first allocation, when devices are made. */
static bool has_nodes;
static unsigned long spread_nodes[WORDS];
static bool is_spread; /* what the host touches, over those nodes */

static _Thread_local const gs_affinity *here;

static bool set_bits(unsigned long *words, const uint32_t *numbers, uint32_t count) {
    bool any = false;
    for (uint32_t each = 0; each < count; each++) {
        if (numbers[each] >= MOST)
            continue;
        words[numbers[each] / WORD_BITS] |= 1UL << numbers[each] % WORD_BITS;
        any = true;
    }
    return any;
}

const gs_affinity *gs_affinity_new(const uint32_t *cpus, uint32_t cpu_count) {
    gs_affinity *affinity = calloc(1, sizeof *affinity);
    if (affinity != NULL && set_bits(affinity->cpus, cpus, cpu_count))
        return affinity;
    free(affinity);
    return NULL;
}

/* Some workers of a device run on these CPUs: those of a node, or one of each core. */
GS_EXPORT bool gs_device_place(gs_device *device, uint32_t first, uint32_t count, const uint32_t *cpus, uint32_t cpu_count) {
    const gs_affinity *affinity = gs_affinity_new(cpus, cpu_count);
    if (affinity == NULL)
        return false;
    gs_thread_pool_place(device->pool, first, count, affinity);
    return true;
}

/* The machine is one device with several nodes. */
GS_EXPORT void gs_memory_spread(const uint32_t *nodes, uint32_t node_count) {
    is_spread = has_nodes = set_bits(spread_nodes, nodes, node_count);
}

/* Gives a device its part of a divided machine. No nodes: memory is equally near everywhere. */
GS_EXPORT bool gs_device_confine(gs_device *device, const uint32_t *cpus, uint32_t cpu_count, const uint32_t *nodes,
                                 uint32_t node_count) {
    gs_affinity *affinity = calloc(1, sizeof *affinity);
    if (affinity == NULL || !set_bits(affinity->cpus, cpus, cpu_count)) {
        free(affinity);
        return false;
    }
    if (set_bits(affinity->nodes, nodes, node_count)) {
        affinity->node_count = node_count;
        has_nodes = true;
    }
    device->affinity = affinity;
    return true;
}

/* A CPU that was taken from the process meanwhile is no reason to fail: the thread then runs where it may. */
void gs_affinity_enter(const gs_affinity *affinity) {
    if (affinity == NULL || affinity == here)
        return;
    syscall(SYS_sched_setaffinity, 0, sizeof affinity->cpus, affinity->cpus);
    here = affinity;
}

/* Blocks are used again and again, so one that is for nobody in particular has to lose its last wish. */
void gs_affinity_bind_memory(const gs_affinity *affinity, void *block, uint64_t span, bool host_touches) {
    if (!has_nodes || span < SMALLEST_PLACED)
        return;
    if (is_spread && host_touches) {
        syscall(SYS_mbind, block, span, POLICY_INTERLEAVE, spread_nodes, (unsigned long)MOST, MOVE_PAGES);
        return;
    }
    if (affinity == NULL || affinity->node_count == 0) {
        syscall(SYS_mbind, block, span, POLICY_DEFAULT, NULL, 0, 0);
        return;
    }
    int policy = affinity->node_count == 1 ? POLICY_PREFERRED : POLICY_PREFERRED_MANY;
    syscall(SYS_mbind, block, span, policy, affinity->nodes, (unsigned long)MOST, MOVE_PAGES);
}
