/* Freed memory, which is not handed out again for a while, so that its use is recognised. */
#ifndef GS_CHECK_QUARANTINE_H
#define GS_CHECK_QUARANTINE_H

#include "memory/memory.h"

/* Notes an allocation that the program has just freed, by the call that a host stack tells. With `waits`, work that was
 * submitted before may use it until it is released. */
void gs_quarantine_note(const gs_allocation *allocation, const gs_host_stack *freed_by, bool waits);
void gs_quarantine_release(const gs_allocation *allocation);

/* Keeps the pages of a freed allocation, empty. False: they may be used again. */
bool gs_quarantine_hold(const gs_allocation *allocation);

/* Whether an address lies in freed memory whose pages are kept, so that nobody else can have it. */
bool gs_quarantine_holds(const void *address);

/* Describes the freed memory that an address lies in, if it lies in any. */
bool gs_quarantine_find(uint64_t address, gs_memory_facts *facts);

/* The bounds of the memory at an address that waits for work that uses it, if it does. */
bool gs_quarantine_waits(uint64_t address, gs_bounds *bounds);

/* All freed memory, unordered: how much there is, and as much of it as there is room for. */
size_t gs_quarantine_list(gs_bounds *into, size_t capacity);

#endif
