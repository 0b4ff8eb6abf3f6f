/* Slabs of objects, one for each kind.
 *
 * A slab is a few segments of slots. The first one is small; each further one is as large as all before it, or smaller
 * where there is not that much address space. Segments are never given back. Freed slots queue up first in, first out,
 * and are used again only when more than QUARANTINE of them wait, so that a stale handle is recognised for as long as
 * possible. */
#include "objects/object.h"
#include "objects/event.h"
#include "threads/fork.h"
#include "threads/lock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_SLOTS = 1 << 20, FIRST_SLOTS = 2048, FEWEST_SLOTS = 128, SEGMENTS = 32, QUARANTINE = 1024 };

typedef struct slot {
    gs_object object; /* first: a handle is the address of its slot */
    struct slot *next_free;
} slot;

_Static_assert(sizeof(slot) <= GS_SLOT_SIZE, "a slot holds at least an object and its link");

/* Beside the kind of an object that is not whole yet: one who has an old handle of the slot cannot hold it. */
#define IN_THE_MAKING (UINT32_C(1) << 16)
_Static_assert(GS_KIND_COUNT < IN_THE_MAKING, "a kind leaves room for the mark");

typedef struct segment {
    char *base;
    uint32_t slots;
} segment;

typedef struct slab {
    gs_mutex lock;
    segment segments[SEGMENTS];
    _Atomic uint32_t count; /* of segments; they are written before it is */
    uint32_t slots;         /* in all segments */
    uint32_t used;          /* slots ever handed out */
    uint32_t waiting;       /* slots in the queue of freed ones */
    bool is_abandoned;      /* no handle is live any more: fork.c */
    slot *oldest, *newest;
    _Atomic uint64_t live;
} slab;

static slab slabs[GS_KIND_COUNT];

__attribute__((constructor)) static void prepare_slabs(void) {
    for (int kind = 0; kind < GS_KIND_COUNT; kind++)
        gs_mutex_open(&slabs[kind].lock, GS_SHORT_LOCK);
}

static slot *slot_at(slab *of, uint32_t index) {
    const segment *in = of->segments;
    for (; index >= in->slots; in++)
        index -= in->slots;
    return (slot *)(in->base + (size_t)index * GS_SLOT_SIZE);
}

/* Whether an address lies in a slab, and how far from the beginning of its segment. */
static bool find_distance(slab *of, const void *address, uintptr_t *distance) {
    uint32_t count = atomic_load_explicit(&of->count, memory_order_acquire);
    for (const segment *each = of->segments; each < of->segments + count; each++) {
        *distance = (uintptr_t)address - (uintptr_t)each->base;
        if (*distance < (uintptr_t)each->slots * GS_SLOT_SIZE)
            return true;
    }
    return false;
}

/* Adds a segment, of fewer slots where there is no room for many. */
static bool grow(slab *of) {
    uint32_t count = of->count;
    uint32_t slots = of->slots > FIRST_SLOTS ? of->slots : FIRST_SLOTS;
    if (slots > MOST_SLOTS - of->slots)
        slots = MOST_SLOTS - of->slots;
    if (count == SEGMENTS)
        return false;
    for (; slots >= FEWEST_SLOTS; slots /= 2) {
        void *base = mmap(NULL, (size_t)slots * GS_SLOT_SIZE, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED)
            continue;
        of->segments[count] = (segment){base, slots};
        of->slots += slots;
        atomic_store_explicit(&of->count, count + 1, memory_order_release);
        return true;
    }
    return false;
}

static slot *take_slot(slab *of) {
    bool reuse = of->waiting > QUARANTINE;
    if (!reuse && of->used == of->slots && !grow(of))
        reuse = of->waiting > 0;
    if (reuse) {
        slot *taken = of->oldest;
        of->oldest = taken->next_free;
        of->waiting--;
        return taken;
    }
    return of->used < of->slots ? slot_at(of, of->used++) : NULL;
}

void *gs_object_new(enum gs_kind kind, void (*release)(gs_object *)) {
    slab *of = &slabs[kind];
    gs_lock(&of->lock);
    slot *taken = take_slot(of);
    gs_unlock(&of->lock);
    if (taken == NULL)
        return NULL;
    gs_object *object = &taken->object;
    memset(object + 1, 0, GS_SLOT_SIZE - sizeof *object);
    atomic_store_explicit(&object->context, NULL, memory_order_relaxed);
    object->tables = (ze_handle_t){
        (ze_dditable_driver_t *)&gs_core_table, (zet_dditable_driver_t *)&gs_tools_table,
        (zes_dditable_driver_t *)&gs_sysman_table, (zer_dditable_driver_t *)&gs_runtime_table};
    object->release = release;
    of->live++;
    atomic_store_explicit(&object->references, 1, memory_order_relaxed);
    atomic_store_explicit(&object->kind, (uint32_t)kind | IN_THE_MAKING, memory_order_release);
    return object;
}

bool gs_is_live(const void *handle, enum gs_kind kind) {
    slab *of = &slabs[kind];
    uintptr_t distance;
    if (of->is_abandoned || !find_distance(of, handle, &distance) || distance % GS_SLOT_SIZE != 0)
        return false;
    const gs_object *object = handle;
    return atomic_load_explicit(&object->kind, memory_order_acquire) == kind;
}

void *gs_pin(const void *handle, enum gs_kind kind) {
    void *object = (void *)handle;
    if (!gs_is_live(handle, kind) || !gs_object_try_hold(object))
        return NULL;
    if (gs_is_live(handle, kind))
        return object;
    gs_object_drop(object); /* closed meanwhile */
    return NULL;
}

void gs_unpin(void **pinned) {
    if (*pinned != NULL)
        gs_object_drop(*pinned);
}

static bool grow_pins(gs_pins *pins) {
    size_t capacity = pins->all == NULL ? 64 : 2 * pins->capacity;
    void **larger = realloc(pins->all, capacity * sizeof *larger);
    if (larger == NULL)
        return false;
    if (pins->all == NULL)
        memcpy(larger, pins->few, sizeof pins->few);
    pins->all = larger;
    pins->capacity = capacity;
    return true;
}

bool gs_pin_next(gs_pins *pins, const void *handle, enum gs_kind kind) {
    const size_t few = sizeof pins->few / sizeof *pins->few;
    void *pinned = gs_pin(handle, kind);
    if (pinned == NULL)
        return false;
    if (pins->count >= few && pins->count >= pins->capacity && !grow_pins(pins)) {
        gs_object_drop(pinned);
        pins->is_full = true;
        return false;
    }
    (pins->all != NULL ? pins->all : pins->few)[pins->count++] = pinned;
    return true;
}

void gs_unpin_all(gs_pins *pins) {
    void **all = pins->all != NULL ? pins->all : pins->few;
    for (size_t each = 0; each < pins->count; each++)
        gs_object_drop(all[each]);
    free(pins->all);
}

/* The slab an object came from: its kind is gone once it is closed. */
static slab *slab_of(const gs_object *object) {
    uintptr_t distance;
    for (int kind = 0; kind < GS_KIND_COUNT; kind++)
        if (find_distance(&slabs[kind], object, &distance))
            return &slabs[kind];
    return NULL;
}

bool gs_object_close(void *closing) {
    gs_object *object = closing;
    uint32_t kind = atomic_exchange(&object->kind, GS_KIND_NONE);
    if (kind == GS_KIND_NONE)
        return false;
    slabs[kind & ~IN_THE_MAKING].live--;
    gs_object_drop(object);
    return true;
}

void gs_object_hold(void *held) { atomic_fetch_add(&((gs_object *)held)->references, 1); }

bool gs_object_try_hold(void *held) {
    _Atomic uint32_t *references = &((gs_object *)held)->references;
    uint32_t before = atomic_load(references);
    while (before > 0)
        if (atomic_compare_exchange_weak(references, &before, before + 1))
            return true;
    return false;
}

void gs_object_drop(void *dropped) {
    gs_object *object = dropped;
    if (atomic_fetch_sub(&object->references, 1) != 1)
        return;
    slab *of = slab_of(object);
    if (object->release != NULL)
        object->release(object);
    slot *freed = (slot *)object;
    freed->next_free = NULL;
    gs_lock(&of->lock);
    if (of->waiting++ == 0)
        of->oldest = freed;
    else
        of->newest->next_free = freed;
    of->newest = freed;
    gs_unlock(&of->lock);
}

void gs_object_complete(void *made, const void *context) {
    gs_object *object = made;
    atomic_store_explicit(&object->context, context, memory_order_relaxed);
    atomic_fetch_and_explicit(&object->kind, ~IN_THE_MAKING, memory_order_release);
}

void gs_object_each(enum gs_kind kind, const void *context, void (*visit)(void *object)) {
    slab *of = &slabs[kind];
    gs_lock(&of->lock);
    uint32_t used = of->used;
    gs_unlock(&of->lock);
    for (uint32_t index = 0; index < used; index++) {
        gs_object *found = &slot_at(of, index)->object;
        if (atomic_load_explicit(&found->context, memory_order_acquire) != context)
            continue;
        GS_PIN void *object = gs_pin(found, kind);
        if (object != NULL)
            visit(object);
    }
}

GS_EXPORT uint64_t gs_live_objects(int kind) {
    if (kind != GS_KIND_NONE)
        return kind > 0 && kind < GS_KIND_COUNT ? slabs[kind].live : 0;
    uint64_t all = 0;
    for (int each = 1; each < GS_KIND_COUNT; each++)
        all += slabs[each].live;
    return all;
}

/* A driver's handle is what a program asks for the sentence of an error with. */
void gs_objects_abandon(void) {
    for (int kind = 0; kind < GS_KIND_COUNT; kind++)
        if (kind != GS_KIND_DRIVER)
            slabs[kind].is_abandoned = true;
}

/* Another thread may have been about to replace what a counter-based event follows. */
void gs_events_after_fork(void) {
    slab *events = &slabs[GS_KIND_EVENT];
    for (uint32_t index = 0; index < events->used; index++)
        atomic_flag_clear(&((gs_event *)slot_at(events, index))->guard);
}

/* --- For objects whose contents live in Python ----------------------------------------------------- */

static enum gs_kind kind_named(const char *name) {
    for (int kind = GS_KIND_NONE + 1; kind < GS_KIND_COUNT; kind++)
        if (strcmp(gs_kind_names[kind], name) == 0)
            return kind;
    return GS_KIND_NONE;
}

GS_EXPORT void *gs_object_create(const char *kind_name) {
    enum gs_kind kind = kind_named(kind_name);
    void *object = kind != GS_KIND_NONE ? gs_object_new(kind, NULL) : NULL;
    if (object != NULL)
        gs_object_complete(object, NULL);
    return object;
}

GS_EXPORT bool gs_is_handle(const void *handle, const char *kind_name) {
    return gs_is_live(handle, kind_named(kind_name));
}

GS_EXPORT bool gs_object_end(void *object) { return gs_object_close(object); }
