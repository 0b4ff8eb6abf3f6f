/* CPU affinity of a device when the machine is divided among several: its CPUs, and the memory nodes near them. */
#ifndef GS_THREADS_AFFINITY_H
#define GS_THREADS_AFFINITY_H

#include <stdint.h>

/* NULL stands for the whole machine, which the operating system schedules better than we could. */
typedef struct gs_affinity gs_affinity;

/* Holds the calling thread to the CPUs of a device, and with it the threads that it starts from now on. Cheap if
 * it was there before. */
void gs_affinity_enter(const gs_affinity *affinity);

/* Asks for the pages of a block near those CPUs, or anywhere for NULL. A wish: memory that is full elsewhere is
 * used all the same. Does nothing on machines with one node. */
void gs_affinity_bind_memory(const gs_affinity *affinity, void *block, uint64_t span);

#endif
