/* External semaphores: counters of the system (eventfd) that other programs signal and wait for as well. */
#ifndef GS_OBJECTS_EXTERNAL_SEMAPHORE_H
#define GS_OBJECTS_EXTERNAL_SEMAPHORE_H

#include "runtime/command.h"

typedef struct gs_semaphore {
    gs_object object;
    int fd;                   /* the driver's own descriptor of the eventfd */
    _Atomic uint32_t pending; /* submitted commands that still refer to it */
} gs_semaphore;

/* Does what a command has to do with its semaphores, if it has any; false if the context was lost meanwhile. It
 * may take for ever, so it is done outside the gate that holds commands back while memory changes. */
bool gs_semaphores_pass(const gs_command *command, const gs_context *context);

/* True if a command may have to wait for a semaphore. */
static inline bool gs_command_has_semaphores(const gs_command *command) {
    return command->operation == GS_WAIT_SEMAPHORES || command->operation == GS_SIGNAL_SEMAPHORES;
}

/* Counts a submitted command in or out. */
void gs_semaphores_mark(const gs_command *command, int32_t change);

/* Gives up what a command holds of semaphores; it may be done again. */
void gs_semaphores_drop(gs_command *command);

#endif
