#include "objects/counter.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory/memory_file.h"
#include "threads/fork.h"
#include "threads/lock.h"

_Static_assert(sizeof(gs_counter) <= GS_HEAP_CELL && sizeof(gs_event_slot) <= GS_HEAP_CELL,
               "a cell holds a counter or an event");

/* Freed cells are linked through their own first bytes and reused oldest first. Index 0 is never given
 * out, so that a packed reference of 0 means none. */
GS_STATIC_LOCK(lock, GS_SHORT_LOCK)
static gs_heap own = {-1, NULL};
static uint32_t used = 1, oldest, newest;

static uint32_t *link_of(uint32_t cell) { return (uint32_t *)(own.base + (size_t)cell * GS_HEAP_CELL); }

static bool map_heap(gs_heap *heap) {
    int fd = gs_memory_file(GS_HEAP_BYTES);
    if (fd < 0)
        return false;
    void *base = mmap(NULL, GS_HEAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (base == MAP_FAILED) {
        close(fd);
        return false;
    }
    *heap = (gs_heap){fd, base};
    return true;
}

/* Called with the lock held. */
static bool make_heap(void) { return own.base != NULL || map_heap(&own); }

gs_heap *gs_own_heap(void) {
    gs_lock(&lock);
    bool made = make_heap();
    gs_unlock(&lock);
    return made ? &own : NULL;
}

void *gs_heap_take(void) {
    uint32_t cell = 0;
    gs_lock(&lock);
    if (make_heap()) {
        if (oldest != 0) {
            cell = oldest;
            oldest = *link_of(cell);
        } else if (used < GS_HEAP_CELLS) {
            cell = used++;
        }
    }
    gs_unlock(&lock);
    if (cell == 0)
        return NULL;
    return memset(own.base + (size_t)cell * GS_HEAP_CELL, 0, GS_HEAP_CELL);
}

void gs_heap_give(void *given) {
    uint32_t cell = (uint32_t)(((char *)given - own.base) / GS_HEAP_CELL);
    gs_lock(&lock);
    *link_of(cell) = 0;
    if (oldest == 0)
        oldest = cell;
    else
        *link_of(newest) = cell;
    newest = cell;
    gs_unlock(&lock);
}

gs_counter *gs_counter_new(void) {
    gs_counter *counter = gs_heap_take();
    if (counter != NULL)
        counter->references = 1;
    return counter;
}

void gs_counter_hold(gs_counter *counter) { atomic_fetch_add(&counter->references, 1); }

void gs_counter_drop(gs_counter *counter) {
    if (counter != NULL && atomic_fetch_sub(&counter->references, 1) == 1)
        gs_heap_give(counter);
}

void gs_counter_advance(gs_counter *counter, uint64_t number) {
    uint64_t before = atomic_load(&counter->done);
    while (before < number && !atomic_compare_exchange_weak(&counter->done, &before, number))
        continue;
    gs_futex_notify(&counter->futex);
}

/* --- Forking ------------------------------------------------------------------------------------- */

static gs_heap copy;

bool gs_heap_copy(void) {
    if (own.base == NULL)
        return true;
    if (!map_heap(&copy))
        return false;
    memcpy(copy.base, own.base, (size_t)used * GS_HEAP_CELL);
    return true;
}

void gs_heap_drop_copy(void) {
    if (own.base == NULL)
        return;
    munmap(copy.base, GS_HEAP_BYTES);
    close(copy.fd);
}

bool gs_heap_use_copy(void) {
    if (own.base == NULL)
        return true;
    if (mremap(copy.base, GS_HEAP_BYTES, GS_HEAP_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, own.base) == MAP_FAILED)
        return false;
    close(own.fd);
    own.fd = copy.fd;
    return true;
}
