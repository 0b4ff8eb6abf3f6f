/* Handles. Every object of the API is a slot in a slab of its kind, so that any bit pattern can be told
 * from a live handle by arithmetic alone, and a freed slot is not handed out again soon. */
#ifndef GS_OBJECTS_OBJECT_H
#define GS_OBJECTS_OBJECT_H

#include <stdatomic.h>

#include "abi/abi.h"

typedef struct gs_object {
    ze_handle_t tables;         /* the driver-DDI handles extension: must come first */
    _Atomic uint32_t kind;      /* enum gs_kind while the handle is live, GS_KIND_NONE after */
    _Atomic uint32_t references; /* 1 for the handle itself, 1 for each object that needs this one */
    void (*release)(struct gs_object *object); /* runs when the last reference goes, may be NULL */
    _Atomic(const void *) context; /* what it was made in; NULL while it is in the making */
} gs_object;

/* The size of a slot, a power of two. The largest object must fit; list.c checks. Locks are larger on AArch64. */
#ifdef __aarch64__
#define GS_SLOT_SIZE 1024
#else
#define GS_SLOT_SIZE 512
#endif

/* A zeroed object with one reference, or NULL if memory ran out. It is no handle before gs_object_complete. */
void *gs_object_new(enum gs_kind kind, void (*release)(gs_object *));

/* Ends the handle: gs_is_live is false from here on. False if it was no longer live (a second destroy). */
bool gs_object_close(void *object);

void gs_object_hold(void *object);

/* Like hold, but false if the last reference is gone already and the object about to be released. */
bool gs_object_try_hold(void *object);
void gs_object_drop(void *object);

/* Says that an object is whole: from here on its handle is live, and gs_object_each finds it if it has a context. The
 * last step of making it. */
void gs_object_complete(void *object, const void *context);

/* Calls `visit` with each live object of a kind that was made in a context; it may close the object. */
void gs_object_each(enum gs_kind kind, const void *context, void (*visit)(void *object));

/* gs_object_close, for the Python half and the tests in C. */
bool gs_object_end(void *object);

/* How many handles of a kind are live, or of all kinds for GS_KIND_NONE. */
uint64_t gs_live_objects(int kind);

#endif
