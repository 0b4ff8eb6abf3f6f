/* Launches that a debugger executes (docs/internals/debugging.md). */
#ifndef GS_RUNTIME_DEBUGGING_H
#define GS_RUNTIME_DEBUGGING_H

#include "objects/kernel.h"

/* Whether launches are shown to the debugger before they run: GROUNDSTATE_DEBUG. */
extern _Atomic bool gs_launches_are_debugged;

/* Lets the debugger execute groups from `next` on. It leaves in `stepped` the first one that it did not, and in `next` the
 * first one that it wants to be asked about again; compiled code runs those between. If it cannot be asked, that is all
 * that are left. Defined in python/handlers.c. */
void gs_debug_launch(const gs_code *code, gs_debugged_groups *groups);

/* Whether Python is told of queues: ZET_ENABLE_PROGRAM_DEBUGGING. */
extern _Atomic bool gs_queues_are_watched;

/* A program has opened a queue, or is about to close it. Defined in python/handlers.c. */
void gs_tell_of_queue(const gs_device *device, bool opened);

#endif
