#include "check/host/device_memory.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "check/host/host_report.h"
#include "faults/fault.h"
#include "memory/memory.h"
#include "threads/lock.h"

_Atomic bool gs_device_memory_checks;

/* Never freed, so that a handler of signals can walk the list at any time. */
typedef struct pages {
    struct pages *_Atomic next;
    _Atomic uintptr_t start, end; /* equal: not in use */
    _Atomic bool is_open;         /* for good: its touch is told */
    _Atomic(const gs_host_stack *) toucher;
    _Atomic uintptr_t touched;    /* 0: nobody did, or it is told */
} pages;

GS_STATIC_LOCK(lock, GS_SHORT_LOCK)
static pages *_Atomic all;
static uint32_t running; /* commands */
static _Atomic bool has_touches;

/* The Python half says what the knob says. */
GS_EXPORT void gs_check_device_memory(bool enable) {
    if (enable)
        gs_faults_install();
    atomic_store(&gs_device_memory_checks, enable);
}

static void protect(const pages *of, int protection) {
    if (of->end > of->start && !of->is_open)
        mprotect((void *)of->start, of->end - of->start, protection);
}

static void protect_all(int protection) {
    for (const pages *each = all; each != NULL; each = each->next)
        protect(each, protection);
}

/* Without memory to note it, it stays open. */
void gs_device_memory_add(void *start, uint64_t span) {
    gs_lock(&lock);
    pages *free_one = all;
    while (free_one != NULL && free_one->end > free_one->start)
        free_one = free_one->next;
    if (free_one == NULL && (free_one = calloc(1, sizeof *free_one)) != NULL) {
        free_one->next = all;
        all = free_one;
    }
    if (free_one != NULL) {
        free_one->is_open = false;
        free_one->start = (uintptr_t)start;
        free_one->end = (uintptr_t)start + span;
        if (running == 0)
            protect(free_one, PROT_NONE);
    }
    gs_unlock(&lock);
}

void gs_device_memory_remove(const void *start) {
    gs_lock(&lock);
    for (pages *each = all; each != NULL; each = each->next)
        if (each->start == (uintptr_t)start && each->end > each->start) {
            protect(each, PROT_READ | PROT_WRITE);
            each->end = each->start;
        }
    gs_unlock(&lock);
}

void gs_device_memory_open(void) {
    gs_lock(&lock);
    if (running++ == 0)
        protect_all(PROT_READ | PROT_WRITE);
    gs_unlock(&lock);
}

void gs_device_memory_close(void) {
    gs_lock(&lock);
    if (--running == 0)
        protect_all(PROT_NONE);
    gs_unlock(&lock);
}

/* On the thread of the program, wherever that is. It holds no lock of the driver: the driver touches device memory in commands
 * only. */
bool gs_device_memory_touched(const void *address) {
    uintptr_t at = (uintptr_t)address;
    for (pages *each = all; each != NULL; each = each->next) {
        if (at < each->start || at >= each->end)
            continue;
        if (!atomic_exchange(&each->is_open, true)) {
            mprotect((void *)each->start, each->end - each->start, PROT_READ | PROT_WRITE);
            each->toucher = gs_host_stack_take();
            each->touched = at;
            has_touches = true;
        }
        return true;
    }
    return false;
}

static void report(uintptr_t address, const gs_host_stack *stack) {
    gs_host_report finding;
    gs_host_record known;
    gs_memory_facts facts;
    gs_bounds bounds;
    bool is_known = gs_memory_bounds(address, &bounds) && gs_memory_describe(address, &facts);
    unsigned long long size = is_known ? bounds.upper - bounds.lower : 0, distance = is_known ? address - bounds.lower : 0;
    gs_host_report_begin(&finding, "device-memory-touched",
                         "the host reads or writes device memory: byte %llu of %llu", distance, size);
    gs_host_report_at(&finding, (gs_host_call){GS_FN_COUNT, stack});
    if (is_known && gs_host_books_find((const void *)bounds.lower, &known) && known.is_live)
        gs_host_report_call(&finding, "allocated by", known.made);
    gs_host_report_note(&finding, "help: copy it with zeCommandListAppendMemoryCopy, or allocate shared or host memory");
    gs_host_report_send(&finding);
}

void gs_device_memory_report(void) {
    if (!atomic_exchange(&has_touches, false))
        return;
    for (pages *each = all; each != NULL; each = each->next) {
        uintptr_t address = atomic_exchange(&each->touched, 0);
        if (address != 0)
            report(address, each->toucher);
    }
}
