/* What was submitted and is not done, and what it uses. */
#ifndef GS_CHECK_HOST_USE_H
#define GS_CHECK_HOST_USE_H

#include "runtime/queue.h"

/* Whether a command that was submitted and is not done uses some of this memory, as far as its arguments tell; writes which
 * one does. */
bool gs_host_find_use(const void *start, uint64_t size, char *text, size_t capacity);

/* Calls `visit` for each range of memory that a command names, until it answers true; says whether it did. `argument` is that
 * of a kernel, of whose memory only the start is known, or -1. */
typedef bool (*gs_host_visit_range)(const gs_command *command, const void *start, uint64_t size, int argument, void *with);
bool gs_host_each_range(const gs_command *command, gs_host_visit_range visit, void *with);

/* A command that is not done. One that runs command buffers comes twice, around what is in them. */
typedef enum gs_host_part { GS_HOST_WHOLE, GS_HOST_BEGINNING, GS_HOST_END } gs_host_part;
typedef struct gs_host_pending {
    gs_queue *queue;
    const gs_command *command;
    gs_host_part part;
    uint64_t base;   /* added to its step */
    bool has_passed; /* what it waits for has come; it runs */
} gs_host_pending;

/* Calls `visit` for each command of a queue that is not done, in their order, until it answers true; says whether it did.
 * Called with the queue locked. */
bool gs_host_each_pending(gs_queue *queue, bool (*visit)(const gs_host_pending *pending, void *with), void *with);

#endif
