/* Memory that only a device reaches, used by what runs on the host: copies and fills of the CPU's queues, and words that
 * the driver writes for the program. */
#ifndef GS_MEMORY_CROSSING_H
#define GS_MEMORY_CROSSING_H

#include "runtime/command.h"

/* Copies bytes of the host to where they belong. False if that is memory of a device which fails. */
bool gs_write_anywhere(void *to, const void *from, uint64_t size);

/* Reads bytes from wherever they are. */
bool gs_read_anywhere(void *to, const void *from, uint64_t size);

/* Does a copy or a fill of the CPU if a part of its memory is a device's. False if none is: then it is left to the CPU. If
 * the device fails, the context of the command is lost. */
bool gs_command_cross(const gs_command *command);

#endif
