/* Records of memory: `writes` and `results`. */
#ifndef GC_MEMORY_WRITES_H
#define GC_MEMORY_WRITES_H

#include "capture/recorder/record.h"

/* The flags of a record, asked for when its contents have been read: others may write until then. */
typedef uint32_t (*gc_writes_flags)(const gc_call *call);

/* Begins a record; there is one at a time, under the lock of tracking.c. With `contents` what it names is stored. */
void gc_writes_begin(uint32_t kind, const gc_call *call, gc_writes_flags flags, bool contents);
/* Adds memory, as far as it is there; without pages of zeros if they go without saying. */
void gc_writes_add(uintptr_t at, size_t size, bool skip_zeros);
void gc_writes_end(void);

#endif
