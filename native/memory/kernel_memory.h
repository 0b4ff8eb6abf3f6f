/* The memory that compiled code has for itself while it runs: local memory of the group, private memory of its
 * work-items, and what sub-groups save at barriers. Each lies between pages that nobody may touch, so that an index
 * which is out of bounds is a fault and not a write into the process. */
#ifndef GS_MEMORY_KERNEL_MEMORY_H
#define GS_MEMORY_KERNEL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "generated/shared.h"

/* The local memory of the calling thread, with its header before it, or NULL if there is no memory. What an earlier
 * kernel left in it stays. `local` is a multiple of GS_LOCAL_ALIGNMENT; `private` is one of what it must be aligned to. */
char *gs_kernel_memory(uint64_t local, uint64_t private, uint64_t saved);

/* The same in one of GS_LOCAL_SLOTS places, which groups of checked launches take in turn: a pointer into the local
 * memory of a group that has ended then leads to no memory of the present one. */
enum { GS_LOCAL_SLOTS = 16 };
char *gs_kernel_memory_slot(uint64_t local, uint64_t private, uint64_t saved, uint32_t slot);

/* Whether an address lies in the local memory of a thread, whichever. Takes no lock. */
bool gs_is_local_memory(uint64_t address);

/* Which memory of the calling thread an address is in, or in whose guard. */
typedef enum gs_own_memory { GS_NOT_OWN, GS_OWN_LOCAL, GS_OWN_PRIVATE } gs_own_memory;
gs_own_memory gs_kernel_memory_kind(const void *address);

/* If an address is in a guard of the calling thread's memory, says where: "24 bytes behind local memory". */
bool gs_kernel_memory_describe(const void *address, char *text, size_t capacity);

static inline gs_memory_header *gs_header_of(char *local) { return (gs_memory_header *)local - 1; }

#endif
