/* Freed memory. Its pages are given back to the system, so that a place in the quarantine costs address space only. The
 * oldest leaves when there are too many, or too much, and its pages go to whoever allocates next. */
#include "check/quarantine.h"

#include <sys/mman.h>

#include "check/checks.h"
#include "threads/lock.h"

enum { PLACES = 4096 };
static const uint64_t MOST_BYTES = UINT64_C(1) << 36;

typedef struct freed {
    char *base;
    uint64_t size, span, type, id;
    bool has_pages; /* they are held here */
    bool waits;     /* for work that may still use it */
    const gs_host_stack *allocated_by, *freed_by;
} freed;

GS_STATIC_LOCK(lock, GS_SHORT_LOCK)
static freed places[PLACES]; /* a ring, guarded by lock */
static uint64_t first, next;
static uint64_t held_bytes;

static freed *place(uint64_t number) { return &places[number % PLACES]; }

/* Called with the lock held; pages.c takes its own, and nobody takes this one with that. */
static void let_go_first(void) {
    freed *oldest = place(first++);
    if (oldest->has_pages) {
        held_bytes -= oldest->span;
        gs_pages_give(oldest->base, oldest->span);
    }
}

/* The newest memory that was freed at an address, or NULL. */
static freed *find(const char *address) {
    for (uint64_t number = next; number > first; number--) {
        freed *each = place(number - 1);
        if (address >= each->base && address < each->base + each->span)
            return each;
    }
    return NULL;
}

static freed *add(const gs_allocation *allocation, const gs_host_stack *freed_by) {
    if (next - first == PLACES)
        let_go_first();
    freed *added = place(next++);
    *added = (freed){.base = allocation->base, .size = allocation->size, .span = allocation->span,
                     .type = (uint64_t)allocation->type, .id = allocation->id,
                     .allocated_by = allocation->allocated_by, .freed_by = freed_by};
    return added;
}

void gs_quarantine_note(const gs_allocation *allocation, const gs_host_stack *freed_by, bool waits) {
    if (!gs_is_checked(GS_CHECK_MEMORY) || allocation->backing > GS_BACKING_FILE)
        return;
    gs_lock(&lock);
    add(allocation, freed_by)->waits = waits;
    gs_unlock(&lock);
}

void gs_quarantine_release(const gs_allocation *allocation) {
    if (!gs_is_checked(GS_CHECK_MEMORY))
        return;
    gs_lock(&lock);
    freed *found = find(allocation->base);
    if (found != NULL && found->id == allocation->id)
        found->waits = false;
    gs_unlock(&lock);
}

bool gs_quarantine_waits(uint64_t address, gs_bounds *bounds) {
    gs_lock(&lock);
    const freed *found = find((const char *)(uintptr_t)address);
    bool waits = found != NULL && found->waits;
    if (waits)
        *bounds = (gs_bounds){(uint64_t)(uintptr_t)found->base, (uint64_t)(uintptr_t)found->base + found->size};
    gs_unlock(&lock);
    return waits;
}

bool gs_quarantine_hold(const gs_allocation *allocation) {
    if (!gs_is_checked(GS_CHECK_MEMORY) || allocation->span > MOST_BYTES)
        return false;
    if (madvise(allocation->base, allocation->span, MADV_DONTNEED) != 0)
        return false;
    gs_lock(&lock);
    freed *found = find(allocation->base);
    if (found == NULL || found->id != allocation->id)
        found = add(allocation, NULL);
    found->has_pages = true;
    held_bytes += found->span;
    while (held_bytes > MOST_BYTES)
        let_go_first();
    gs_unlock(&lock);
    return true;
}

bool gs_quarantine_holds(const void *address) {
    gs_lock(&lock);
    const freed *found = find(address);
    bool holds = found != NULL && found->has_pages;
    gs_unlock(&lock);
    return holds;
}

bool gs_quarantine_find(uint64_t address, gs_memory_facts *facts) {
    gs_lock(&lock);
    const freed *found = find((const char *)(uintptr_t)address);
    if (found != NULL)
        *facts = (gs_memory_facts){.base = (uint64_t)(uintptr_t)found->base,
                                   .size = found->size,
                                   .type = found->type,
                                   .is_freed = 1,
                                   .allocated_by = (uint64_t)(uintptr_t)found->allocated_by,
                                   .freed_by = (uint64_t)(uintptr_t)found->freed_by};
    gs_unlock(&lock);
    return found != NULL;
}

size_t gs_quarantine_list(gs_bounds *into, size_t capacity) {
    gs_lock(&lock);
    size_t count = 0;
    for (uint64_t number = first; number < next; number++) {
        const freed *from = place(number);
        if (!from->waits && count++ < capacity)
            into[count - 1] = (gs_bounds){(uint64_t)(uintptr_t)from->base, (uint64_t)(uintptr_t)from->base + from->span};
    }
    gs_unlock(&lock);
    return count;
}
