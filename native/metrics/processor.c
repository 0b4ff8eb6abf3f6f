/* Each thread opens its own counters when it first works while a group is active; they are closed with the last group. */
#include "metrics/processor.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "abi/abi.h"
#include "metrics/perf.h"
#include "threads/lock.h"

typedef struct event {
    uint32_t type;
    uint64_t config;
    bool of_kernel; /* it happens in the kernel, and so needs the right to look there */
} event;

#define TLB_READ_MISSES(tlb) \
    (PERF_COUNT_HW_CACHE_##tlb | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

/* In the order of gs_metric_counts, from `cycles` on. */
static const event events[] = {
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, false},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, false},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, false},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, false},
    {PERF_TYPE_HW_CACHE, TLB_READ_MISSES(DTLB), false},
    {PERF_TYPE_HW_CACHE, TLB_READ_MISSES(ITLB), false},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, true},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, true},
};

enum { EVENTS = sizeof events / sizeof *events, FIRST = offsetof(gs_metric_counts, cycles) / sizeof(uint64_t) };
_Static_assert(FIRST + EVENTS == offsetof(gs_metric_counts, counted_kernels) / sizeof(uint64_t), "one word for each event");

_Atomic uint32_t gs_active_processor_groups;

/* Those of a thread. */
typedef struct counters {
    struct counters *next, **link; /* in the list of all */
    gs_mutex lock;
    pid_t pid; /* 0: not open; a forked child opens its own */
    bool has_begun;
    int fds[EVENTS];
    gs_perf_reading before[EVENTS];
} counters;

GS_STATIC_LOCK(lock, GS_SHORT_LOCK)
static counters *all;
static _Thread_local counters *mine;
static pthread_key_t ending;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A descriptor, or -1. What happens in the kernel is not counted for others than `of_kernel`, so that the numbers do not
 * depend on who runs the program. */
static int open_event(const event *wanted) {
    struct perf_event_attr attributes = gs_perf_attributes(wanted->type, wanted->config);
    attributes.exclude_kernel = !wanted->of_kernel;
    attributes.exclude_hv = 1;
    return gs_perf_open(&attributes, 0, -1);
}

/* Which events this process may count, as bits; and the error of the first one, or 0. */
GS_EXPORT uint32_t gs_processor_events(int *error) {
    uint32_t bits = 0;
    *error = 0;
    for (int each = 0; each < EVENTS; each++) {
        int fd = open_event(&events[each]);
        if (fd >= 0) {
            close(fd);
            bits |= 1u << each;
        } else if (each == 0) {
            *error = errno;
        }
    }
    return bits;
}

static void close_counters(counters *of) {
    for (int each = 0; each < EVENTS && of->pid != 0; each++)
        if (of->fds[each] >= 0)
            close(of->fds[each]);
    of->pid = 0;
    of->has_begun = false;
}

void gs_processor_close(void) {
    gs_lock(&lock);
    for (counters *each = all; each != NULL; each = each->next) {
        gs_lock(&each->lock);
        close_counters(each);
        gs_unlock(&each->lock);
    }
    gs_unlock(&lock);
}

static void end_thread(void *argument) {
    counters *of = argument;
    gs_lock(&lock);
    *of->link = of->next;
    if (of->next != NULL)
        of->next->link = of->link;
    gs_unlock(&lock);
    close_counters(of);
    gs_mutex_close(&of->lock);
    free(of);
}

static void make_key(void) { pthread_key_create(&ending, end_thread); }

/* Those of the calling thread, or NULL if memory ran out. */
static counters *counters_here(void) {
    if (mine != NULL)
        return mine;
    pthread_once(&once, make_key);
    mine = calloc(1, sizeof *mine);
    if (mine == NULL)
        return NULL;
    gs_mutex_open(&mine->lock, GS_SHORT_LOCK);
    gs_lock(&lock);
    mine->next = all;
    mine->link = &all;
    if (all != NULL)
        all->link = &mine->next;
    all = mine;
    gs_unlock(&lock);
    pthread_setspecific(ending, mine);
    return mine;
}

void gs_processor_begin(void) {
    counters *here = counters_here();
    if (here == NULL)
        return;
    gs_lock(&here->lock);
    if (here->pid != getpid()) {
        close_counters(here);
        here->pid = getpid();
        for (int each = 0; each < EVENTS; each++)
            here->fds[each] = open_event(&events[each]);
    }
    for (int each = 0; each < EVENTS; each++)
        if (!gs_perf_read(here->fds[each], &here->before[each]))
            here->before[each] = (gs_perf_reading){0};
    here->has_begun = true;
    gs_unlock(&here->lock);
}

void gs_processor_end(gs_queue_counts *counts) {
    counters *here = mine;
    if (here == NULL)
        return;
    uint64_t found[EVENTS] = {0};
    gs_perf_reading now;
    gs_lock(&here->lock);
    for (int each = 0; each < EVENTS && here->has_begun; each++)
        if (gs_perf_read(here->fds[each], &now))
            found[each] = (uint64_t)gs_perf_difference(&now, &here->before[each]);
    here->has_begun = false;
    gs_unlock(&here->lock);
    for (int each = 0; each < EVENTS; each++)
        gs_count(counts, FIRST + (size_t)each, found[each]);
}
