/* Races in local memory. Nobody but the thread that runs the group accesses it, most accesses are of whole words, and
 * most are in no race: these are looked at in columns. The rest goes by way of the cells of shadow.h. */
#include <string.h>
#include <sys/mman.h>

#include "check/access.h"

enum { WORD_BYTES = 4, COLUMN_BYTES = 3 * sizeof(uint32_t) + 4 * sizeof(uint16_t) };

/* --- Columns ----------------------------------------------------------------------------------------- */

void gs_local_shadow_release(gs_local_shadow *shadow) {
    if (shadow->capacity > 0)
        munmap(shadow->write, (size_t)shadow->capacity * COLUMN_BYTES);
    *shadow = (gs_local_shadow){0};
}

static void grow(gs_local_shadow *shadow, uint32_t words) {
    gs_local_shadow_release(shadow);
    void *memory = mmap(NULL, (size_t)words * COLUMN_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return;
    shadow->capacity = words;
    shadow->write = memory;
    shadow->read = shadow->write + words;
    shadow->other_read = shadow->read + words;
    shadow->flags = (uint16_t *)(shadow->other_read + words);
    shadow->write_site = shadow->flags + words;
    shadow->read_site = shadow->write_site + words;
    shadow->other_site = shadow->read_site + words;
}

/* Of a site nothing is asked where there is no stamp. */
void gs_local_shadow_clear(gs_local_shadow *shadow, uint64_t bytes) {
    uint32_t words = (uint32_t)(bytes / WORD_BYTES);
    if (words > shadow->capacity)
        grow(shadow, words);
    shadow->words = shadow->capacity < words ? 0 : words;
    if (shadow->words > 0) {
        memset(shadow->write, 0, words * sizeof *shadow->write);
        memset(shadow->read, 0, words * sizeof *shadow->read);
        memset(shadow->other_read, 0, words * sizeof *shadow->other_read);
        memset(shadow->flags, 0, words * sizeof *shadow->flags);
    }
}

/* --- One word ---------------------------------------------------------------------------------------- */

static gs_access_stamp widened(uint32_t run, uint32_t stamp) { return stamp != 0 ? (uint64_t)run << 32 | stamp : 0; }

static gs_shadow_cell cell_of(const gs_local_shadow *from, uint32_t at, uint32_t run) {
    return (gs_shadow_cell){.write = widened(run, from->write[at]),
                            .read = widened(run, from->read[at]),
                            .other_read = widened(run, from->other_read[at]),
                            .write_site = from->write_site[at],
                            .read_site = from->read_site[at],
                            .other_site = from->other_site[at],
                            .flags = from->flags[at]};
}

/* The cells of the bytes of a word, which from now on has only these. */
static gs_shadow_cell *split(gs_local_shadow *shadow, uint32_t at, const gs_group_state *here) {
    gs_shadow_cell *word = gs_shadow_at(here->local + (uint64_t)at * WORD_BYTES);
    gs_shadow_cell *bytes = word != NULL ? gs_shadow_split(word) : NULL;
    if (bytes != NULL && !(shadow->flags[at] & GS_CELL_IS_SPLIT)) {
        for (int each = 0; each < WORD_BYTES; each++)
            bytes[each] = cell_of(shadow, at, here->run);
        shadow->flags[at] = GS_CELL_IS_SPLIT;
    }
    return bytes;
}

static void visit_slowly(gs_local_shadow *shadow, uint32_t at, const gs_access *now, uint32_t lane, uint64_t from, uint64_t to) {
    if (to - from == WORD_BYTES && !(shadow->flags[at] & GS_CELL_IS_SPLIT)) {
        gs_shadow_cell cell = cell_of(shadow, at, now->here->run);
        gs_race_visit(&cell, now, lane, from, WORD_BYTES);
        shadow->write[at] = (uint32_t)cell.write;
        shadow->read[at] = (uint32_t)cell.read;
        shadow->other_read[at] = (uint32_t)cell.other_read;
        shadow->write_site[at] = cell.write_site;
        shadow->read_site[at] = cell.read_site;
        shadow->other_site[at] = cell.other_site;
        shadow->flags[at] = cell.flags;
        return;
    }
    gs_shadow_cell *bytes = split(shadow, at, now->here);
    for (uint64_t each = from; bytes != NULL && each < to; each++)
        gs_race_visit(&bytes[each % WORD_BYTES], now, lane, each, 1);
}

/* --- Words next to each other, of lanes next to each other ------------------------------------------- */

#if !defined(__GNUC__) || defined(__clang__)
#define ROW
#elif defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ROW __attribute__((optimize("O3"), target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"))) /* vectorised */
#else
#define ROW __attribute__((optimize("O3")))
#endif

/* True if a stamp is no party of a race: it is from before the last barrier, or the work-item's own. */
static inline uint32_t is_harmless(uint32_t stamp, uint32_t since, uint32_t item) {
    return (stamp < since) | ((stamp & 0xffff) == item);
}

/* Reads of `count` words by work-items from `item` on, one each; nothing is done if one may be in a race. */
ROW static bool read_row(gs_local_shadow *shadow, uint32_t at, uint32_t count, uint32_t now, uint32_t since, uint32_t item, uint16_t site) {
    uint32_t *restrict read = shadow->read + at, *restrict other = shadow->other_read + at;
    const uint32_t *restrict write = shadow->write + at;
    uint16_t *restrict read_site = shadow->read_site + at, *restrict other_site = shadow->other_site + at;
    const uint16_t *restrict flags = shadow->flags + at;
    uint32_t harmless = 1, settled = 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t one = read[i], two = other[i];
        harmless &= is_harmless(write[i], since, item + i) & (flags[i] == 0);
        settled &= (one == (now | (item + i))) | ((one >= since) & (two >= since) & ((one & 0xffff) != (two & 0xffff)));
    }
    if (!harmless || settled)
        return harmless;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t one = read[i], two = other[i];
        bool is_enough = (one >= since) & (two >= since) & ((one & 0xffff) != (two & 0xffff));
        bool is_own = (one & 0xffff) == item + i;
        other[i] = (is_enough | is_own) ? two : one;
        other_site[i] = (is_enough | is_own) ? other_site[i] : read_site[i];
        read[i] = is_enough ? one : now | (item + i);
        read_site[i] = is_enough ? read_site[i] : site;
    }
    return true;
}

ROW static bool write_row(gs_local_shadow *shadow, uint32_t at, uint32_t count, uint32_t now, uint32_t since, uint32_t item, uint16_t site) {
    uint32_t *restrict write = shadow->write + at;
    const uint32_t *restrict read = shadow->read + at, *restrict other = shadow->other_read + at;
    uint16_t *restrict write_site = shadow->write_site + at;
    const uint16_t *restrict flags = shadow->flags + at;
    uint32_t harmless = 1;
    for (uint32_t i = 0; i < count; i++)
        harmless &= is_harmless(write[i], since, item + i) & is_harmless(read[i], since, item + i) &
                    is_harmless(other[i], since, item + i) & (flags[i] == 0);
    if (!harmless)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        write[i] = now | (item + i);
        write_site[i] = site;
    }
    return true;
}

/* The same for one word. */
static inline bool read_word(gs_local_shadow *shadow, uint32_t at, uint32_t now, uint32_t since, uint32_t item, uint16_t site) {
    if (!is_harmless(shadow->write[at], since, item) || shadow->flags[at] != 0)
        return false;
    uint32_t one = shadow->read[at], two = shadow->other_read[at];
    if (one == (now | item) || (one >= since && two >= since && (one & 0xffff) != (two & 0xffff)))
        return true;
    if ((one & 0xffff) != item) {
        shadow->other_read[at] = one;
        shadow->other_site[at] = shadow->read_site[at];
    }
    shadow->read[at] = now | item;
    shadow->read_site[at] = site;
    return true;
}

static inline bool write_word(gs_local_shadow *shadow, uint32_t at, uint32_t now, uint32_t since, uint32_t item, uint16_t site) {
    if (!is_harmless(shadow->write[at], since, item) || !is_harmless(shadow->read[at], since, item) ||
        !is_harmless(shadow->other_read[at], since, item) || shadow->flags[at] != 0)
        return false;
    shadow->write[at] = now | item;
    shadow->write_site[at] = site;
    return true;
}

/* Lanes from `lane` on. */
static inline bool visit_row(gs_local_shadow *shadow, const gs_access *now, uint32_t at, uint32_t lane, uint32_t count) {
    const gs_group_state *here = now->here;
    uint32_t tick = here->tick << 16, since = here->since[GS_LOCAL_SPACE] << 16, item = now->first_item + lane;
    if (now->is_atomic || here->has_subgroup_barriers || here->copies_under_way > 0 || here->tick == GS_LAST_TICK)
        return false;
    if (count == 1)
        return now->writes ? write_word(shadow, at, tick, since, item, (uint16_t)now->site)
                           : read_word(shadow, at, tick, since, item, (uint16_t)now->site);
    return now->writes ? write_row(shadow, at, count, tick, since, item, (uint16_t)now->site)
                       : read_row(shadow, at, count, tick, since, item, (uint16_t)now->site);
}

/* --- Lanes ------------------------------------------------------------------------------------------- */

static void visit_lane(gs_local_shadow *shadow, const gs_access *now, uint32_t lane) {
    uint64_t address = gs_address_of(now, lane), end = address + now->bytes;
    while (address < end) {
        uint64_t next = (address & ~UINT64_C(3)) + WORD_BYTES, to = next < end ? next : end;
        uint32_t at = (uint32_t)((address - now->here->local) / WORD_BYTES);
        bool is_word = to - address == WORD_BYTES;
        if (!is_word || !visit_row(shadow, now, at, lane, 1))
            visit_slowly(shadow, at, now, lane, address, to);
        address = to;
    }
}

static bool is_inside(const gs_access *now, uint64_t address) {
    uint64_t offset = address - now->here->local, size = (uint64_t)now->here->shadow.words * WORD_BYTES;
    return offset < size && now->bytes <= size - offset;
}

/* Of addresses with a stride, the first and the last tell. */
static bool are_inside(const gs_access *now, uint32_t first) {
    if (now->addresses == NULL)
        return is_inside(now, gs_address_of(now, first)) &&
               is_inside(now, gs_address_of(now, 63 - (uint32_t)__builtin_clzll(now->active)));
    for (uint64_t left = now->active; left != 0; left &= left - 1)
        if (!is_inside(now, now->addresses[__builtin_ctzll(left)]))
            return false;
    return true;
}

static bool are_in_row(const gs_access *now, uint32_t first, uint32_t count) {
    if (now->addresses == NULL)
        return now->stride == WORD_BYTES;
    const uint64_t *addresses = now->addresses + first;
    uint64_t differs = 0;
    for (uint32_t i = 0; i < count; i++)
        differs |= addresses[i] - addresses[0] - (uint64_t)i * WORD_BYTES;
    return differs == 0;
}

bool gs_race_in_local_row(gs_group_state *here, uint64_t base, int64_t stride, uint64_t active, uint32_t first_item, uint64_t info) {
    const uint64_t KIND = GS_ACCESS_LOCAL | GS_ACCESS_GENERIC | GS_ACCESS_ATOMIC | GS_ACCESS_SCATTERED;
    if ((info & KIND) != GS_ACCESS_LOCAL || (info >> 16 & 0xffff) != WORD_BYTES || here->has_subgroup_barriers ||
        here->copies_under_way > 0 || here->tick == GS_LAST_TICK)
        return false;
    gs_local_shadow *shadow = &here->shadow;
    uint32_t tick = here->tick << 16, since = here->since[GS_LOCAL_SPACE] << 16;
    uint32_t first = (uint32_t)__builtin_ctzll(active), last = 63 - (uint32_t)__builtin_clzll(active), count = last - first + 1;
    uint64_t offset = base + (uint64_t)(stride * (int64_t)first) - here->local, at = offset / WORD_BYTES;
    uint16_t site = info & 0xffff;
    bool writes = info & GS_ACCESS_WRITES;
    if (offset % WORD_BYTES != 0 || at >= shadow->words)
        return false;
    if (stride == 0 && !writes)
        return read_word(shadow, (uint32_t)at, tick, since, first_item + first, site) &&
               read_word(shadow, (uint32_t)at, tick, since, first_item + last, site);
    if (stride != WORD_BYTES || active >> first != UINT64_MAX >> (64 - count) || count > shadow->words - at)
        return false;
    return writes ? write_row(shadow, (uint32_t)at, count, tick, since, first_item + first, site)
                  : read_row(shadow, (uint32_t)at, count, tick, since, first_item + first, site);
}

bool gs_race_in_local(const gs_access *now) {
    gs_local_shadow *shadow = &now->here->shadow;
    uint32_t first = (uint32_t)__builtin_ctzll(now->active), count = (uint32_t)__builtin_popcountll(now->active);
    bool is_row = now->bytes == WORD_BYTES && now->active >> first == UINT64_MAX >> (64 - count) && are_in_row(now, first, count);
    if (!are_inside(now, first))
        return false;
    uint64_t offset = gs_address_of(now, first) - now->here->local;
    if (is_row && offset % WORD_BYTES == 0 && visit_row(shadow, now, (uint32_t)(offset / WORD_BYTES), first, count))
        return true;
    for (uint64_t left = now->active; left != 0; left &= left - 1)
        visit_lane(shadow, now, (uint32_t)__builtin_ctzll(left));
    return true;
}
