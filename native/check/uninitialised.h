/* Uninitialised memory: what is known of memory besides what kernels do to it (docs/internals/checking-uninitialised.md). */
#ifndef GS_CHECK_UNINITIALISED_H
#define GS_CHECK_UNINITIALISED_H

#include "memory/memory.h"
#include "objects/kernel.h"
#include "runtime/command.h"

/* For gs_dispatch, when a launch begins and when it has ended; NULL: there is no memory for it. */
const gs_shadow_checks *gs_shadow_checks_begin(const gs_dispatch *dispatch, const gs_code *code);
void gs_shadow_checks_end(const gs_shadow_checks *checks);

/* New memory is uninitialised; that of host and shared memory begins with a pattern, by which it is seen later whether the
 * host has written there. Nothing is noted unless the checker is on. */
void gs_uninitialised_allocate(const gs_allocation *allocation);

/* Memory that goes, or that others may write from now on. */
void gs_uninitialised_forget(const void *start, uint64_t bytes);

/* A command has been done that writes memory. */
void gs_uninitialised_command(const gs_command *command);

/* driver/checking/uninitialised_findings.py, through python/handlers.c: a copy to memory that the host reads brings what
 * is not initialised, or nothing else. */
void gs_report_unwritten_copy(const char *source, uint64_t bytes, bool is_all, const gs_host_stack *appended_by);

#endif
