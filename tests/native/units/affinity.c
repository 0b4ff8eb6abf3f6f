/* What the driver asks of the system about CPUs and memory nodes, on machines with several nodes, which few have. */
#include "check.h"

#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct call {
    long number, policy;
    unsigned long mask;
    bool moves;
} call;

static call last;
static uint32_t calls;

static long record(long number, ...) {
    va_list rest;
    va_start(rest, number);
    calls++;
    last = (call){.number = number};
    if (number == SYS_mbind) {
        (void)va_arg(rest, void *);
        (void)va_arg(rest, uint64_t);
        last.policy = va_arg(rest, int);
        const unsigned long *nodes = va_arg(rest, const unsigned long *);
        last.mask = nodes != NULL ? *nodes : 0;
    } else {
        (void)va_arg(rest, int);
        (void)va_arg(rest, size_t);
        last.mask = *va_arg(rest, const unsigned long *);
    }
    va_end(rest);
    return 0;
}

#define syscall record
#include "threads/affinity.c"

static const gs_affinity *placed[8];

void gs_thread_pool_place(gs_thread_pool *pool, uint32_t first, uint32_t count, const gs_affinity *affinity) {
    (void)pool;
    for (uint32_t each = first; each < first + count; each++)
        placed[each] = affinity;
}

enum { LARGE = 4 << 20 };
static char block[1];

static void one_node_asks_for_nothing(void) {
    gs_affinity_bind_memory(NULL, block, LARGE, true);
    gs_affinity_enter(NULL);
    REQUIRE(calls == 0);
}

static void workers_enter_their_node(void) {
    gs_device device = {0};
    REQUIRE(gs_device_place(&device, 0, 2, (const uint32_t[]){0, 1}, 2));
    REQUIRE(gs_device_place(&device, 2, 2, (const uint32_t[]){2, 3, 5000}, 3));
    REQUIRE(!gs_device_place(&device, 4, 1, (const uint32_t[]){5000}, 1));
    REQUIRE(placed[0] == placed[1] && placed[2] == placed[3] && placed[4] == NULL);
    gs_affinity_enter(placed[3]);
    REQUIRE(last.number == SYS_sched_setaffinity && last.mask == 0xc);
    uint32_t before = calls;
    gs_affinity_enter(placed[3]);
    REQUIRE(calls == before);
}

static void memory_is_spread_if_the_host_touches_it(void) {
    gs_memory_spread((const uint32_t[]){0, 1}, 2);
    gs_affinity_bind_memory(NULL, block, LARGE, true);
    REQUIRE(last.number == SYS_mbind && last.policy == POLICY_INTERLEAVE && last.mask == 3);
    gs_affinity_bind_memory(NULL, block, LARGE, false); /* a block that may have been spread before */
    REQUIRE(last.number == SYS_mbind && last.policy == POLICY_DEFAULT && last.mask == 0);
    uint32_t before = calls;
    gs_affinity_bind_memory(NULL, block, 4096, true);
    REQUIRE(calls == before);
}

int main(void) {
    one_node_asks_for_nothing();
    workers_enter_their_node();
    memory_is_spread_if_the_host_touches_it();
    return 0;
}
