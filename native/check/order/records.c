/* Races between commands: launches, copies and fills that access the same bytes, one to write, and that nothing orders.
 *
 * What a command accessed is kept until the host knows that it is done: whatever is submitted then comes after it. So a race is
 * found whether or not the two really ran at the same time. */
#include "check/order/records.h"

#include <stdlib.h>
#include <string.h>

#include "check/order/order.h"
#include "faults/lost_context.h"
#include "memory/memory.h"
#include "objects/list.h"
#include "python/interpreter.h"

enum { MOST_RANGES = 2, MOST_REPORTS = 4 };
static const uint64_t MOST_BYTES = UINT64_C(1) << 30; /* of footprints; beyond it the oldest are forgotten */

typedef struct range {
    uint64_t from, to;
    bool writes;
} range;

/* A launch, or the rows of a copy. */
typedef struct part {
    struct part *next;
    gs_module *module; /* held, or NULL: no launch */
    const gs_code *code;
    gs_dispatch dispatch; /* how large it was */
    gs_footprint *footprint;
} part;

typedef struct record {
    struct record *older, *younger;
    _Atomic uint32_t references;
    gs_moment moment;
    uint64_t memory;     /* the number of the last allocation before it */
    uint64_t known_since; /* how many submissions there were when the host came to know that it is done, and 1; or 0 */
    uint64_t bytes;
    gs_host_call origin;
    char what[160];
    uint32_t range_count;
    range ranges[MOST_RANGES];
    part *parts;
} record;

static record *oldest, *youngest;
static record *dead; /* that are to be dropped when no lock is held; linked by `older` */
static uint64_t all_bytes;
static _Thread_local part *noted, **noted_end;

/* --- Life ----------------------------------------------------------------------------------------------- */

static void free_parts(part *first) {
    while (first != NULL) {
        part *next = first->next;
        gs_footprint_free(first->footprint);
        if (first->module != NULL)
            gs_object_drop(first->module);
        free(first);
        first = next;
    }
}

static void drop(record *of) {
    if (atomic_fetch_sub(&of->references, 1) != 1)
        return;
    free_parts(of->parts);
    free(of);
}

void gs_records_bury(void) {
    gs_order_lock();
    record *each = dead;
    dead = NULL;
    gs_order_unlock();
    while (each != NULL) {
        record *next = each->older;
        drop(each);
        each = next;
    }
}

static void note(part *made) {
    if (noted == NULL)
        noted_end = &noted;
    *noted_end = made;
    noted_end = &made->next;
}

void gs_records_note_launch(const gs_launch *launch, const gs_dispatch *dispatch, gs_footprint *footprint) {
    part *made = footprint != NULL ? malloc(sizeof *made) : NULL;
    if (made == NULL) {
        gs_footprint_free(footprint);
        return;
    }
    *made = (part){.module = launch->module, .code = launch->code, .dispatch = *dispatch, .footprint = footprint};
    gs_object_hold(made->module);
    note(made);
}

void gs_records_abandon(void) {
    free_parts(noted);
    noted = NULL;
}

/* --- What a command accesses ------------------------------------------------------------------------------ */

static void add_range(record *of, const void *start, uint64_t size, bool writes) {
    if (size > 0)
        of->ranges[of->range_count++] = (range){(uintptr_t)start, (uintptr_t)start + size, writes};
}

static void add_rows(gs_footprint *into, uint64_t start, const gs_region *region, uint64_t pitch, uint64_t slice, bool writes) {
    for (uint64_t z = 0; z < region->depth; z++)
        for (uint64_t y = 0; y < region->height; y++) {
            uint64_t row = start + z * slice + y * pitch;
            gs_footprint_add_range(into, row, row + region->width, writes);
        }
}

static void note_rows(const gs_region *region) {
    part *made = calloc(1, sizeof *made);
    if (made == NULL || (made->footprint = gs_footprint_new()) == NULL) {
        free(made);
        return;
    }
    add_rows(made->footprint, (uintptr_t)region->source, region, region->source_pitch, region->source_slice, false);
    add_rows(made->footprint, (uintptr_t)region->destination, region, region->destination_pitch, region->destination_slice, true);
    note(made);
}

static void look_at(record *of, const gs_command *command) {
    switch (command->operation) {
    case GS_COPY:
        add_range(of, command->copy.source, command->copy.size, false);
        add_range(of, command->copy.destination, command->copy.size, true);
        break;
    case GS_COPY_REGION:
        note_rows(&command->region);
        break;
    case GS_FILL:
        add_range(of, command->fill.destination, command->fill.size, true);
        break;
    case GS_WRITE_TIMESTAMP:
        add_range(of, command->timestamp, sizeof *command->timestamp, true);
        break;
    case GS_QUERY_TIMESTAMPS:
        if (command->query.offsets == NULL)
            add_range(of, command->query.destination, command->query.count * sizeof(ze_kernel_timestamp_result_t), true);
        break;
    default:
        break;
    }
}

/* NULL: it accesses nothing, or there is no memory. */
static record *make_record(const gs_command *command, gs_moment moment) {
    record *made = calloc(1, sizeof *made);
    if (made == NULL) {
        gs_records_abandon();
        return NULL;
    }
    look_at(made, command);
    made->parts = noted;
    noted = NULL;
    if (made->parts == NULL && made->range_count == 0) {
        free(made);
        return NULL;
    }
    made->references = 1;
    made->moment = moment;
    made->memory = gs_memory_last_number();
    made->origin = command->origin;
    gs_command_describe(command, made->what, sizeof made->what);
    for (const part *each = made->parts; each != NULL; each = each->next)
        made->bytes += gs_footprint_bytes(each->footprint);
    return made;
}

/* --- The list, with the lock of order.c -------------------------------------------------------------------- */

static void unlink_record(record *of) {
    *(of->younger != NULL ? &of->younger->older : &youngest) = of->older;
    *(of->older != NULL ? &of->older->younger : &oldest) = of->younger;
    all_bytes -= of->bytes;
    of->older = dead;
    dead = of;
}

static void link_record(record *of) {
    of->older = youngest;
    *(youngest != NULL ? &youngest->younger : &oldest) = of;
    youngest = of;
    all_bytes += of->bytes;
    while (all_bytes > MOST_BYTES && oldest != youngest)
        unlink_record(oldest);
}

bool gs_records_collect(const gs_vector_clock *host, uint64_t submissions, uint64_t oldest_submission) {
    bool has_new = false;
    for (record *each = oldest, *next; each != NULL; each = next) {
        next = each->younger;
        if (each->known_since == 0 && gs_clock_has(host, each->moment)) {
            each->known_since = submissions + 1;
            has_new = true;
        }
        if (each->known_since != 0 && each->known_since <= oldest_submission)
            unlink_record(each);
    }
    return has_new;
}

static void note_extent(uint64_t from, uint64_t to, bool writes) { gs_host_pages_note(from, to, writes); }

/* What releases may be waited for by the program, in a loop that nobody sees. */
static void note_pages(const record *of) {
    for (const part *each = of->parts; each != NULL; each = each->next)
        if (gs_footprint_releases(each->footprint))
            return;
    for (uint32_t each = 0; each < of->range_count; each++)
        note_extent(of->ranges[each].from, of->ranges[each].to, of->ranges[each].writes);
    for (const part *each = of->parts; each != NULL; each = each->next)
        gs_footprint_extents(each->footprint, note_extent);
}

void gs_records_note_pages(void) {
    for (const record *each = oldest; each != NULL; each = each->younger)
        if (each->known_since == 0)
            note_pages(each);
}

bool gs_records_have(uint64_t timeline) {
    for (const record *each = youngest; each != NULL; each = each->older)
        if (each->moment.timeline == timeline)
            return true;
    return false;
}

bool gs_records_have_others(uint64_t timeline) {
    for (const record *each = youngest; each != NULL; each = each->older)
        if (each->moment.timeline != timeline)
            return true;
    return false;
}

/* --- Comparing ---------------------------------------------------------------------------------------------- */

typedef struct comparison {
    const record *records[2];
    const part *parts[2]; /* or NULL: a range */
    uint64_t sites[MOST_REPORTS];
    uint32_t reports;
    bool stops;
} comparison;

/* Memory that was allocated after one of the two is not what it accessed. */
static bool is_same_memory(const comparison *of, uint64_t address) {
    gs_memory_lock();
    const gs_allocation *found = gs_allocation_of_any((const void *)(uintptr_t)address);
    uint64_t number = found != NULL ? found->id : 0;
    gs_memory_unlock();
    return number <= of->records[0]->memory && number <= of->records[1]->memory;
}

static gs_race_party describe(const record *of, const part *in, const gs_footprint_party *party) {
    gs_race_party described = {.what = of->what,
                               .function = of->origin.stack != NULL && of->origin.function < GS_FN_COUNT ? gs_function_names[of->origin.function] : "",
                               .stack = of->origin.stack,
                               .access = party->access};
    if (in != NULL && in->module != NULL) {
        described.entry_point = in->code->entry_point;
        described.dispatch = &in->dispatch;
        described.site = party->site;
        described.group = party->group;
        described.item = party->item;
        described.is_exact = party->is_exact;
    }
    return described;
}

/* One for each pair of sites, and not more than a few. */
static bool report(uint64_t address, uint32_t bytes, const gs_footprint_party *here, const gs_footprint_party *there, void *with) {
    comparison *of = with;
    uint64_t sites = (uint64_t)here->site << 32 | there->site << 8 | here->access << 4 | there->access;
    for (uint32_t each = 0; each < of->reports; each++)
        if (of->sites[each] == sites)
            return true;
    if (!is_same_memory(of, address))
        return true;
    gs_command_race race = {.parties = {describe(of->records[0], of->parts[0], here), describe(of->records[1], of->parts[1], there)},
                            .address = address,
                            .bytes = bytes};
    of->stops |= gs_report_command_race(&race);
    of->sites[of->reports++] = sites;
    return of->reports < MOST_REPORTS;
}

static void compare_ranges(comparison *of, const range *here, const range *there) {
    uint64_t from = here->from > there->from ? here->from : there->from, to = here->to < there->to ? here->to : there->to;
    if (from >= to || !(here->writes || there->writes) || of->reports > 0) /* one is enough for two copies */
        return;
    gs_footprint_party one = {.access = here->writes ? GS_WRITES : GS_READS}, other = {.access = there->writes ? GS_WRITES : GS_READS};
    report(from, to - from < UINT32_MAX ? (uint32_t)(to - from) : UINT32_MAX, &one, &other, of);
}

static bool report_turned(uint64_t address, uint32_t bytes, const gs_footprint_party *here, const gs_footprint_party *there,
                          void *with) {
    return report(address, bytes, there, here, with);
}

static bool compare(const record *here, const record *there) {
    comparison of = {.records = {here, there}};
    for (uint32_t one = 0; one < here->range_count; one++)
        for (uint32_t other = 0; other < there->range_count; other++)
            compare_ranges(&of, &here->ranges[one], &there->ranges[other]);
    for (const part *mine = here->parts; mine != NULL; mine = mine->next) {
        of.parts[0] = mine;
        for (uint32_t other = 0; other < there->range_count && of.reports < MOST_REPORTS; other++)
            gs_footprint_compare_range(mine->footprint, there->ranges[other].from, there->ranges[other].to,
                                       there->ranges[other].writes, report, &of);
        for (of.parts[1] = there->parts; of.parts[1] != NULL && of.reports < MOST_REPORTS; of.parts[1] = of.parts[1]->next)
            gs_footprint_compare(mine->footprint, of.parts[1]->footprint, report, &of);
        of.parts[1] = NULL;
    }
    of.parts[0] = NULL;
    for (of.parts[1] = there->parts; of.parts[1] != NULL; of.parts[1] = of.parts[1]->next)
        for (uint32_t own = 0; own < here->range_count && of.reports < MOST_REPORTS; own++)
            gs_footprint_compare_range(of.parts[1]->footprint, here->ranges[own].from, here->ranges[own].to,
                                       here->ranges[own].writes, report_turned, &of);
    return of.stops;
}

/* Those that nothing orders before a command; held. */
static record **take_unordered(const gs_vector_clock *clock, size_t *count) {
    size_t room = 0;
    *count = 0;
    for (const record *each = youngest; each != NULL; each = each->older)
        room += !gs_clock_has(clock, each->moment);
    record **found = room > 0 ? malloc(room * sizeof *found) : NULL;
    for (record *each = youngest; found != NULL && each != NULL; each = each->older)
        if (!gs_clock_has(clock, each->moment)) {
            each->references++;
            found[(*count)++] = each;
        }
    return found;
}

void gs_records_add(gs_queue *queue, const gs_command *command, gs_moment moment, const gs_vector_clock *clock) {
    record *made = make_record(command, moment);
    if (made == NULL)
        return;
    size_t count;
    bool stops = false;
    gs_order_lock();
    record **unordered = take_unordered(clock, &count);
    made->references++;
    link_record(made);
    if (gs_host_pages_exist())
        note_pages(made);
    gs_order_unlock();
    gs_records_bury();
    for (size_t each = 0; each < count; each++) {
        stops |= compare(made, unordered[each]);
        drop(unordered[each]);
    }
    free(unordered);
    drop(made);
    if (stops)
        gs_context_lose(queue->context, "checked mode found a race, and GROUNDSTATE_CHECK_STOP is set");
}

/* --- The program itself ------------------------------------------------------------------------------------- */

/* What the program does while a command uses atomic operations there may be one, too. */
static bool is_atomic(const gs_footprint_party *party) { return party->access == GS_ATOMIC; }

static bool report_touch(uint64_t address, uint32_t bytes, const gs_footprint_party *here, const gs_footprint_party *there, void *with) {
    return is_atomic(here) || report(address, bytes, there, here, with);
}

static bool compare_touch(const record *touch, const record *with) {
    comparison of = {.records = {touch, with}};
    const range *at = &touch->ranges[0];
    for (const part *each = with->parts; each != NULL; each = each->next)
        if (gs_footprint_releases(each->footprint))
            return false;
    for (uint32_t each = 0; each < with->range_count; each++)
        compare_ranges(&of, at, &with->ranges[each]);
    for (of.parts[1] = with->parts; of.parts[1] != NULL && of.reports == 0; of.parts[1] = of.parts[1]->next)
        gs_footprint_compare_range(of.parts[1]->footprint, at->from, at->to, at->writes, report_touch, &of);
    return of.stops;
}

void gs_records_compare_touch(const gs_host_touch *touch, const gs_vector_clock *seen) {
    record made = {.memory = gs_memory_last_number(),
                   .origin = {GS_FN_COUNT, touch->stack},
                   .what = "the program itself",
                   .range_count = 1,
                   .ranges = {{touch->address, touch->address + 1, touch->writes}}};
    size_t count;
    gs_order_lock();
    record **unordered = take_unordered(seen, &count);
    gs_order_unlock();
    for (size_t each = 0; each < count; each++) {
        compare_touch(&made, unordered[each]);
        drop(unordered[each]);
    }
    free(unordered);
}
