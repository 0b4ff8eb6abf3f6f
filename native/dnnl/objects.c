/* Objects and the set of those that live: an open-addressed table of addresses. */
#include "dnnl/objects.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const void **table;
static size_t capacity, used; /* used counts graves, too: they are swept when the table grows */

#define GRAVE ((const void *)&table)

static size_t place_of(const void *address, size_t size) {
    return ((uintptr_t)address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20 & (size - 1);
}

static bool is_entry(const void *entry) { return entry != NULL && entry != GRAVE; }

static void put(const void **to, size_t size, const void *address) {
    size_t place = place_of(address, size);
    while (is_entry(to[place]))
        place = (place + 1) & (size - 1);
    to[place] = address;
}

static bool grow(void) {
    size_t live = 0;
    for (size_t each = 0; each < capacity; each++)
        live += is_entry(table[each]);
    size_t size = 256;
    while (size < 4 * (live + 1))
        size *= 2;
    const void **fresh = calloc(size, sizeof *fresh);
    if (fresh == NULL)
        return false;
    for (size_t each = 0; each < capacity; each++)
        if (is_entry(table[each]))
            put(fresh, size, table[each]);
    free(table);
    table = fresh;
    capacity = size;
    used = live;
    return true;
}

/* The place of a known address, or -1. */
static ptrdiff_t find(const void *address) {
    if (capacity == 0 || !is_entry(address))
        return -1;
    for (size_t place = place_of(address, capacity); table[place] != NULL; place = (place + 1) & (capacity - 1))
        if (table[place] == address)
            return (ptrdiff_t)place;
    return -1;
}

void *gs_object_new(enum gs_object_kind kind, size_t size) {
    gs_object *object = calloc(1, size);
    if (object == NULL)
        return NULL;
    object->kind = kind;
    pthread_mutex_lock(&lock);
    bool fits = 2 * (used + 1) <= capacity || grow();
    if (fits) {
        put(table, capacity, object);
        used++;
    }
    pthread_mutex_unlock(&lock);
    if (fits)
        return object;
    free(object);
    return NULL;
}

void gs_object_free(void *object) {
    pthread_mutex_lock(&lock);
    ptrdiff_t place = find(object);
    if (place >= 0)
        table[place] = GRAVE;
    pthread_mutex_unlock(&lock);
    if (place >= 0)
        free(object);
}

bool gs_object_is(const void *handle, int kind) {
    pthread_mutex_lock(&lock);
    bool known = find(handle) >= 0 && (int)((const gs_object *)handle)->kind == kind;
    pthread_mutex_unlock(&lock);
    return known;
}

void *gs_name_new(void) { return gs_object_new(GS_NAME, sizeof(gs_object)); }
void gs_name_free(void *name) { gs_object_free(name); }

/* --- Engines --------------------------------------------------------------------------------------- */

gs_engine *gs_engine_new(const char *library, void *context, bool owns_context, void *device) {
    const gs_ze *ze = gs_ze_open(library);
    gs_engine *engine = ze != NULL ? gs_object_new(GS_ENGINE, sizeof *engine) : NULL;
    if (engine == NULL)
        return NULL;
    engine->ze = ze;
    engine->references = 1;
    engine->context = context;
    engine->owns_context = owns_context;
    engine->device = device;
    return engine;
}

gs_engine *gs_engine_hold(gs_engine *engine) {
    atomic_fetch_add(&engine->references, 1);
    return engine;
}

void gs_engine_drop(gs_engine *engine) {
    if (atomic_fetch_sub(&engine->references, 1) > 1)
        return;
    if (engine->owns_context)
        engine->ze->zeContextDestroy(engine->context);
    gs_object_free(engine);
}

/* --- Memory ---------------------------------------------------------------------------------------- */

gs_memory *gs_memory_new(gs_engine *engine, int count, void *const *handles, const bool *owned) {
    if (count < 1 || count > GS_MOST_HANDLES)
        return NULL;
    gs_memory *memory = gs_object_new(GS_MEMORY, sizeof *memory);
    if (memory == NULL)
        return NULL;
    memory->engine = gs_engine_hold(engine);
    memory->count = count;
    memcpy(memory->handles, handles, (size_t)count * sizeof *handles);
    memcpy(memory->owned, owned, (size_t)count * sizeof *owned);
    return memory;
}

gs_memory *gs_scalar_new(size_t size, const void *value) {
    gs_memory *memory = size <= GS_SCALAR_BYTES ? gs_object_new(GS_MEMORY, sizeof *memory) : NULL;
    if (memory == NULL)
        return NULL;
    memory->scalar_size = size;
    memcpy(memory->scalar, value, size);
    return memory;
}

size_t gs_scalar_get(const gs_memory *scalar, void *value) {
    memcpy(value, scalar->scalar, scalar->scalar_size);
    return scalar->scalar_size;
}

void gs_scalar_set(gs_memory *scalar, const void *value) { memcpy(scalar->scalar, value, scalar->scalar_size); }

/* A primitive or memory may go while a stream still needs it: then the device keeps what it uses. */
static void let_go(gs_memory *memory, int index) {
    const ze_memory_free_ext_desc_t description = {.stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC,
                                                   .freePolicy = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE};
    if (memory->owned[index])
        memory->engine->ze->zeMemFreeExt(memory->engine->context, &description, memory->handles[index]);
    memory->owned[index] = false;
}

void gs_memory_free(gs_memory *memory) {
    for (int each = 0; each < memory->count; each++)
        let_go(memory, each);
    gs_engine *engine = memory->engine;
    gs_object_free(memory);
    if (engine != NULL)
        gs_engine_drop(engine);
}

void *gs_memory_get(const gs_memory *memory, int index) { return memory->handles[index]; }

void gs_memory_set(gs_memory *memory, int index, void *handle) {
    if (memory->handles[index] == handle)
        return;
    let_go(memory, index);
    memory->handles[index] = handle;
}
