/* Mutable command lists: commands with a name, by which they can be changed after the list was closed. */
#ifndef GS_OBJECTS_MUTABLE_H
#define GS_OBJECTS_MUTABLE_H

#include "objects/list.h"

typedef struct gs_mutable {
    struct gs_mutable *next; /* in the command buffer */
    uint64_t id;             /* never used again */
    ze_mutable_command_exp_flags_t flags;
    gs_command *command; /* NULL: still to be appended */
    uint32_t wait_count; /* events that it was appended with */
    uint32_t *events;    /* the kinds of those, and of the one to signal; NULL: they are still the same */
    bool changed;        /* its launch is to be captured anew when the list is closed */
    uint32_t kernel_count;
    struct gs_kernel *kernels[]; /* that it may launch; held */
} gs_mutable;

/* Gives the name that was asked for, if any, to the command that was appended. */
void gs_mutable_bind(gs_command_buffer *buffer, gs_command *command);

/* Captures what was changed, before the list runs again. */
ze_result_t gs_mutable_apply(gs_list *list);

/* Gives a clone the names of the original's commands, which come in the same order. False if memory ran out. */
bool gs_mutable_copy(gs_command_buffer *clone, const gs_command_buffer *original);

void gs_mutable_free(gs_mutable *first);

#endif
