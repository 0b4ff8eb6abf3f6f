/* What the handles of the API point to. Every object begins with a head, and is known as long as it lives, so
 * that stale and foreign handles are refused without looking into them. */
#ifndef GS_DNNL_OBJECTS_H
#define GS_DNNL_OBJECTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dnnl/level_zero.h"

#define GS_EXPORT __attribute__((visibility("default")))

enum gs_object_kind {
    GS_ENGINE = 1,
    GS_STREAM,
    GS_MEMORY,
    GS_PRIMITIVE,
    GS_NAME, /* an object that only Python knows: a descriptor, attributes */
};

typedef struct gs_object {
    enum gs_object_kind kind;
} gs_object;

/* Memory, streams and primitives hold their engine: Python's garbage collector ends the objects of a cycle in any order. */
typedef struct gs_engine {
    gs_object head;
    atomic_uint references;
    const gs_ze *ze;
    ze_context_handle_t context;
    bool owns_context; /* the context ends with the engine */
    ze_device_handle_t device;
} gs_engine;

enum { GS_MOST_HANDLES = 16, GS_SCALAR_BYTES = 8 };

typedef struct gs_memory {
    gs_object head;
    gs_engine *engine; /* NULL for a value of the host */
    int count;
    void *handles[GS_MOST_HANDLES];
    bool owned[GS_MOST_HANDLES];
    size_t scalar_size; /* 0 unless this is a value of the host */
    unsigned char scalar[GS_SCALAR_BYTES];
} gs_memory;

/* Makes an object of `size` bytes known, or NULL without memory. */
void *gs_object_new(enum gs_object_kind kind, size_t size);

/* Makes an object unknown and frees it; what it refers to is the caller's business. */
void gs_object_free(void *object);

/* True if a handle is a live object of a kind; safe for any bit pattern. */
GS_EXPORT bool gs_object_is(const void *handle, int kind);

/* For Python, which has nothing to say about an object but its name. */
GS_EXPORT void *gs_name_new(void);
GS_EXPORT void gs_name_free(void *name);

GS_EXPORT gs_engine *gs_engine_new(const char *library, void *context, bool owns_context, void *device);
gs_engine *gs_engine_hold(gs_engine *engine);
GS_EXPORT void gs_engine_drop(gs_engine *engine);

GS_EXPORT gs_memory *gs_memory_new(gs_engine *engine, int count, void *const *handles, const bool *owned);
GS_EXPORT gs_memory *gs_scalar_new(size_t size, const void *value);
GS_EXPORT size_t gs_scalar_get(const gs_memory *scalar, void *value); /* returns its size */
GS_EXPORT void gs_scalar_set(gs_memory *scalar, const void *value);
GS_EXPORT void gs_memory_free(gs_memory *memory);
GS_EXPORT void *gs_memory_get(const gs_memory *memory, int index);
GS_EXPORT void gs_memory_set(gs_memory *memory, int index, void *handle);

#endif
