/* Records of memory: `writes` and `results`. */
#ifndef GC_WRITES_H
#define GC_WRITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GC_WRITES_IN_FLIGHT = 1, GC_WRITES_MIXED = 2 };

/* Begins a record; there is one at a time, under the lock of memory.c. With `contents` what it names is stored. */
void gc_writes_begin(uint32_t kind, uint32_t thread, uint32_t flags, bool contents);
/* Adds memory, as far as it is there; without pages of zeros if they go without saying. */
void gc_writes_add(uintptr_t at, size_t size, bool skip_zeros);
void gc_writes_end(void);

#endif
