/* Launches: what an append function captures of a kernel, and running it. */
#ifndef GS_RUNTIME_LAUNCH_H
#define GS_RUNTIME_LAUNCH_H

#include "objects/kernel.h"

struct gs_list;

typedef struct gs_launch {
    struct gs_launch *next; /* launched after this one, by the same command */
    gs_module *module;      /* held: it owns the code and the variables */
    gs_code *code;
    gs_dispatch dispatch; /* complete but for what is known only when it runs */
    const ze_group_count_t *indirect_counts; /* where the group counts will be read, or NULL */
    const uint32_t *indirect_number; /* where it will be read how many of a command's launches run, or NULL */
    uint32_t index;                  /* of this one among them */
    bool cooperative;
    gs_kernel *kernel; /* on a mutable list: a copy of what was launched, else NULL */
    uint64_t block_bytes;
    char block[]; /* the arguments, and the sizes of those that are local memory */
} gs_launch;

/* Runs a launch and those after it, on the device's CPUs; returns when all have ended. */
void gs_launch_perform(const gs_launch *launch, gs_device *device);

/* True if the launch is sure to end soon, whatever anybody else does or does not do. */
bool gs_launch_is_short(const gs_launch *launch);

/* "kernel 'add'", for sentences. */
void gs_launch_describe(const gs_launch *launch, char *text, size_t capacity);

/* For a command of a mutable list: other group counts, or what was changed in its copy of the kernel. */
ze_result_t gs_launch_set_counts(enum gs_function function, const struct gs_list *list, gs_launch *launch,
                                 const ze_group_count_t *counts);
ze_result_t gs_launch_renew(enum gs_function function, const struct gs_list *list, gs_launch **launch);

/* A copy with all launches after it, or NULL if memory ran out. */
gs_launch *gs_launch_copy(const gs_launch *launch);
void gs_launch_free(gs_launch *launch);

#endif
