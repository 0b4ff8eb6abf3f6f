/* Ranges of memory in a list that grows. */
#ifndef GC_MEMORY_EXTENTS_H
#define GC_MEMORY_EXTENTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct gc_extent {
    uintptr_t at;
    size_t size;
} gc_extent;

typedef struct gc_extents {
    gc_extent *all;
    size_t count, capacity;
} gc_extents;

/* Adds a range, or makes the last one longer. Without memory for that it is left out: recording gives up before the
 * program does. */
static inline void gc_extents_add(gc_extents *to, uintptr_t at, size_t size) {
    gc_extent *last = to->count > 0 ? &to->all[to->count - 1] : NULL;
    if (size == 0 || at == 0)
        return;
    if (last != NULL && last->at + last->size == at) {
        last->size += size;
        return;
    }
    if (to->count == to->capacity) {
        size_t capacity = to->capacity * 2 + 8;
        gc_extent *all = realloc(to->all, capacity * sizeof *all);
        if (all == NULL)
            return;
        to->all = all;
        to->capacity = capacity;
    }
    to->all[to->count++] = (gc_extent){at, size};
}

static inline void gc_extents_join(gc_extents *to, const gc_extents *from) {
    for (size_t each = 0; each < from->count; each++)
        gc_extents_add(to, from->all[each].at, from->all[each].size);
}

static inline void gc_extents_free(gc_extents *list) {
    free(list->all);
    *list = (gc_extents){NULL, 0, 0};
}

#endif
