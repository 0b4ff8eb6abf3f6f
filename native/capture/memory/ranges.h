/* The table of memory that is known: allocations, mappings and imports, in the order of their addresses. */
#ifndef GC_MEMORY_RANGES_H
#define GC_MEMORY_RANGES_H

#include "capture/memory/pages.h"
#include "capture/memory/tracking.h"
#include "memory/page.h"

/* Memory in a row. Its pages are numbered from the one that it begins in. */
typedef struct gc_range {
    uintptr_t begin, end;
    gc_memory_kind kind;
    bool watched;      /* the kernel tells what was written; otherwise contents are compared */
    bool fresh;        /* nothing of it is in the stream: what is not stored is zeros */
    uint8_t *shadow;   /* a copy, if the device writes so much of it that comparing is faster than to be told; shadows.h */
    size_t written;    /* pages, by the last submission */
    int rewrites;      /* how many submissions have written much of it */
    int calm;          /* how many in a row have not, since there is a shadow */
    uint64_t *marks;   /* of each page when it was compared last; 0: never */
    uint64_t *pending; /* a bit for each page that the stream does not have as it is */
    bool is_pending;
    struct gc_range *next; /* of those that a call takes out */
} gc_range;

extern gc_range **gc_ranges; /* all of them */
extern size_t gc_range_count;
extern size_t gc_fresh_count, gc_compared_count, gc_watched_count;

/* The table is changed and used with the lock of tracking.c held. */
bool gc_ranges_insert(gc_range *range);
void gc_ranges_remove(gc_range *range);
/* The place in the table of the first range that ends behind an address. */
size_t gc_ranges_after(uintptr_t at);
gc_range *gc_ranges_at(uintptr_t at);
/* Counts a range in or out; before and after its kind of attention changes. */
void gc_ranges_count(const gc_range *range, int one);
/* From the first to the last byte that is watched. */
void gc_ranges_span(uintptr_t *begin, uintptr_t *end);
void gc_range_free(gc_range *range);

/* Whole pages of the system, as the kernel watches no less. */
static inline uintptr_t gc_page_floor(uintptr_t at) { return gs_page_start(at); }
static inline uintptr_t gc_page_ceiling(uintptr_t at) { return gs_whole_pages(at); }

static inline size_t gc_range_pages(const gc_range *range) {
    return (gc_page_ceiling(range->end) - gc_page_floor(range->begin)) / GC_PAGE;
}

/* Marks pages as ones that have to be stored. Without memory for the marks the whole range is stored. */
void gc_range_suspect(gc_range *range, uintptr_t begin, uintptr_t end);

#endif
