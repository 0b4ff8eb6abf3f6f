/* The numbers were measured: a fault takes about 2.5 microseconds, and to compare a page about 0.1, twice for each
 * submission. */
#include <stdlib.h>
#include <string.h>

#include "capture/memory/shadows.h"

enum {
    SHADOW_LIMIT = 16 << 20, /* bytes in all shadows */
    MUCH = 8,                /* one page of so many is much */
    REWRITES = 3,
    CALM = 8,
};

static size_t shadowed; /* bytes */

bool gc_shadow_any(void) {
    return shadowed > 0;
}

static size_t size_of(const gc_range *range) {
    return range->end - range->begin;
}

/* Whether a page of the range is a page of another one as well, which has to be watched. */
static bool shares_pages(const gc_range *range) {
    size_t place = gc_ranges_after(range->begin);
    const gc_range *before = place > 0 ? gc_ranges[place - 1] : NULL;
    const gc_range *after = place + 1 < gc_range_count ? gc_ranges[place + 1] : NULL;
    return (before != NULL && before->end > gc_page_floor(range->begin)) ||
           (after != NULL && after->begin < gc_page_ceiling(range->end));
}

static void set_watched(gc_range *range, bool watched) {
    gc_ranges_count(range, -1);
    range->watched = watched;
    gc_ranges_count(range, 1);
}

static bool is_much(const gc_range *range, size_t pages) {
    return pages * MUCH >= gc_range_pages(range);
}

bool gc_shadow_is_due(gc_range *range, size_t pages) {
    return range->watched && !range->fresh && range->kind == GC_MEMORY_HOST && is_much(range, pages) &&
           ++range->rewrites >= REWRITES && size_of(range) <= SHADOW_LIMIT - shadowed && !shares_pages(range);
}

/* Other threads go on writing. What they write before the pages are looked at for the last time is told of, whether the
 * copy has it or not, and what they write later differs from the copy. */
void gc_shadow_begin(gc_range *range, gc_pages_found found) {
    uintptr_t begin = gc_page_floor(range->begin), end = gc_page_ceiling(range->end);
    range->shadow = malloc(size_of(range));
    if (range->shadow == NULL)
        return;
    memcpy(range->shadow, (const void *)range->begin, size_of(range));
    gc_pages_written(begin, end, found);
    gc_pages_unwatch(begin, end);
    set_watched(range, false);
    shadowed += size_of(range);
    range->calm = 0;
}

void gc_shadow_compare(gc_range *range, gc_pages_found found) {
    for (uintptr_t at = range->begin, end; at < range->end; at = end) {
        uintptr_t piece = at / GC_PAGE * GC_PAGE;
        end = piece + GC_PAGE < range->end ? piece + GC_PAGE : range->end;
        uint8_t *copy = range->shadow + (at - range->begin);
        if (memcmp(copy, (const void *)at, end - at) == 0)
            continue;
        memcpy(copy, (const void *)at, end - at);
        found(piece, piece + GC_PAGE);
    }
}

static void ignore(uintptr_t begin, uintptr_t end) {
    (void)begin, (void)end;
}

/* The pages are protected before they are compared for the last time, so that no write is lost in between. */
void gc_shadow_end(gc_range *range, gc_pages_found found) {
    uintptr_t begin = gc_page_floor(range->begin), end = gc_page_ceiling(range->end);
    bool is_watched = gc_pages_watch(begin, end);
    gc_pages_written(begin, end, ignore);
    gc_shadow_compare(range, found);
    set_watched(range, is_watched);
    gc_shadow_drop(range);
    range->rewrites = 0;
}

bool gc_shadow_is_calm(gc_range *range, size_t pages) {
    range->calm = is_much(range, pages) ? 0 : range->calm + 1;
    return range->calm >= CALM;
}

void gc_shadow_drop(gc_range *range) {
    if (range->shadow == NULL)
        return;
    shadowed -= size_of(range);
    free(range->shadow);
    range->shadow = NULL;
}
