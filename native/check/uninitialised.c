#include "check/uninitialised.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check/single_groups.h"
#include "check/checks.h"
#include "check/host/device_memory.h"
#include "check/shadow_window.h"

static const uint64_t MOST_PATTERN_BYTES = 256 << 20; /* larger host and shared allocations are taken for initialised */

enum { LANES_SHIFT = 32, IS_SCATTERED = 40, IS_OF_ARGUMENT = 41 }; /* compiler/codegen/memory/shadows.py */

/* --- What the host has written ------------------------------------------------------------------------ */

/* What a word of untouched memory holds. It depends on the address, so that copies of it are not taken for untouched. */
static uint64_t pattern(uint64_t address) {
    uint64_t mixed = address * UINT64_C(0x9e3779b97f4a7c15);
    return mixed ^ mixed >> 29 ^ UINT64_C(0xa5a5a5a5a5a5a5a5);
}

/* A word whose bits are all unknown holds something that only the host can have written. */
static bool was_written(gs_shadow_kind kind, uint64_t address, uint64_t shadow) {
    uint64_t content;
    memcpy(&content, (const void *)(uintptr_t)address, sizeof content);
    if (kind == GS_SHADOW_HOST)
        return content != pattern(address);
    return kind == GS_SHADOW_DEVICE && shadow == UINT64_MAX && content != 0;
}

/* Notes what the host has written in a page since the kernel last looked. */
static void look_at_page(const gs_shadow_window *window, uint64_t page) {
    gs_shadow_kind kind = (gs_shadow_kind)*gs_shadow_kind_of(window, page);
    if (kind == GS_SHADOW_LOCAL || kind == GS_SHADOW_MIXED)
        return;
    for (uint64_t address = page; address < page + GS_SHADOW_PAGE; address += sizeof(uint64_t)) {
        uint64_t shadow;
        memcpy(&shadow, gs_shadow_of(window, address), sizeof shadow);
        if (shadow != 0 && (kind == GS_SHADOW_OTHER || was_written(kind, address, shadow)))
            memset(gs_shadow_of(window, address), 0, sizeof shadow);
    }
}

static void look_at(const gs_shadow_window *window, uint64_t address, uint64_t bytes) {
    if (bytes == 0 || !gs_shadow_has(window, address, bytes))
        return;
    for (uint64_t page = address & ~(uint64_t)(GS_SHADOW_PAGE - 1); page < address + bytes; page += GS_SHADOW_PAGE)
        look_at_page(window, page);
}

/* --- Called by kernels -------------------------------------------------------------------------------- */

static uint64_t lane_address(uint64_t base, uint64_t stride, uint64_t info, unsigned lane) {
    return info >> IS_SCATTERED & 1 ? ((const uint64_t *)(uintptr_t)base)[lane] : base + lane * stride;
}

static unsigned lanes_of(uint64_t info) { return info >> LANES_SHIFT & 0xff; }

/* Some lanes have loaded what was not known to be initialised: the host may have written it. */
static void look_again(uint64_t base, uint64_t stride, uint64_t active, uint64_t info) {
    const gs_shadow_window *window = gs_shadow_window_get();
    uint64_t bytes = info & UINT32_MAX, last = 0;
    for (unsigned lane = 0; lane < lanes_of(info); lane++) {
        uint64_t address = lane_address(base, stride, info, lane);
        if (!(active >> lane & 1) || address / GS_SHADOW_PAGE == last)
            continue;
        look_at(window, address, bytes);
        last = (address + bytes - 1) / GS_SHADOW_PAGE == address / GS_SHADOW_PAGE ? address / GS_SHADOW_PAGE : 0;
    }
}

/* How often something uninitialised was stored to device memory. */
static _Atomic uint64_t changes = 1;

static void note_unknown(const gs_shadow_window *window, uint64_t address, uint64_t bytes) {
    atomic_fetch_add_explicit(&changes, 1, memory_order_relaxed);
    for (uint64_t page = address & ~(uint64_t)(GS_SHADOW_PAGE - 1); page < address + bytes; page += GS_SHADOW_PAGE) {
        uint8_t *kind = gs_shadow_kind_of(window, page);
        if (*kind == GS_SHADOW_DEVICE)
            *kind = GS_SHADOW_MIXED;
    }
}

/* Some lanes store what is not initialised: the lanes that do so to memory that the host reads. */
static uint64_t is_read_by_host(uint64_t base, uint64_t stride, uint64_t active, uint64_t info) {
    const gs_shadow_window *window = gs_shadow_window_get();
    uint64_t bytes = info & UINT32_MAX, found = 0;
    for (unsigned lane = 0; lane < lanes_of(info); lane++) {
        uint64_t address = lane_address(base, stride, info, lane), is_own = info >> IS_OF_ARGUMENT & 1;
        if (!(active >> lane & 1))
            continue;
        if (!gs_shadow_has(window, address, bytes)) {
            found |= is_own << lane;
            continue;
        }
        gs_shadow_kind kind = (gs_shadow_kind)*gs_shadow_kind_of(window, address);
        if (kind == GS_SHADOW_HOST || (kind == GS_SHADOW_OTHER && is_own))
            found |= UINT64_C(1) << lane;
        note_unknown(window, address, bytes);
    }
    return found;
}

/* Local memory that a group begins with. */
static void begin_group(const char *local, uint64_t bytes) {
    const gs_shadow_window *window = gs_shadow_window_get();
    uint64_t address = (uint64_t)(uintptr_t)local;
    if (bytes == 0 || !gs_shadow_has(window, address, bytes))
        return;
    memset(gs_shadow_of(window, address), 0xff, bytes);
    for (uint64_t page = address & ~(uint64_t)(GS_SHADOW_PAGE - 1); page < address + bytes; page += GS_SHADOW_PAGE)
        *gs_shadow_kind_of(window, page) = GS_SHADOW_LOCAL;
}

static bool can_be_unknown(const gs_shadow_window *window, uint64_t address, uint64_t bytes) {
    return gs_shadow_has(window, address, bytes) && *gs_shadow_kind_of(window, address) != GS_SHADOW_OTHER;
}

static bool is_any_set(const uint8_t *shadow, uint64_t bytes) {
    return bytes > 0 && (shadow[0] != 0 || memcmp(shadow, shadow + 1, bytes - 1) != 0);
}

/* What is copied to memory that the host reads counts as initialised from then on. */
static void copy_shadow(const gs_shadow_window *window, uint64_t target, uint64_t source, uint64_t bytes) {
    if (bytes == 0 || !gs_shadow_has(window, target, bytes))
        return;
    gs_shadow_kind kind = (gs_shadow_kind)*gs_shadow_kind_of(window, target);
    bool keeps = kind == GS_SHADOW_DEVICE || kind == GS_SHADOW_MIXED || kind == GS_SHADOW_LOCAL;
    if (keeps && can_be_unknown(window, source, bytes)) {
        look_at(window, source, bytes);
        if (is_any_set(gs_shadow_of(window, source), bytes)) {
            note_unknown(window, target, bytes);
            memmove(gs_shadow_of(window, target), gs_shadow_of(window, source), bytes);
            return;
        }
    }
    if (is_any_set(gs_shadow_of(window, target), bytes))
        gs_shadow_clear(window, target, bytes);
}

static void copy(uint64_t target, uint64_t source, uint64_t count, uint64_t size, uint64_t target_step,
                 uint64_t source_step) {
    const gs_shadow_window *window = gs_shadow_window_get();
    if (target_step == 1 && source_step == 1) {
        copy_shadow(window, target, source, count * size);
        return;
    }
    for (uint64_t each = 0; each < count; each++)
        copy_shadow(window, target + each * target_step * size, source != 0 ? source + each * source_step * size : 0, size);
}

/* --- Launches ----------------------------------------------------------------------------------------- */

/* The first byte from an address on that is uninitialised, or the end. */
static uint64_t find_unwritten(const gs_shadow_window *window, uint64_t address, uint64_t end) {
    enum { STEP = 64 };
    static const uint8_t nothing[STEP];
    while (address < end) {
        uint64_t bytes = end - address < STEP ? end - address : STEP;
        if (memcmp(gs_shadow_of(window, address), nothing, bytes) != 0) {
            look_at(window, address, bytes);
            if (memcmp(gs_shadow_of(window, address), nothing, bytes) != 0)
                return address;
        }
        address += bytes;
    }
    return end;
}

/* Whether an allocation has a shadow at all. */
static bool has_shadow(const gs_shadow_window *window, const gs_allocation *found) {
    return found != NULL && found->backing == GS_BACKING_BLOCK &&
           gs_shadow_has(window, (uint64_t)(uintptr_t)found->base, found->span);
}

/* Whether all of the allocation that an address leads to is initialised. What was found so is not looked at again until
 * something uninitialised is stored anywhere. */
static bool is_written(const gs_shadow_window *window, uint64_t pointer) {
    gs_allocation before = {0};
    uint64_t now = atomic_load(&changes);
    gs_memory_lock();
    gs_allocation *found = gs_allocation_of_any((const char *)(uintptr_t)pointer);
    bool is_in_doubt = has_shadow(window, found);
    if (is_in_doubt)
        before = *found;
    gs_memory_unlock();
    if (before.written_when != now)
        before.written_until = 0;
    if (!is_in_doubt || before.written_until == before.size)
        return true;
    uint64_t base = (uint64_t)(uintptr_t)before.base;
    uint64_t until = find_unwritten(window, base + before.written_until, base + before.size) - base;
    gs_memory_lock();
    found = gs_allocation_of_any((const char *)(uintptr_t)pointer);
    if (found != NULL && found->id == before.id) {
        found->written_until = until;
        found->written_when = now;
    }
    gs_memory_unlock();
    return until == before.size;
}

static const uint64_t OTHERS = UINT64_C(1) << 63; /* pointers that come from no argument */

static bool all_are_written(const gs_shadow_window *window) {
    size_t count = gs_memory_list(NULL, NULL, 0);
    gs_bounds *all = malloc((2 * count + 1) * sizeof *all);
    bool are = all != NULL && gs_memory_list(all, all + count, count) <= count;
    for (size_t each = 0; are && each < count; each++)
        are = is_written(window, all[each].lower);
    free(all);
    return are;
}

static bool are_written(const gs_shadow_window *window, const gs_dispatch *dispatch, const gs_code *code, uint64_t which) {
    const gs_entry_point *entry_point = code->entry_point;
    for (uint32_t each = 0; each < entry_point->argument_count && each < 63; each++) {
        const gs_argument *argument = &entry_point->arguments[each];
        uint64_t pointer = 0;
        if (!(which >> each & 1) || argument->kind != GS_ARGUMENT_POINTER)
            continue;
        memcpy(&pointer, dispatch->arguments + argument->offset, sizeof pointer);
        if (!is_written(window, pointer))
            return false;
    }
    return !(which & OTHERS) || all_are_written(window);
}

const gs_shadow_checks *gs_shadow_checks_begin(const gs_dispatch *dispatch, const gs_code *code) {
    const gs_shadow_window *window = gs_shadow_window_get();
    gs_shadow_checks *checks = window != NULL ? malloc(sizeof *checks) : NULL;
    if (checks == NULL)
        return NULL;
    *checks = (gs_shadow_checks){
        .lower = window->lower,
        .size = window->size,
        .distance = window->distance,
        .zeros = window->zeros,
        .unread = window->unread,
        .inputs_are_written = are_written(window, dispatch, code, code->shadow_accesses.read),
        .outputs_are_written = are_written(window, dispatch, code, code->shadow_accesses.written),
        .begin_group = (const void *)begin_group,
        .look_again = (const void *)look_again,
        .is_read_by_host = (const void *)is_read_by_host,
        .copy = (const void *)copy,
    };
    return checks;
}

void gs_shadow_checks_end(const gs_shadow_checks *checks) { free((void *)checks); }

/* --- Allocations --------------------------------------------------------------------------------------- */

static void set_kinds(const gs_shadow_window *window, uint64_t address, uint64_t bytes, gs_shadow_kind kind) {
    memset(gs_shadow_kind_of(window, address), (int)kind, (bytes + GS_SHADOW_PAGE - 1) / GS_SHADOW_PAGE);
}

void gs_uninitialised_allocate(const gs_allocation *allocation) {
    const gs_shadow_window *window = gs_is_checked(GS_CHECK_UNINIT) ? gs_shadow_window_get() : NULL;
    uint64_t address = (uint64_t)(uintptr_t)allocation->base, size = allocation->size;
    if (window == NULL || !gs_shadow_has(window, address, allocation->span))
        return;
    bool is_device = allocation->type == ZE_MEMORY_TYPE_DEVICE;
    bool shows_writes = gs_vary_seed == 0 && !gs_device_memory_is_checked(); /* else its contents tell nothing */
    if (is_device && shows_writes)
        madvise(allocation->base, allocation->span, MADV_DONTNEED); /* so that what is not 0 later was written */
    else if (!is_device && size > MOST_PATTERN_BYTES)
        return;
    for (uint64_t at = address; !is_device && at < address + size; at += sizeof(uint64_t)) {
        uint64_t word = pattern(at);
        memcpy((void *)(uintptr_t)at, &word, sizeof word); /* a page is longer than what was asked for, or as long */
    }
    gs_shadow_set(window, address, size);
    gs_shadow_kind device = shows_writes ? GS_SHADOW_DEVICE : GS_SHADOW_MIXED;
    set_kinds(window, address, allocation->span, is_device ? device : GS_SHADOW_HOST);
}

void gs_uninitialised_forget(const void *start, uint64_t bytes) {
    const gs_shadow_window *window = gs_is_checked(GS_CHECK_UNINIT) ? gs_shadow_window_get() : NULL;
    uint64_t address = (uint64_t)(uintptr_t)start;
    if (window == NULL || bytes == 0 || !gs_shadow_has(window, address, bytes))
        return;
    gs_shadow_clear(window, address, bytes);
    set_kinds(window, address, bytes, GS_SHADOW_OTHER);
}

/* --- Commands ------------------------------------------------------------------------------------------ */

static void define(const gs_shadow_window *window, const void *start, uint64_t bytes) {
    copy_shadow(window, (uint64_t)(uintptr_t)start, 0, bytes);
}

/* What a copy to memory that the host reads brings. */
typedef struct brought {
    bool some, all; /* of its bytes are uninitialised */
} brought;

static bool is_for_host(const gs_shadow_window *window, uint64_t target, uint64_t source, uint64_t bytes) {
    gs_shadow_kind to = gs_shadow_has(window, target, bytes) ? (gs_shadow_kind)*gs_shadow_kind_of(window, target)
                                                             : GS_SHADOW_OTHER;
    gs_shadow_kind from = gs_shadow_has(window, source, bytes) ? (gs_shadow_kind)*gs_shadow_kind_of(window, source)
                                                               : GS_SHADOW_OTHER;
    return (to == GS_SHADOW_HOST || to == GS_SHADOW_OTHER) && (from == GS_SHADOW_DEVICE || from == GS_SHADOW_MIXED);
}

static void copy_row(const gs_shadow_window *window, uint64_t target, uint64_t source, uint64_t bytes, brought *found) {
    if (bytes > 0 && is_for_host(window, target, source, bytes)) {
        const uint8_t *shadow = gs_shadow_of(window, source);
        look_at(window, source, bytes);
        found->some |= is_any_set(shadow, bytes);
        found->all &= shadow[0] == 0xff && memcmp(shadow, shadow + 1, bytes - 1) == 0;
    } else {
        found->all = false;
    }
    copy_shadow(window, target, source, bytes);
}

static void copy_region(const gs_shadow_window *window, const gs_region *region, brought *found) {
    for (uint64_t slice = 0; slice < region->depth; slice++)
        for (uint64_t row = 0; row < region->height; row++)
            copy_row(window,
                     (uint64_t)(uintptr_t)region->destination + slice * region->destination_slice +
                         row * region->destination_pitch,
                     (uint64_t)(uintptr_t)region->source + slice * region->source_slice + row * region->source_pitch,
                     region->width, found);
}

/* The bytes from the first to the last that a region reads. */
static uint64_t extent(const gs_region *region) {
    return (region->depth - 1) * region->source_slice + (region->height - 1) * region->source_pitch + region->width;
}

/* Virtual and imported memory has no shadow; it may be the device's all the same. */
static bool is_of_device(const void *address) {
    gs_memory_lock();
    const gs_allocation *found = gs_allocation_of_any(address);
    bool is_of_device = found != NULL && found->type == ZE_MEMORY_TYPE_DEVICE;
    gs_memory_unlock();
    return is_of_device;
}

/* Copies of images go to memory of which nothing is known, and are not the host's. */
static void report_copy(const gs_command *command, const void *target, const char *source, uint64_t bytes, brought found) {
    if (!found.some || is_of_device(target))
        return;
    switch (command->origin.function) {
    case GS_FN_zeCommandListAppendMemoryCopy:
    case GS_FN_zeCommandListAppendMemoryCopyRegion:
    case GS_FN_zeCommandListAppendMemoryCopyFromContext:
        gs_report_unwritten_copy(source, bytes, found.all, command->origin.stack);
        break;
    default:
        break;
    }
}

void gs_uninitialised_command(const gs_command *command) {
    const gs_shadow_window *window = gs_is_checked(GS_CHECK_UNINIT) ? gs_shadow_window_get() : NULL;
    brought found = {false, true};
    if (window == NULL)
        return;
    switch (command->operation) {
    case GS_COPY:
        copy_row(window, (uint64_t)(uintptr_t)command->copy.destination, (uint64_t)(uintptr_t)command->copy.source,
                 command->copy.size, &found);
        report_copy(command, command->copy.destination, command->copy.source, command->copy.size, found);
        break;
    case GS_COPY_REGION:
        copy_region(window, &command->region, &found);
        report_copy(command, command->region.destination, command->region.source, extent(&command->region), found);
        break;
    case GS_FILL:
        define(window, command->fill.destination, command->fill.size);
        break;
    case GS_WRITE_TIMESTAMP:
        define(window, command->timestamp, sizeof *command->timestamp);
        break;
    case GS_QUERY_TIMESTAMPS:
        for (uint32_t each = 0; each < command->query.count; each++) {
            uint64_t offset = command->query.offsets != NULL ? command->query.offsets[each]
                                                             : each * sizeof(ze_kernel_timestamp_result_t);
            define(window, command->query.destination + offset, sizeof(ze_kernel_timestamp_result_t));
        }
        break;
    default:
        break;
    }
}

/* --- For Python ---------------------------------------------------------------------------------------- */

GS_EXPORT bool gs_is_unwritten(uint64_t address, uint64_t bytes) {
    const gs_shadow_window *window = gs_shadow_window_get();
    return window != NULL && gs_shadow_has(window, address, bytes) && is_any_set(gs_shadow_of(window, address), bytes);
}
