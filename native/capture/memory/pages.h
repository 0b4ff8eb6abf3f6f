/* Which pages of memory were written since somebody looked, and memory that may not be there. */
#ifndef GC_MEMORY_PAGES_H
#define GC_MEMORY_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/generated/stream_format.h" /* GC_PAGE; the system's pages are as large, or hold several */

/* Told of pages in a row. */
typedef void (*gc_pages_found)(uintptr_t begin, uintptr_t end);

/* Whether the kernel can tell which pages were written: userfaultfd with asynchronous write protection. */
bool gc_pages_open(void);
/* Gives up what `gc_pages_open` opened, in a process that was forked. */
void gc_pages_abandon(void);

/* Begins to watch pages. False for memory that cannot be watched, such as the pages of a file on disk. */
bool gc_pages_watch(uintptr_t begin, uintptr_t end);
void gc_pages_unwatch(uintptr_t begin, uintptr_t end);

/* Tells of all watched pages from `begin` to `end` that were written since the last look, and forgets that they were.
 * Memory in between that is not watched is left out. */
void gc_pages_written(uintptr_t begin, uintptr_t end, gc_pages_found found);
/* The same for all pages that have contents at all, written or not. */
void gc_pages_present(uintptr_t begin, uintptr_t end, gc_pages_found found);

/* Copies memory that may not be there, or may go away meanwhile; how many bytes there were. */
size_t gc_pages_read(void *to, uintptr_t from, size_t size);

/* A number that tells contents of a page apart; never 0. */
uint64_t gc_page_mark(const uint8_t *page, size_t size);

#endif
