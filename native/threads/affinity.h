/* CPU affinity: the CPUs of a device, and the memory nodes near them, when the machine is divided among several; and the CPUs
 * of each worker of a device that has several memory nodes. */
#ifndef GS_THREADS_AFFINITY_H
#define GS_THREADS_AFFINITY_H

#include <stdbool.h>
#include <stdint.h>

/* NULL stands for the whole machine, which the operating system schedules better than we could. */
typedef struct gs_affinity gs_affinity;

/* Holds the calling thread to the CPUs of a device, and with it the threads that it starts from now on. Cheap if
 * it was there before. */
void gs_affinity_enter(const gs_affinity *affinity);

/* So many CPUs by their numbers; NULL if memory ran out or none is valid. It lives as long as the process. */
const gs_affinity *gs_affinity_new(const uint32_t *cpus, uint32_t cpu_count);

/* Asks for the pages of a block near those CPUs, or for NULL where they are touched first. Workers have the same part of a
 * block in each command, so that this is near those who need them; but what the host touches first would all be on one node,
 * and is spread over all of them. A wish: memory that is full elsewhere is used all the same. Does nothing on machines with
 * one node. */
void gs_affinity_bind_memory(const gs_affinity *affinity, void *block, uint64_t span, bool host_touches);

#endif
