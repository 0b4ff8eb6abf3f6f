/* What is known of an object, by its handle. */
#ifndef GC_RECORDER_HANDLES_H
#define GC_RECORDER_HANDLES_H

#include <stddef.h>

typedef struct gc_handles gc_handles;

/* A table of handles; its users lock it. */
struct gc_handles {
    struct gc_entry {
        const void *handle;
        void *value;
    } *entries;
    size_t count, capacity;
};

void *gc_handles_get(const gc_handles *table, const void *handle);
/* Enters a value; what was there before, or the value itself if there is no memory, is given back to be freed. */
void *gc_handles_put(gc_handles *table, const void *handle, void *value);
void *gc_handles_take(gc_handles *table, const void *handle);

#endif
