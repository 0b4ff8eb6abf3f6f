/* The worker threads of a device: they share out the parts of one job. */
#ifndef GS_RUNTIME_THREAD_POOL_H
#define GS_RUNTIME_THREAD_POOL_H

#include <stdint.h>

#include "runtime/priority.h"
#include "runtime/schedule.h"

typedef struct gs_thread_pool gs_thread_pool;

typedef void (*gs_part)(void *job, uint64_t part);
typedef void (*gs_parts)(void *job, gs_taken taken);

/* A pool of `width` threads, the caller of gs_thread_pool_run counted in. Threads start on first use. */
gs_thread_pool *gs_thread_pool_new(uint32_t width);

/* Where some of its workers run, by their numbers; before any of them is started. */
struct gs_affinity;
void gs_thread_pool_place(gs_thread_pool *pool, uint32_t first, uint32_t count, const struct gs_affinity *affinity);

uint32_t gs_thread_pool_width(const gs_thread_pool *pool);
gs_scheduler *gs_thread_pool_scheduler(gs_thread_pool *pool);

/* Runs all numbers of a schedule, part by part, on the caller and on whichever workers are free; returns when all are done.
 * Several threads may run jobs at once; workers go to that of the highest priority. */
void gs_thread_pool_share(gs_thread_pool *pool, gs_parts run, void *job, gs_schedule *schedule);

/* Runs part(job, 0) to part(job, parts - 1) in the same way. */
void gs_thread_pool_run(gs_thread_pool *pool, gs_part part, void *job, uint64_t parts);

#endif
