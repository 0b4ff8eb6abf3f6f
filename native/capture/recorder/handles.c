/* Open addressing; entries that are taken out leave a hole that the following ones close. */
#include <stdint.h>
#include <stdlib.h>

#include "capture/recorder/handles.h"

static size_t home_of(const gc_handles *table, const void *handle) {
    return (size_t)(((uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15 >> 20) % table->capacity;
}

static struct gc_entry *find(const gc_handles *table, const void *handle) {
    size_t at = home_of(table, handle);
    while (table->entries[at].handle != NULL && table->entries[at].handle != handle)
        at = (at + 1) % table->capacity;
    return &table->entries[at];
}

static int grow(gc_handles *table) {
    gc_handles more = {.capacity = table->capacity * 2 + 32};
    more.entries = calloc(more.capacity, sizeof *more.entries);
    if (more.entries == NULL)
        return 0;
    for (size_t each = 0; each < table->capacity; each++)
        if (table->entries[each].handle != NULL)
            *find(&more, table->entries[each].handle) = table->entries[each];
    more.count = table->count;
    free(table->entries);
    *table = more;
    return 1;
}

void *gc_handles_get(const gc_handles *table, const void *handle) {
    return table->capacity > 0 && handle != NULL ? find(table, handle)->value : NULL;
}

void *gc_handles_put(gc_handles *table, const void *handle, void *value) {
    if (handle == NULL || (table->count * 2 >= table->capacity && !grow(table)))
        return value;
    struct gc_entry *entry = find(table, handle);
    void *before = entry->value;
    if (entry->handle == NULL)
        table->count++;
    *entry = (struct gc_entry){handle, value};
    return before;
}

void *gc_handles_take(gc_handles *table, const void *handle) {
    if (table->capacity == 0 || handle == NULL)
        return NULL;
    struct gc_entry *hole = find(table, handle);
    void *value = hole->value;
    if (hole->handle == NULL)
        return NULL;
    *hole = (struct gc_entry){NULL, NULL};
    table->count--;
    for (size_t at = (size_t)(hole - table->entries + 1) % table->capacity; table->entries[at].handle != NULL;
         at = (at + 1) % table->capacity) {
        struct gc_entry entry = table->entries[at];
        table->entries[at] = (struct gc_entry){NULL, NULL};
        *find(table, entry.handle) = entry;
    }
    return value;
}
