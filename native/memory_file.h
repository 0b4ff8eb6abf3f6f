/* Memory files: what is shared with other processes lies in one. */
#ifndef GS_MEMORY_FILE_H
#define GS_MEMORY_FILE_H

#include <stdint.h>

/* A file without a name that has `size` bytes and keeps them: nobody who opens it can shrink it under those who
 * have mapped it. Its descriptor, or -1. */
int gs_memory_file(uint64_t size);

#endif
