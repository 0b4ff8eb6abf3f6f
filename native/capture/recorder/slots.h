/* Where exported functions jump to: the next library, or the recorder that calls it. */
#ifndef GC_RECORDER_SLOTS_H
#define GC_RECORDER_SLOTS_H

#include "generated/functions.h"

typedef void (*gc_function)(void);

extern gc_function gc_slots[GS_FN_COUNT]; /* what an exported function jumps to */
/* A script may hook a function while other threads call it. */
#define GC_SLOT(function) __atomic_load_n(&gc_slots[function], __ATOMIC_RELAXED)

extern gc_function gc_next[GS_FN_COUNT]; /* the next library's function, or one that says it is missing */

/* What a function answers that the next library does not have. */
enum gc_absence { GC_UNSUPPORTED, GC_NOTHING, GC_ALL_ONES };
extern const enum gc_absence gc_absences[GS_FN_COUNT];

extern const char gc_namespaces[GS_FN_COUNT]; /* e, s, t or r: ze, zes, zet, zer */
extern const char gc_api_version[];

extern gc_function gc_loader_slots[];
extern const char *const gc_loader_names[];

void gc_recorders_ze(gc_function *recorders);
void gc_recorders_zes(gc_function *recorders);
void gc_recorders_zet(gc_function *recorders);
void gc_recorders_zer(gc_function *recorders);

/* A loader's own functions have at most six parameters, all of them integers or pointers, so that this
 * passes on every one of them as it came. */
typedef uintptr_t (*gc_six)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
#define GC_FORWARD(name, place)                                                                               \
    GS_PUBLIC uintptr_t name(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);               \
    uintptr_t name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f)              \
    {                                                                                                         \
        return ((gc_six)gc_loader_slots[place])(a, b, c, d, e, f);                                            \
    }

#endif
