/* Races between the work-items of a launch: two accesses of the same byte, at least one of which writes, that nothing
 * orders. Compiled code tells of the accesses of all lanes before it makes them (compiler/instrument/races.py).
 *
 * Accesses of two work-items of a group are ordered by a barrier of the group that is a fence for the memory in question, and
 * by one of their sub-group. Those of two groups are ordered only by atomic operations (happens_before.c). Launches are
 * compared with each other elsewhere (order/records.c). */
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check/access.h"
#include "check/checks.h"
#include "check/group_checks.h"
#include "check/order/footprint.h"

/* --- Same values ------------------------------------------------------------------------------------- */

static const char *value_of(const gs_access *of, uint32_t lane, uint32_t byte) {
    uint32_t component = byte / of->component_bytes, rest = byte % of->component_bytes;
    uint32_t place = of->has_one_value ? component : component * of->lanes + lane;
    return of->values + place * of->component_bytes + rest;
}

/* What is in memory before an access that the checker of bounds may leave out, because there is no memory. */
static bool look_at(uint64_t address, uint32_t count, char *into) {
    if (!gs_is_checked(GS_CHECK_MEMORY)) {
        memcpy(into, (const void *)(uintptr_t)address, count);
        return true;
    }
    struct iovec to = {into, count}, from = {(void *)(uintptr_t)address, count};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)count;
}

/* The bytes that a lane writes to an address, as a number. */
static uint32_t written_value(const gs_access *of, uint32_t lane, uint64_t address, uint32_t count) {
    uint64_t first = address - gs_address_of(of, lane);
    uint32_t value = 0;
    if (of->component_bytes == sizeof value && count == sizeof value && first % sizeof value == 0) {
        memcpy(&value, value_of(of, lane, (uint32_t)first), sizeof value);
        return value;
    }
    for (uint32_t byte = 0; byte < count; byte++)
        value |= (uint32_t)(uint8_t)*value_of(of, lane, (uint32_t)first + byte) << 8 * byte;
    return value;
}

/* True if a byte that another work-item of this group wrote gets the value that it has. The other one may be a lane of this
 * access, which is not made yet. */
static bool writes_present(const gs_access *of, uint32_t lane, uint64_t address, uint32_t count, uint32_t writer) {
    uint32_t other = writer - of->first_item;
    bool is_lane = writer >= of->first_item && other < lane && of->active >> other & 1;
    uint64_t mine = gs_address_of(of, lane), its = is_lane ? gs_address_of(of, other) : 0;
    char present[4] = {0};
    if (!look_at(address, count, present))
        return false;
    for (uint64_t at = address; at < address + count; at++) {
        bool is_its = is_lane && at - its < of->bytes;
        char before = is_its ? *value_of(of, other, (uint32_t)(at - its)) : present[at - address];
        if (before != *value_of(of, lane, (uint32_t)(at - mine)))
            return false;
    }
    return true;
}

/* True if a lane writes what the last writer wrote. Another group may be about to: its value is in the cell by then. */
static bool writes_same(const gs_shadow_cell *cell, const gs_access *of, uint32_t lane, uint64_t address, uint32_t count) {
    if (of->values == NULL)
        return false;
    if (gs_stamp_run(cell->write) != of->here->run && cell->has_value && !(cell->flags & GS_CELL_WRITE_ATOMIC))
        return cell->value == written_value(of, lane, address, count);
    return writes_present(of, lane, address, count, gs_stamp_item(cell->write));
}

/* --- Order ------------------------------------------------------------------------------------------- */

/* True if what was done then may be a party of a race: by another work-item of this launch, and nothing lies between. */
static inline bool is_concurrent(const gs_group_state *here, gs_access_stamp then, uint32_t item, gs_space space) {
    uint32_t run = gs_stamp_run(then);
    if (__builtin_expect(run != here->run, 0)) {
        if (space == GS_LOCAL_SPACE || run - here->first_run >= here->run_count)
            return false;
        return !gs_is_synchronised(here, then, item, space);
    }
    uint32_t other = gs_stamp_item(then), tick = gs_stamp_tick(then);
    if (__builtin_expect(other == here->items, 0))
        return !(item == other && tick == here->tick) && gs_copy_is_under_way(here, tick);
    if (other == item || tick < here->since[space] || tick == GS_LAST_TICK)
        return false;
    if (here->has_subgroup_barriers) {
        uint32_t subgroup = item / here->subgroup_size;
        if (other / here->subgroup_size == subgroup && tick < here->subgroup_since[space][subgroup])
            return false;
    }
    return !gs_is_synchronised(here, then, item, space);
}

/* True if two atomic operations are no race: each is atomic for the other's group. */
static bool are_atomic(const gs_access *now, bool is_atomic, bool is_narrow, gs_access_stamp then) {
    if (!now->is_atomic || !is_atomic)
        return false;
    return gs_stamp_run(then) == now->here->run || !(now->is_narrow || is_narrow);
}

/* --- Reports ----------------------------------------------------------------------------------------- */

static void report(const gs_access *now, uint32_t item, uint64_t address, gs_group_report kind, gs_access_stamp then,
                   uint32_t site, bool is_same) {
    const gs_group_state *here = now->here;
    uint64_t flags = (now->space == GS_LOCAL_SPACE ? GS_RACE_LOCAL : 0) | (is_same ? GS_RACE_SAME_VALUE : 0);
    uint64_t words[4] = {(uint64_t)kind | flags << 8 | (uint64_t)site << 16, gs_stamp_run(then) - here->first_run,
                         gs_stamp_item(then) | (uint64_t)now->bytes << 32, address};
    gs_report_in_group(here, now->site, item, words);
}

/* --- One cell ---------------------------------------------------------------------------------------- */

/* True if the two readers that are known are enough for whoever reads next: one of them is in a race with any writer. */
static inline bool has_readers(const gs_shadow_cell *cell, const gs_group_state *here, gs_space space) {
    gs_access_stamp one = cell->read, other = cell->other_read;
    uint32_t run = gs_stamp_run(one), other_run = gs_stamp_run(other);
    if (cell->flags & (GS_CELL_READ_ATOMIC | GS_CELL_OTHER_ATOMIC))
        return false;
    if (run != other_run)
        return space != GS_LOCAL_SPACE && run - here->first_run < here->run_count &&
               other_run - here->first_run < here->run_count;
    return run == here->run && gs_stamp_item(one) != gs_stamp_item(other) && gs_stamp_tick(one) >= here->since[space] &&
           gs_stamp_tick(other) >= here->since[space] && !here->has_subgroup_barriers;
}

/* An atomic write takes the place of another write in a cell. The other is of interest to other groups still if it was not
 * atomic, or of another group than this: it is kept as a stamp with its site in the place of the tick. */
enum { BEFORE_WAS_ATOMIC = 1 << 15 };

static uint64_t write_before(const gs_shadow_cell *cell, const gs_access *now) {
    const gs_group_state *here = now->here;
    uint32_t run = gs_stamp_run(cell->write);
    bool was_atomic = cell->flags & GS_CELL_WRITE_ATOMIC, is_of_launch = run - here->first_run < here->run_count;
    uint64_t known = was_atomic && gs_stamp_run(cell->before) - here->first_run < here->run_count ? cell->before : 0;
    bool keeps = was_atomic && (run == here->run || (known != 0 && !(known & BEFORE_WAS_ATOMIC)));
    if (now->space == GS_LOCAL_SPACE || !is_of_launch || keeps)
        return known;
    return gs_stamp(run, cell->write_site, gs_stamp_item(cell->write)) | (was_atomic ? BEFORE_WAS_ATOMIC : 0);
}

/* The write before the last, which was atomic. */
static void race_with_before(const gs_shadow_cell *cell, const gs_access *now, uint32_t item, uint64_t address) {
    uint64_t before = cell->before;
    gs_access_stamp then = gs_stamp(gs_stamp_run(before), 1, before & GS_CELL_LAST_ITEM);
    if (gs_stamp_run(then) == now->here->run || !is_concurrent(now->here, then, item, now->space) ||
        (now->is_atomic && before & BEFORE_WAS_ATOMIC))
        return;
    gs_group_report kind = now->writes ? GS_RACE_WRITE_AFTER_WRITE : GS_RACE_READ_AFTER_WRITE;
    report(now, item, address, kind, then, gs_stamp_tick(before), false);
}

/* The last write; of several atomic ones, one that is not the work-item's own. */
static inline gs_access_stamp write_of_another(const gs_shadow_cell *cell, uint32_t item) {
    if (!(cell->flags & GS_CELL_IS_SHARED) || gs_stamp_item(cell->write) != item)
        return cell->write;
    return gs_stamp(gs_stamp_run(cell->write), gs_stamp_tick(cell->write), cell->flags & GS_CELL_LAST_ITEM);
}

/* Work-item `item` reads the memory of a cell. */
static inline void read_cell(gs_shadow_cell *cell, const gs_access *now, uint32_t item, uint64_t address) {
    const gs_group_state *here = now->here;
    bool was_atomic = cell->flags & GS_CELL_WRITE_ATOMIC;
    gs_access_stamp write = was_atomic ? write_of_another(cell, item) : cell->write;
    if (was_atomic && cell->before != 0 && now->space != GS_LOCAL_SPACE)
        race_with_before(cell, now, item, address);
    if (is_concurrent(here, write, item, now->space) &&
        !are_atomic(now, was_atomic, cell->flags & GS_CELL_WRITE_NARROW, write)) {
        bool wrote_too = !was_atomic && cell->flags & GS_CELL_IS_SHARED && gs_stamp_run(write) == here->run &&
                         item >= gs_stamp_item(write) && item <= (cell->flags & GS_CELL_LAST_ITEM);
        if (!wrote_too)
            report(now, item, address, GS_RACE_READ_AFTER_WRITE, write, cell->write_site, false);
    }
    gs_access_stamp own = now->now | item, read = cell->read;
    bool is_known = read == own && (now->is_atomic || !(cell->flags & GS_CELL_READ_ATOMIC));
    if (is_known || has_readers(cell, here, now->space))
        return;
    uint32_t run = gs_stamp_run(read);
    if (run == here->run && gs_stamp_item(read) == item) {
        if (now->is_atomic && !(cell->flags & GS_CELL_READ_ATOMIC) && gs_stamp_tick(read) >= here->since[now->space])
            return; /* what is not atomic is in more races */
    } else if (run - here->first_run < here->run_count) {
        bool keeps_other = run == here->run && gs_stamp_run(cell->other_read) != run &&
                           gs_stamp_run(cell->other_read) - here->first_run < here->run_count;
        if (!keeps_other) {
            cell->other_read = read;
            cell->other_site = cell->read_site;
            cell->flags &= (uint16_t)~GS_CELL_OTHER_ATOMIC;
            if (cell->flags & GS_CELL_READ_ATOMIC)
                cell->flags |= GS_CELL_OTHER_ATOMIC;
        }
    }
    cell->read = own;
    cell->read_site = (uint16_t)now->site;
    cell->flags = (uint16_t)((cell->flags & ~GS_CELL_READ_ATOMIC) | (now->is_atomic ? GS_CELL_READ_ATOMIC : 0));
}

static void race_with_reader(const gs_access *now, uint32_t item, uint64_t address, gs_access_stamp read, bool is_atomic,
                             uint32_t site) {
    if (is_concurrent(now->here, read, item, now->space) && !are_atomic(now, is_atomic, false, read))
        report(now, item, address, GS_RACE_WRITE_AFTER_READ, read, site, false);
}

static inline void write_cell(gs_shadow_cell *cell, const gs_access *now, uint32_t lane, uint64_t address, uint32_t count) {
    const gs_group_state *here = now->here;
    uint32_t item = now->first_item + lane, flags = cell->flags, last = 0;
    gs_access_stamp write = cell->write, then = write_of_another(cell, item), own = now->now | item;
    bool was_atomic = flags & GS_CELL_WRITE_ATOMIC, is_shared = false, changes_nothing = false;
    if (was_atomic && cell->before != 0 && now->space != GS_LOCAL_SPACE)
        race_with_before(cell, now, item, address);
    if (is_concurrent(here, then, item, now->space)) {
        bool is_same = are_atomic(now, was_atomic, flags & GS_CELL_WRITE_NARROW, then);
        if (!is_same) {
            is_same = writes_same(cell, now, lane, address, count);
            changes_nothing = is_same && !gs_reports_same_values;
            if (!changes_nothing)
                report(now, item, address, GS_RACE_WRITE_AFTER_WRITE, then, cell->write_site, is_same);
        }
        is_shared = is_same && gs_stamp_run(write) == here->run;
        if (is_shared) {
            uint32_t lowest = gs_stamp_item(write), highest = flags & GS_CELL_IS_SHARED ? flags & GS_CELL_LAST_ITEM : lowest;
            last = highest > item ? highest : item;
            own = now->now | (lowest < item ? lowest : item);
        }
    }
    if (gs_stamp_run(cell->read) != 0 && !changes_nothing) {
        race_with_reader(now, item, address, cell->read, flags & GS_CELL_READ_ATOMIC, cell->read_site);
        race_with_reader(now, item, address, cell->other_read, flags & GS_CELL_OTHER_ATOMIC, cell->other_site);
    }
    if (now->is_atomic && !(flags & GS_CELL_WRITE_ATOMIC) && gs_stamp_run(write) == here->run &&
        gs_stamp_item(write) == item && gs_stamp_tick(write) >= here->since[now->space])
        return; /* what is not atomic is in more races */
    uint64_t before = now->is_atomic ? write_before(cell, now) : 0;
    flags &= GS_CELL_READ_ATOMIC | GS_CELL_OTHER_ATOMIC;
    flags |= is_shared ? GS_CELL_IS_SHARED | last : 0;
    flags |= (now->is_atomic ? GS_CELL_WRITE_ATOMIC : 0u) | (now->is_narrow ? GS_CELL_WRITE_NARROW : 0u);
    cell->write = own;
    cell->write_site = (uint16_t)now->site;
    cell->flags = (uint16_t)flags;
    cell->before = before;
    if (now->is_atomic)
        return;
    cell->has_value = now->values != NULL;
    if (cell->has_value && now->space != GS_LOCAL_SPACE)
        cell->value = written_value(now, lane, address, count);
}

void gs_race_visit(gs_shadow_cell *cell, const gs_access *now, uint32_t lane, uint64_t address, uint32_t count) {
    if (now->writes)
        write_cell(cell, now, lane, address, count);
    else
        read_cell(cell, now, now->first_item + lane, address);
}

/* --- Lanes ------------------------------------------------------------------------------------------- */

static void visit_bytes(gs_shadow_cell *word, const gs_access *now, uint32_t lane, uint64_t from, uint64_t to) {
    gs_shadow_cell *bytes = gs_shadow_split(word);
    for (uint64_t at = from; bytes != NULL && at < to; at++)
        gs_race_visit(&bytes[at & 3], now, lane, at, 1);
}

/* The words that a lane accesses. `locked` is the line whose lock is held, and `chunk` the cells of the last address. */
typedef struct cursor {
    uint64_t locked, chunk;
    gs_shadow_cell *cells;
} cursor;

static const uint64_t NOWHERE = UINT64_MAX;
static const uint64_t NULL_PAGE = 4096; /* there is no memory to race for */

static inline gs_shadow_cell *go_to(cursor *at, uint64_t address, gs_space space) {
    uint64_t line = address >> 6, chunk = address / GS_SHADOW_CHUNK;
    if (space != GS_LOCAL_SPACE && line != at->locked) {
        if (at->locked != NOWHERE)
            gs_shadow_unlock(at->locked << 6);
        gs_shadow_lock(address);
        at->locked = line;
    }
    if (chunk != at->chunk) {
        at->cells = gs_shadow_at(chunk * GS_SHADOW_CHUNK);
        at->chunk = chunk;
    }
    return at->cells != NULL ? at->cells + address % GS_SHADOW_CHUNK / 4 : NULL;
}

static inline void visit_lane(cursor *at, const gs_access *now, uint32_t lane) {
    uint64_t address = gs_address_of(now, lane), end = address + now->bytes;
    if (end < address || end >> 48 != 0 || address < NULL_PAGE)
        return;
    while (address < end) {
        uint64_t next = (address & ~UINT64_C(3)) + 4, to = next < end ? next : end;
        gs_shadow_cell *cell = go_to(at, address, now->space);
        if (cell == NULL)
            return;
        if (to - address == 4 && !(cell->flags & GS_CELL_IS_SPLIT))
            gs_race_visit(cell, now, lane, address, 4);
        else
            visit_bytes(cell, now, lane, address, to);
        address = to;
    }
}

/* Lanes that read one address: what the first and the last one do stands for all of them. */
static uint64_t ends_of(uint64_t active) {
    return (active & -active) | UINT64_C(1) << (63 - __builtin_clzll(active));
}

void gs_race_access(uint64_t base, int64_t stride, uint64_t active, uint64_t first_item, uint64_t info, const void *values) {
    gs_group_state *here = gs_group_here;
    if (here == NULL || active == 0 || gs_race_in_local_row(here, base, stride, active, (uint32_t)first_item, info))
        return;
    gs_footprint *footprint = here->dispatch->group_checks->footprint;
    if (footprint != NULL && !(info & GS_ACCESS_LOCAL))
        gs_footprint_add(footprint, here->group, base, stride, active, first_item, info);
    if (!(info & GS_ACCESS_WATCHED))
        return;
    gs_access now = {
        .here = here,
        .base = base,
        .stride = stride,
        .addresses = info & GS_ACCESS_SCATTERED ? (const uint64_t *)base : NULL,
        .active = active,
        .first_item = (uint32_t)first_item,
        .lanes = info >> 32 & 0xff,
        .site = info & 0xffff,
        .bytes = info >> 16 & 0xffff,
        .writes = info & GS_ACCESS_WRITES,
        .is_atomic = info & GS_ACCESS_ATOMIC,
        .is_narrow = info & GS_ACCESS_NARROW,
        .space = info & GS_ACCESS_LOCAL ? GS_LOCAL_SPACE : info & GS_ACCESS_IMAGE ? GS_IMAGE_SPACE : GS_GLOBAL_SPACE,
        .values = values,
        .component_bytes = info >> 40 & 0xff,
        .has_one_value = info & GS_ACCESS_ONE_VALUE,
        .now = gs_stamp(here->run, here->tick, 0),
    };
    if (!now.writes && now.addresses == NULL && stride == 0)
        now.active = ends_of(active);
    cursor at = {.locked = NOWHERE, .chunk = NOWHERE};
    bool is_done = now.space == GS_LOCAL_SPACE && gs_race_in_local(&now);
    for (uint64_t left = is_done ? 0 : now.active; left != 0; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctzll(left);
        if (info & GS_ACCESS_GENERIC && gs_memory_is_own(gs_address_of(&now, lane), &now.space))
            continue;
        visit_lane(&at, &now, lane);
    }
    if (at.locked != NOWHERE)
        gs_shadow_unlock(at.locked << 6);
    if (info & (GS_ACCESS_ACQUIRES | GS_ACCESS_RELEASES)) {
        for (uint64_t left = active; left != 0; left &= left - 1) {
            uint32_t lane = (uint32_t)__builtin_ctzll(left);
            gs_synchronise(here, gs_address_of(&now, lane), now.first_item + lane, now.space, info);
        }
        gs_group_tick(here);
    }
}
