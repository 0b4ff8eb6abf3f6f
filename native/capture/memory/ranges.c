/* A sorted array: allocations are made less often than work is submitted. */
#include <stdlib.h>
#include <string.h>

#include "capture/memory/ranges.h"
#include "capture/memory/shadows.h"

gc_range **gc_ranges;
size_t gc_range_count;
size_t gc_fresh_count, gc_compared_count, gc_watched_count;

static size_t capacity;
static bool span_is_known;
static uintptr_t span_begin, span_end;

size_t gc_ranges_after(uintptr_t at) {
    size_t low = 0, high = gc_range_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (gc_ranges[middle]->end > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

gc_range *gc_ranges_at(uintptr_t at) {
    size_t place = gc_ranges_after(at);
    return place < gc_range_count && gc_ranges[place]->begin <= at ? gc_ranges[place] : NULL;
}

void gc_ranges_count(const gc_range *range, int one) {
    span_is_known = false;
    if (range->kind == GC_MEMORY_DEVICE)
        return;
    if (range->fresh)
        gc_fresh_count += (size_t)one;
    if (range->watched)
        gc_watched_count += (size_t)one;
    else
        gc_compared_count += (size_t)one;
}

bool gc_ranges_insert(gc_range *range) {
    if (gc_range_count == capacity) {
        size_t more = capacity * 2 + 64;
        gc_range **all = realloc(gc_ranges, more * sizeof *all);
        if (all == NULL)
            return false;
        gc_ranges = all;
        capacity = more;
    }
    size_t place = gc_ranges_after(range->begin);
    memmove(gc_ranges + place + 1, gc_ranges + place, (gc_range_count - place) * sizeof *gc_ranges);
    gc_ranges[place] = range;
    gc_range_count++;
    gc_ranges_count(range, 1);
    return true;
}

void gc_ranges_remove(gc_range *range) {
    size_t place = gc_ranges_after(range->begin);
    while (place < gc_range_count && gc_ranges[place] != range)
        place++;
    if (place == gc_range_count)
        return;
    gc_range_count--;
    memmove(gc_ranges + place, gc_ranges + place + 1, (gc_range_count - place) * sizeof *gc_ranges);
    gc_ranges_count(range, -1);
}

void gc_ranges_span(uintptr_t *begin, uintptr_t *end) {
    if (!span_is_known) {
        span_begin = UINTPTR_MAX;
        span_end = 0;
        for (size_t each = 0; each < gc_range_count; each++)
            if (gc_ranges[each]->watched) {
                if (span_end == 0)
                    span_begin = gc_page_floor(gc_ranges[each]->begin);
                span_end = gc_page_ceiling(gc_ranges[each]->end);
            }
        span_is_known = true;
    }
    *begin = span_begin;
    *end = span_end;
}

void gc_range_free(gc_range *range) {
    gc_shadow_drop(range);
    free(range->marks);
    free(range->pending);
    free(range);
}

void gc_range_suspect(gc_range *range, uintptr_t begin, uintptr_t end) {
    uintptr_t first = gc_page_floor(range->begin);
    begin = begin > first ? begin : first;
    end = end < gc_page_ceiling(range->end) ? end : gc_page_ceiling(range->end);
    if (begin >= end || range->kind == GC_MEMORY_DEVICE)
        return;
    range->is_pending = true;
    if (range->pending == NULL)
        range->pending = calloc((gc_range_pages(range) + 63) / 64, sizeof *range->pending);
    if (range->pending == NULL)
        return;
    for (size_t page = (begin - first) / GC_PAGE; page < (end - first) / GC_PAGE; page++)
        range->pending[page / 64] |= UINT64_C(1) << page % 64;
}
