/* What the host wrote is what was written between the end of one submission and the beginning of the next one. */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/memory/tracking.h"
#include "capture/memory/ranges.h"
#include "capture/memory/shadows.h"
#include "capture/memory/threads.h"
#include "capture/memory/writes.h"
#include "capture/stream/journal.h"

enum { COMPARED_PAGES = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_on, kernel_tells, with_results;
static bool device_is_here; /* the device's writes are writes of this process */
static bool device_is_known;
static atomic_size_t tracked;
static gc_extents changed; /* pages that were found in the last look */
static bool uncertain;     /* some pages that have to be stored may be the device's */
static uint32_t flags;     /* of the record that is being made */

const char *gc_memory_open(const char *way, bool results) {
    bool is_given = way != NULL && way[0] != 0 && strcmp(way, "auto") != 0;
    if (is_given && strcmp(way, "none") == 0)
        return "none";
    is_on = true;
    with_results = results;
    kernel_tells = (!is_given || strcmp(way, "compare") != 0) && gc_pages_open();
    if (is_given && strcmp(way, "userfaultfd") == 0 && !kernel_tells)
        fprintf(stderr, "groundstate: this kernel cannot tell which pages were written (Linux 6.7 can, where userfaultfd "
                        "is allowed); all pages are compared instead, which is slower.\n");
    return kernel_tells ? "userfaultfd" : "compare";
}

void gc_memory_abandon(void) {
    is_on = false;
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; /* another thread of the parent may have held it */
    gc_pages_abandon();
    gc_threads_abandon();
}

/* --- Ranges ----------------------------------------------------------------------------------------------- */

static char driver_path[PATH_MAX];

static int is_own_driver(struct dl_phdr_info *library, size_t size, void *found) {
    (void)size;
    if (strstr(library->dlpi_name, "libze_groundstate") == NULL)
        return 0;
    snprintf(driver_path, sizeof driver_path, "%s", library->dlpi_name);
    return *(bool *)found = true;
}

/* Our driver's device is this process; the memory of others is elsewhere, or written behind the kernel's back. */
static void know_device(void) {
    if (!device_is_known)
        dl_iterate_phdr(is_own_driver, &device_is_here);
    device_is_known = true;
}

void *gc_memory_driver(void) {
    return device_is_here ? dlopen(driver_path, RTLD_NOW | RTLD_NOLOAD) : NULL;
}

static void update_tracked(void) {
    atomic_store(&tracked, gc_watched_count + gc_compared_count);
}

/* What a table still has where something new is was freed in a way that nobody saw. */
static void drop_overlapping(uintptr_t begin, uintptr_t end) {
    size_t place = gc_ranges_after(begin);
    while (place < gc_range_count && gc_ranges[place]->begin < end) {
        gc_range *old = gc_ranges[place];
        gc_ranges_remove(old);
        gc_range_free(old);
    }
}

void gc_memory_add(const void *at, size_t size, gc_memory_kind kind) {
    gc_range *range = is_on && at != NULL && size > 0 ? calloc(1, sizeof *range) : NULL;
    if (range == NULL)
        return;
    *range = (gc_range){.begin = (uintptr_t)at, .end = (uintptr_t)at + size, .kind = kind, .fresh = true};
    pthread_mutex_lock(&lock);
    know_device();
    drop_overlapping(range->begin, range->end);
    if (kernel_tells && (kind == GC_MEMORY_HOST || kind == GC_MEMORY_FILLED))
        range->watched = gc_pages_watch(gc_page_floor(range->begin), gc_page_ceiling(range->end));
    if (!gc_ranges_insert(range))
        gc_range_free(range);
    update_tracked();
    pthread_mutex_unlock(&lock);
}

/* Pages that move into a file under the same address are watched no more. */
void gc_memory_share(const void *at) {
    if (!is_on)
        return;
    pthread_mutex_lock(&lock);
    gc_range *range = gc_ranges_at((uintptr_t)at);
    if (range != NULL && range->kind != GC_MEMORY_DEVICE && range->kind != GC_MEMORY_FOREIGN) {
        gc_ranges_count(range, -1);
        range->kind = GC_MEMORY_FOREIGN;
        range->watched = false;
        gc_shadow_drop(range);
        gc_ranges_count(range, 1);
    }
    pthread_mutex_unlock(&lock);
}

void gc_memory_leave(gc_call *call, const void *at, size_t size) {
    call->taken_out = NULL;
    if (!is_on)
        return;
    pthread_mutex_lock(&lock);
    uintptr_t begin = (uintptr_t)at, end = begin + (size > 0 ? size : 1);
    for (size_t place = gc_ranges_after(begin); place < gc_range_count && gc_ranges[place]->begin < end;) {
        gc_range *range = gc_ranges[place];
        gc_ranges_remove(range);
        range->next = call->taken_out;
        call->taken_out = range;
    }
    update_tracked();
    pthread_mutex_unlock(&lock);
}

/* Others may have looked while the range was in no table, and found pages that belong to nothing. */
static void suspect_all(gc_range *range) {
    gc_range_suspect(range, gc_page_floor(range->begin), gc_page_ceiling(range->end));
    uncertain = uncertain || range->is_pending;
}

void gc_memory_left(gc_call *call, bool freed) {
    if (call->taken_out == NULL)
        return;
    pthread_mutex_lock(&lock);
    for (gc_range *range = call->taken_out, *next; range != NULL; range = next) {
        next = range->next;
        if (freed || !gc_ranges_insert(range))
            gc_range_free(range);
        else
            suspect_all(range);
    }
    call->taken_out = NULL;
    update_tracked();
    pthread_mutex_unlock(&lock);
}

/* --- Looking ---------------------------------------------------------------------------------------------- */

static void note_changed(uintptr_t begin, uintptr_t end) {
    gc_extents_add(&changed, begin, end - begin);
}

static void ignore(uintptr_t begin, uintptr_t end) {
    (void)begin, (void)end;
}

/* All that a new range has: pages with contents, or every page where those may be mapped elsewhere only. */
static void look_at_fresh(gc_range *range) {
    uintptr_t begin = gc_page_floor(range->begin), end = gc_page_ceiling(range->end);
    if (range->kind == GC_MEMORY_HOST) {
        gc_pages_present(begin, end, note_changed);
    } else {
        gc_pages_written(begin, end, ignore);
        note_changed(begin, end);
    }
}

/* Compares pages with what they were before: `there` bytes from the page at `at`, of `wanted` that it should have. */
static void compare_page(gc_range *range, uintptr_t at, const uint8_t *copy, size_t there, size_t wanted) {
    uint64_t mark = there >= wanted ? gc_page_mark(copy, wanted) : 0;
    uint64_t *before = range->marks != NULL ? &range->marks[(at - gc_page_floor(range->begin)) / GC_PAGE] : NULL;
    if (before == NULL || *before != mark)
        note_changed(at, at + GC_PAGE);
    if (before != NULL)
        *before = mark;
}

static void compare(gc_range *range) {
    static uint8_t buffer[COMPARED_PAGES * GC_PAGE];
    if (range->marks == NULL)
        range->marks = calloc(gc_range_pages(range), sizeof *range->marks);
    for (uintptr_t at = gc_page_floor(range->begin); at < range->end; at += sizeof buffer) {
        size_t wanted = gc_smaller(sizeof buffer, range->end - at);
        size_t there = gc_pages_read(buffer, at, wanted);
        for (size_t begin = 0; begin < wanted; begin += GC_PAGE) {
            size_t length = gc_smaller(GC_PAGE, wanted - begin);
            compare_page(range, at + begin, buffer + begin, there > begin ? there - begin : 0, length);
        }
    }
}

static void look_at(gc_range *range, bool new_ones) {
    if (range->kind == GC_MEMORY_DEVICE || (range->fresh && !new_ones))
        return;
    if (range->shadow != NULL)
        gc_shadow_compare(range, note_changed);
    else if (!range->watched)
        compare(range);
    else if (range->fresh)
        look_at_fresh(range);
}

/* Finds the pages that were written since the last look. New ranges wait for the look before a submission. */
static void look(bool new_ones) {
    changed.count = 0;
    if ((new_ones ? gc_fresh_count : 0) + gc_compared_count > 0)
        for (size_t each = 0; each < gc_range_count; each++)
            look_at(gc_ranges[each], new_ones);
    if (gc_watched_count > 0) {
        uintptr_t begin, end;
        gc_ranges_span(&begin, &end);
        gc_pages_written(begin, end, note_changed);
    }
}

/* Every range that has pages among those that were found. */
static void suspect_changed(void) {
    for (size_t each = 0; each < changed.count; each++) {
        uintptr_t begin = changed.all[each].at, end = begin + changed.all[each].size;
        for (size_t place = gc_ranges_after(begin); place < gc_range_count && gc_ranges[place]->begin < end; place++)
            gc_range_suspect(gc_ranges[place], begin, end);
    }
}

/* --- Storing ---------------------------------------------------------------------------------------------- */

static void store_pages(const gc_range *range, size_t page, size_t pages) {
    uintptr_t begin = gc_page_floor(range->begin) + page * GC_PAGE, end = begin + pages * GC_PAGE;
    begin = begin > range->begin ? begin : range->begin;
    end = end < range->end ? end : range->end;
    gc_writes_add(begin, end - begin, range->fresh);
}

static bool is_suspect(const gc_range *range, size_t page) {
    return range->pending == NULL || (range->pending[page / 64] >> page % 64 & 1) != 0;
}

static void store_range(gc_range *range) {
    size_t pages = gc_range_pages(range);
    for (size_t page = 0; page < pages;) {
        if (range->pending != NULL && range->pending[page / 64] == 0) {
            page = (page / 64 + 1) * 64;
            continue;
        }
        size_t begin = page;
        while (page < pages && is_suspect(range, page))
            page++;
        if (page > begin)
            store_pages(range, begin, page - begin);
        else
            page++;
    }
    if (range->pending != NULL)
        memset(range->pending, 0, (pages + 63) / 64 * sizeof *range->pending);
    range->is_pending = false;
}

static void store_suspects(void) {
    for (size_t each = 0; each < gc_range_count; each++) {
        gc_range *range = gc_ranges[each];
        if (range->is_pending)
            store_range(range);
        if (range->fresh && range->kind != GC_MEMORY_DEVICE) {
            range->fresh = false;
            gc_fresh_count--;
        }
    }
}

/* What of an extent is in no known range is the program's own memory. */
static void add_own_memory(const gc_extents *extents) {
    for (size_t each = 0; each < extents->count; each++) {
        uintptr_t at = extents->all[each].at, end = at + extents->all[each].size;
        while (at < end) {
            size_t place = gc_ranges_after(at);
            const gc_range *range = place < gc_range_count ? gc_ranges[place] : NULL;
            uintptr_t own_end = range != NULL && range->begin < end ? range->begin : end;
            if (own_end > at)
                gc_writes_add(at, own_end - at, false);
            at = range != NULL && range->end > own_end ? range->end : own_end;
        }
    }
}

static uint32_t flags_of_writes(const gc_call *call) {
    (void)call;
    return flags;
}

void gc_memory_before(gc_call *call, const gc_extents *reads, bool in_flight) {
    call->others.is_unknown = true; /* for the case that there is something to look at afterwards, and not yet */
    if (!is_on || (!with_results && reads->count == 0 && atomic_load(&tracked) == 0))
        return;
    pthread_mutex_lock(&lock);
    /* Asked before anything is looked at: a thread may write behind the look and be gone when the work has ended, but then
     * it is here now, or one that starts it. */
    if (with_results || atomic_load(&tracked) > 0)
        gc_threads_note(&call->others);
    look(true);
    bool any = changed.count > 0 || uncertain || gc_fresh_count > 0;
    suspect_changed();
    flags = (in_flight ? GC_WRITES_IN_FLIGHT : 0) | (uncertain ? GC_WRITES_MIXED : 0);
    gc_writes_begin(GC_WRITES, call, flags_of_writes, true);
    if (any)
        store_suspects();
    add_own_memory(reads);
    gc_writes_end();
    uncertain = in_flight;
    pthread_mutex_unlock(&lock);
}

/* --- The device's writes ---------------------------------------------------------------------------------- */

bool gc_memory_waits(void) {
    return is_on && (with_results || (atomic_load(&tracked) > 0 && (device_is_here || gc_compared_count > 0)));
}

/* Whether somebody besides the call's own work may have written what changed. Only the kernel that tells of pages is known to
 * count the time of threads exactly. */
static bool others_wrote(const gc_call *call) {
    if ((call->traits & GC_CALLS_HOST) != 0 || !gc_overlap_is_none(&call->overlap))
        return true;
    return kernel_tells ? gc_threads_ran(&call->others) : call->others.is_unknown || call->others.count > 0;
}

static uint32_t flags_of_results(const gc_call *call) {
    return flags | (others_wrote(call) ? GC_WRITES_MIXED : 0);
}

static void store_results(const gc_call *call, const gc_extents *targets) {
    gc_writes_begin(GC_RESULTS, call, flags_of_results, false);
    for (size_t each = 0; each < changed.count; each++) {
        uintptr_t begin = changed.all[each].at, end = begin + changed.all[each].size;
        for (size_t place = gc_ranges_after(begin); place < gc_range_count && gc_ranges[place]->begin < end; place++) {
            const gc_range *range = gc_ranges[place];
            uintptr_t from = begin > range->begin ? begin : range->begin, to = end < range->end ? end : range->end;
            if (range->kind != GC_MEMORY_DEVICE)
                gc_writes_add(from, to - from, false);
        }
    }
    add_own_memory(targets);
    gc_writes_end();
}

/* Counts the pages of each range that were found in the last look. */
static void count_written(void) {
    for (size_t each = 0; each < changed.count; each++) {
        uintptr_t begin = changed.all[each].at, end = begin + changed.all[each].size;
        for (size_t place = gc_ranges_after(begin); place < gc_range_count && gc_ranges[place]->begin < end; place++) {
            gc_range *range = gc_ranges[place];
            uintptr_t first = gc_page_floor(range->begin), last = gc_page_ceiling(range->end);
            range->written += ((last < end ? last : end) - (first > begin ? first : begin)) / GC_PAGE;
        }
    }
}

/* Begins or ends a shadow. What that finds was written after the last look, by the host perhaps. */
static void change_way(gc_range *range, void (*change)(gc_range *range, gc_pages_found found)) {
    changed.count = 0;
    change(range, note_changed);
    suspect_changed();
    uncertain = uncertain || changed.count > 0;
}

/* Memory that is still allocated goes with its context, and must not be read any more. */
void gc_memory_unmaking_context(void) {
    if (!is_on)
        return;
    pthread_mutex_lock(&lock);
    for (size_t each = 0; each < gc_range_count && gc_shadow_any(); each++)
        if (gc_ranges[each]->shadow != NULL)
            change_way(gc_ranges[each], gc_shadow_end);
    pthread_mutex_unlock(&lock);
}

/* Decides for each range how to find what is written there next. */
static void choose_ways(void) {
    if (changed.count == 0 && !gc_shadow_any())
        return;
    count_written();
    for (size_t each = 0; each < gc_range_count; each++) {
        gc_range *range = gc_ranges[each];
        if (range->shadow != NULL && gc_shadow_is_calm(range, range->written))
            change_way(range, gc_shadow_end);
        else if (range->written > 0 && gc_shadow_is_due(range, range->written))
            change_way(range, gc_shadow_begin);
        range->written = 0;
    }
}

/* Of the pages that were found in the last look, those that other processes may have written. */
static bool suspect_foreign(void) {
    bool any = false;
    for (size_t each = 0; each < changed.count; each++) {
        uintptr_t begin = changed.all[each].at, end = begin + changed.all[each].size;
        for (size_t place = gc_ranges_after(begin); place < gc_range_count && gc_ranges[place]->begin < end; place++)
            if (gc_ranges[place]->kind == GC_MEMORY_FOREIGN) {
                gc_range_suspect(gc_ranges[place], begin, end);
                any = true;
            }
    }
    return any;
}

void gc_memory_after(gc_call *call, const gc_extents *targets, gc_outcome outcome) {
    if (!gc_memory_waits())
        return;
    pthread_mutex_lock(&lock);
    look(false);
    bool mixed = outcome != GC_DONE || uncertain || (changed.count > 0 && others_wrote(call));
    if (mixed)
        suspect_changed();
    else
        mixed = suspect_foreign();
    uncertain = uncertain || mixed;
    flags = (outcome == GC_UNDER_WAY ? GC_WRITES_IN_FLIGHT : 0) | (mixed ? GC_WRITES_MIXED : 0);
    if (with_results)
        store_results(call, targets);
    if (device_is_here && kernel_tells)
        choose_ways();
    pthread_mutex_unlock(&lock);
}
