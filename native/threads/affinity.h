/* Where a device is when the machine is divided among several: its CPUs, and the memory nodes near them. */
#ifndef GS_PLACE_H
#define GS_PLACE_H

#include <stdint.h>

/* NULL stands for the whole machine, which the operating system schedules better than we could. */
typedef struct gs_place gs_place;

/* Holds the calling thread to the CPUs of a place, and with it the threads that it starts from now on. Cheap if
 * it was there before. */
void gs_place_enter(const gs_place *place);

/* Asks for the pages of a block near a place, or anywhere for NULL. A wish: memory that is full elsewhere is
 * used all the same. Does nothing on machines with one node. */
void gs_place_memory(const gs_place *place, void *block, uint64_t span);

#endif
