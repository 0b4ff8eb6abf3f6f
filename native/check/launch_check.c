#include "check/launch_check.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check/single_groups.h"
#include "check/checks.h"
#include "check/group_checks.h"
#include "check/order/records.h"
#include "check/quarantine.h"
#include "check/uninitialised.h"
#include "faults/lost_context.h"
#include "images/image.h"
#include "memory/kernel_memory.h"
#include "memory/memory.h"

/* --- Memory that kernels may use ---------------------------------------------------------------------- */

/* All memory that the program has allocated, as it is when a launch begins. */
typedef struct known_memory {
    size_t count, freed_count;
    const gs_bounds *exact, *spans, *freed;
    gs_bounds all[];
} known_memory;

static known_memory *list_memory(void) {
    size_t room = gs_memory_list(NULL, NULL, 0) + 64, freed_room = gs_quarantine_list(NULL, 0) + 64;
    known_memory *known = malloc(sizeof *known + (2 * room + freed_room) * sizeof *known->all);
    if (known == NULL)
        return NULL;
    gs_bounds *exact = known->all, *spans = exact + room, *freed = spans + room;
    known->count = gs_memory_list(exact, spans, room);
    known->freed_count = gs_quarantine_list(freed, freed_room);
    known->exact = exact;
    known->spans = spans;
    known->freed = freed;
    if (known->count <= room && known->freed_count <= freed_room)
        return known;
    free(known); /* others allocate at the same time: then it is looked at again */
    return list_memory();
}

/* The number of the allocation whose pages an address lies in, or -1. */
static long find(const known_memory *known, uint64_t address) {
    size_t low = 0, high = known->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (address < known->spans[middle].lower)
            high = middle;
        else if (address >= known->spans[middle].upper)
            low = middle + 1;
        else
            return (long)middle;
    }
    return -1;
}

static const uint64_t NULL_PAGE = 4096;

static bool is_freed(const known_memory *known, uint64_t address) {
    for (size_t each = 0; each < known->freed_count; each++)
        if (address >= known->freed[each].lower && address < known->freed[each].upper)
            return true;
    return false;
}

static bool is_mapped(uint64_t address) {
    const uint64_t page = gs_page_size();
    return msync((void *)(uintptr_t)(address / page * page), page, MS_ASYNC) == 0;
}

/* The same for what kernels access again and again: a page that once was there is taken to be there still. */
static bool is_there(uint64_t address) {
    enum { PAGES = 64 };
    static _Atomic uint64_t there[PAGES];
    uint64_t page = address / gs_page_size();
    if (atomic_load_explicit(&there[page % PAGES], memory_order_relaxed) == page)
        return true;
    if (!is_mapped(address))
        return false;
    atomic_store_explicit(&there[page % PAGES], page, memory_order_relaxed);
    return true;
}

/* What is not ours may be the program's own memory. */
static uint64_t allows(const gs_dispatch *dispatch, uint64_t root, uint64_t address, uint64_t bytes) {
    const known_memory *known = dispatch->memory;
    if (address < NULL_PAGE)
        return false;
    if (known == NULL)
        return true;
    if (gs_is_local_memory(address))
        return address >= gs_local_here.lower && address + bytes <= gs_local_here.upper;
    long at = find(known, address);
    if (at >= 0)
        return address + bytes <= known->exact[at].upper;
    if (root < NULL_PAGE && !is_mapped(address))
        return false; /* a null pointer, and an index */
    return find(known, root) < 0 && !is_freed(known, address) && is_there(address) && is_there(address + bytes - 1);
}

/* The bounds of what a pointer that the program passed may lead to. */
static gs_bounds bounds_of(uint64_t pointer) {
    gs_bounds bounds = {0, 0};
    gs_memory_facts freed;
    if (pointer < NULL_PAGE || gs_memory_bounds(pointer, &bounds) || gs_quarantine_waits(pointer, &bounds))
        return bounds;
    if (gs_quarantine_find(pointer, &freed) || gs_memory_bounds(pointer - 1, &bounds) || !is_mapped(pointer))
        return bounds; /* freed, or the end of an allocation, or nothing */
    return (gs_bounds){NULL_PAGE, INT64_MAX}; /* the program's own memory */
}

static gs_bounds *bounds_of_arguments(const gs_launch *launch) {
    const gs_entry_point *entry_point = launch->code->entry_point;
    gs_bounds *bounds = calloc(entry_point->argument_count + 1, sizeof *bounds);
    const char *local_size = launch->block + entry_point->block_bytes;
    for (uint32_t each = 0; bounds != NULL && each < entry_point->argument_count; each++) {
        const gs_argument *argument = &entry_point->arguments[each];
        uint64_t word = 0;
        if (argument->kind == GS_ARGUMENT_LOCAL) {
            memcpy(&bounds[each].upper, local_size, sizeof bounds[each].upper);
            local_size += sizeof bounds[each].upper;
        } else if (argument->kind == GS_ARGUMENT_POINTER) {
            memcpy(&word, launch->block + argument->offset, sizeof word);
            bounds[each] = bounds_of(word);
        } else if (argument->kind == GS_ARGUMENT_IMAGE) {
            memcpy(&word, launch->block + argument->offset, sizeof word);
            bounds[each] = gs_image_bounds((const gs_image_view *)(uintptr_t)word);
        }
    }
    return bounds;
}

/* --- Launches ----------------------------------------------------------------------------------------- */

static size_t report_bytes(const gs_code *code) { return code->site_count * sizeof(gs_site_reports); }

static bool has_reports(const gs_dispatch *dispatch, const gs_code *code) {
    for (uint32_t site = 0; dispatch->reports != NULL && site < code->site_count; site++)
        if (dispatch->reports[site].count > 0)
            return true;
    return false;
}

void gs_launch_check_end(gs_dispatch *dispatch, const gs_launch *launch) {
    const gs_code *code = launch->code;
    if (has_reports(dispatch, code)) {
        const gs_launch_reports reports = {dispatch->reports, code->site_count, dispatch};
        if (gs_report_launch(code, &reports))
            gs_context_lose(launch->module->context, "checked mode found a mistake, and GROUNDSTATE_CHECK_STOP is set");
    }
    if (dispatch->reports != NULL)
        munmap(dispatch->reports, report_bytes(code));
    if (dispatch->group_checks != NULL)
        gs_records_note_launch(launch, dispatch, dispatch->group_checks->footprint);
    gs_group_checks_end(dispatch->group_checks);
    gs_shadow_checks_end(dispatch->shadow);
    free((void *)dispatch->bounds);
    free((void *)dispatch->memory);
}

bool gs_launch_check_begin(gs_dispatch *dispatch, const gs_launch *launch) {
    void *reports = mmap(NULL, report_bytes(launch->code), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    dispatch->reports = reports != MAP_FAILED ? reports : NULL;
    dispatch->bounds = bounds_of_arguments(launch);
    dispatch->memory = launch->code->needs_memory ? list_memory() : NULL;
    dispatch->allows = (const void *)(uintptr_t)allows;
    dispatch->group_checks = gs_group_checks_begin(dispatch, launch->code);
    dispatch->shadow = gs_is_checked(GS_CHECK_UNINIT) ? gs_shadow_checks_begin(dispatch, launch->code) : NULL;
    bool is_ready = dispatch->reports != NULL && dispatch->bounds != NULL &&
                    (dispatch->shadow != NULL || !gs_is_checked(GS_CHECK_UNINIT)) &&
                    (dispatch->memory != NULL || !launch->code->needs_memory);
    if (!is_ready) {
        gs_context_lose(launch->module->context, "there is no memory for what checked mode needs for a launch");
        gs_launch_check_end(dispatch, launch);
    }
    return is_ready;
}

/* --- For Python --------------------------------------------------------------------------------------- */

GS_EXPORT bool gs_local_memory_at(uint64_t address) { return gs_is_local_memory(address); }

GS_EXPORT bool gs_memory_at(uint64_t address, gs_memory_facts *facts) {
    return gs_memory_describe(address, facts) || gs_quarantine_find(address, facts) ||
           gs_memory_describe(address - 1, facts);
}
