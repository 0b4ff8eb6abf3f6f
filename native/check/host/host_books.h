/* What the checker `host` knows of each object and each allocation, dead ones too. */
#ifndef GS_CHECK_HOST_BOOKS_H
#define GS_CHECK_HOST_BOOKS_H

#include "check/host/host.h"
#include "check/host_stack.h"

typedef struct gs_host_record {
    struct gs_host_record *next; /* in its bucket */
    const void *handle;          /* or where the memory starts */
    enum gs_kind kind;           /* GS_KIND_NONE: memory */
    uint64_t size;               /* of memory */
    const void *parent;
    uint64_t number; /* in the order in which they were made; never used again */
    bool is_live;
    gs_host_call made, ended;
    /* Events and fences. */
    gs_host_call given;       /* the last command, or submission, that was to signal it */
    const void *given_to;     /* the list of that command */
    uint64_t given_number;    /* of that list, */
    uint64_t given_recording; /* and which of its recordings */
    uint64_t signals;
    gs_host_call reset;
    bool was_reset; /* since it was signalled */
    /* Lists. */
    uint64_t recording; /* how often it was reset */
    uint64_t runs;      /* of what is recorded now */
    gs_host_call emptied;
    bool is_closed, is_immediate;
    const void *queue; /* on which it was executed last */
} gs_host_record;

void gs_host_books_enter(const gs_host_record *made);

/* Copies what is known of a handle or the start of memory; false if that is nothing. */
bool gs_host_books_find(const void *handle, gs_host_record *found);

/* The same for memory that was freed and contained an address. */
bool gs_host_books_find_freed(const void *address, gs_host_record *found);

/* Something that is made of `parent` and still there. */
bool gs_host_books_find_child(const void *parent, enum gs_kind kind, gs_host_record *found);

/* Changes a record under the lock of the books, which `change` does not leave. */
void gs_host_books_change(const void *handle, void (*change)(gs_host_record *record, void *with), void *with);

/* Calls `visit` with a copy of each live record, in no order. No lock is held meanwhile. */
void gs_host_books_each_live(void (*visit)(const gs_host_record *record, void *with), void *with);

#endif
