/* Memory files: what is shared with other processes lies in one. */
#ifndef GS_MEMORY_MEMORY_FILE_H
#define GS_MEMORY_MEMORY_FILE_H

#include <stdint.h>

/* A file in no folder that has `size` bytes and keeps them: nobody who opens it can shrink it under those who have
 * mapped it. Its descriptor, or -1. */
int gs_memory_file_named(const char *name, uint64_t size);

/* The same for what IPC handles lead to. A secret in its name, which only processes of the same user can read, tells
 * a handle of ours from a forged one (driver/ipc.py). */
int gs_memory_file(uint64_t size);

/* The same with contents that nobody can change: what leads to memory that is in no file. */
int gs_memory_note(const void *contents, uint64_t size);

#endif
