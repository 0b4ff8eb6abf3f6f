/* A footprint is found by the address in two steps, as shadow memory is (check/shadow.c): a table of gigabytes, and for each of
 * them one of chunks. What a footprint took is used again by others. */
#include "check/order/footprint.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "check/group_checks.h"
#include "threads/lock.h"

enum {
    LINE_BITS = 6,
    LINE = 1 << LINE_BITS,
    CHUNK_BITS = 16,
    LINES = 1 << (CHUNK_BITS - LINE_BITS),
    GIGABYTE_BITS = 30,
    ADDRESS_BITS = 48,
    CHUNKS = 1 << (GIGABYTE_BITS - CHUNK_BITS),
    PATIENCE = 1 << 20, /* turns until a lock is taken from a thread that may have been stopped */
    NULL_PAGE = 4096,
};

/* Details are of the last access that added a bit: [0] of reads, [1] of writes and atomic operations. */
typedef struct line {
    _Atomic uint64_t read, written;
    _Atomic uint16_t atomic_read, atomic_written; /* by four bytes */
    uint16_t sites[2], items[2];
    uint16_t places[2]; /* PLACE_*: which bytes the item accessed */
    uint32_t groups[2];
} line;

/* The first byte in the line; the size of what one work-item accesses, as a power of two; whether the work-items behind it
 * access the bytes behind these. */
enum { PLACE_FIRST = 63, PLACE_SIZE_SHIFT = 6, PLACE_IS_ROW = 1 << 10 };

typedef struct chunk {
    struct chunk *next;
    uint64_t number; /* its address, shifted */
    line lines[LINES];
} chunk;

typedef struct gigabyte {
    struct gigabyte *next; /* that is free */
    _Atomic(chunk *) chunks[CHUNKS];
} gigabyte;

struct gs_footprint {
    gs_footprint *next;  /* that is free */
    uint64_t generation; /* never used again */
    atomic_bool lock;
    atomic_bool acquires, releases; /* some atomic operation of it does */
    chunk *chunks;
    _Atomic uint64_t chunk_count;
    _Atomic(gigabyte *) gigabytes[1 << (ADDRESS_BITS - GIGABYTE_BITS)];
};

/* --- Pages -------------------------------------------------------------------------------------------- */

static void take(atomic_bool *lock) {
    for (uint32_t turns = 0; atomic_exchange_explicit(lock, true, memory_order_acquire) && turns < PATIENCE;)
        turns++;
}
static void give(atomic_bool *lock) { atomic_store_explicit(lock, false, memory_order_release); }

static atomic_bool free_lock;
static chunk *free_chunks;
static gs_footprint *free_footprints;
static uint64_t generations;

static void *reserve(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

gs_footprint *gs_footprint_new(void) {
    take(&free_lock);
    gs_footprint *made = free_footprints;
    if (made != NULL)
        free_footprints = made->next;
    uint64_t generation = ++generations;
    give(&free_lock);
    if (made == NULL)
        made = reserve(sizeof *made);
    if (made != NULL)
        made->generation = generation;
    return made;
}

static _Atomic(chunk *) *place_of(gs_footprint *footprint, uint64_t number) {
    _Atomic(gigabyte *) *place = &footprint->gigabytes[number >> (GIGABYTE_BITS - CHUNK_BITS)];
    gigabyte *of = atomic_load_explicit(place, memory_order_acquire);
    if (of == NULL) {
        gigabyte *there = NULL;
        of = reserve(sizeof *of);
        if (of != NULL && !atomic_compare_exchange_strong(place, &there, of)) {
            munmap(of, sizeof *of);
            of = there;
        }
    }
    return of != NULL ? &of->chunks[number & (CHUNKS - 1)] : NULL;
}

void gs_footprint_free(gs_footprint *footprint) {
    if (footprint == NULL)
        return;
    chunk *first = footprint->chunks, *last = NULL;
    for (chunk *each = first; each != NULL; last = each, each = each->next)
        atomic_store_explicit(place_of(footprint, each->number), NULL, memory_order_relaxed);
    footprint->chunks = NULL;
    footprint->chunk_count = 0;
    footprint->acquires = footprint->releases = footprint->lock = false;
    take(&free_lock);
    if (last != NULL) {
        last->next = free_chunks;
        free_chunks = first;
    }
    footprint->next = free_footprints;
    free_footprints = footprint;
    give(&free_lock);
}

uint64_t gs_footprint_bytes(const gs_footprint *footprint) { return footprint->chunk_count * sizeof(chunk); }

/* --- Finding a chunk ---------------------------------------------------------------------------------- */

static chunk *add_chunk(gs_footprint *footprint, _Atomic(chunk *) *place, uint64_t number) {
    take(&free_lock);
    chunk *made = free_chunks;
    if (made != NULL)
        free_chunks = made->next;
    give(&free_lock);
    if (made != NULL)
        memset(made->lines, 0, sizeof made->lines);
    else if ((made = reserve(sizeof *made)) == NULL)
        return NULL;
    made->number = number;
    take(&footprint->lock);
    chunk *there = atomic_load(place);
    if (there == NULL) {
        made->next = footprint->chunks;
        footprint->chunks = made;
        footprint->chunk_count++;
        atomic_store_explicit(place, made, memory_order_release);
    }
    give(&footprint->lock);
    if (there == NULL)
        return made;
    take(&free_lock);
    made->next = free_chunks;
    free_chunks = made;
    give(&free_lock);
    return there;
}

/* NULL: there is no memory, or no such address. */
static inline chunk *chunk_at(gs_footprint *footprint, uint64_t address) {
    static _Thread_local uint64_t generation, number;
    static _Thread_local chunk *last;
    uint64_t wanted = address >> CHUNK_BITS;
    if (number == wanted && generation == footprint->generation)
        return last;
    if (address >> ADDRESS_BITS != 0)
        return NULL;
    _Atomic(chunk *) *place = place_of(footprint, wanted);
    chunk *found = place != NULL ? atomic_load_explicit(place, memory_order_acquire) : NULL;
    if (found == NULL && place != NULL)
        found = add_chunk(footprint, place, wanted);
    if (found != NULL) {
        generation = 0; /* a thread that is stopped here knows nothing */
        last = found;
        number = wanted;
        generation = footprint->generation;
    }
    return found;
}

static const chunk *find_chunk(const gs_footprint *footprint, uint64_t number) {
    const gigabyte *of = atomic_load_explicit(&footprint->gigabytes[number >> (GIGABYTE_BITS - CHUNK_BITS)], memory_order_acquire);
    return of != NULL ? atomic_load_explicit(&of->chunks[number & (CHUNKS - 1)], memory_order_acquire) : NULL;
}

/* --- Adding ------------------------------------------------------------------------------------------- */

typedef struct visitor {
    gs_footprint_access access;
    bool writes; /* for atomic operations */
    uint32_t site, group, item, size_bits;
    bool is_row;
} visitor;

static inline uint64_t bytes_from(uint32_t first, uint32_t count) {
    return (count >= 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1) << first;
}

static uint16_t words_of(uint64_t bytes) {
    uint16_t words = 0;
    for (uint32_t word = 0; word < LINE / 4; word++)
        words |= (uint16_t)((bytes >> 4 * word & 15) != 0) << word;
    return words;
}

/* True if a row goes on where the one that the line has a description of may have ended: vectors can be shorter than a line. */
static inline bool goes_on(const line *of, int which, const visitor *by, uint32_t first, uint32_t item) {
    const uint32_t place = of->places[which], before = place & PLACE_FIRST;
    if (!by->is_row || !(place & PLACE_IS_ROW) || (place >> PLACE_SIZE_SHIFT & 15) != by->size_bits)
        return false;
    bool is_same = of->sites[which] == (uint16_t)by->site && of->groups[which] == by->group;
    return is_same && first > before && item == of->items[which] + ((first - before) >> by->size_bits);
}

static inline void describe(line *of, int which, const visitor *by, uint32_t first, uint32_t item) {
    if (goes_on(of, which, by, first, item))
        return;
    of->sites[which] = (uint16_t)by->site;
    of->items[which] = (uint16_t)item;
    of->groups[which] = by->group;
    of->places[which] = (uint16_t)(first | by->size_bits << PLACE_SIZE_SHIFT | (by->is_row ? PLACE_IS_ROW : 0));
}

static inline void add_to_line(line *of, const visitor *by, uint32_t first, uint32_t count, uint32_t item) {
    uint64_t bytes = bytes_from(first, count);
    if (by->access == GS_ATOMIC) {
        _Atomic uint16_t *words = by->writes ? &of->atomic_written : &of->atomic_read;
        uint16_t added = words_of(bytes);
        if ((atomic_fetch_or_explicit(words, added, memory_order_relaxed) & added) != added)
            describe(of, 1, by, first, item);
        return;
    }
    _Atomic uint64_t *known = by->access == GS_WRITES ? &of->written : &of->read;
    if ((atomic_load_explicit(known, memory_order_relaxed) & bytes) == bytes)
        return;
    atomic_fetch_or_explicit(known, bytes, memory_order_relaxed);
    describe(of, by->access == GS_WRITES, by, first, item);
}

static inline void add_range(gs_footprint *footprint, const visitor *by, uint64_t from, uint64_t to) {
    uint32_t item = by->item;
    while (from < to) {
        uint64_t line_end = (from | (LINE - 1)) + 1, end = line_end < to ? line_end : to;
        chunk *at = chunk_at(footprint, from);
        if (at == NULL)
            return;
        add_to_line(&at->lines[from >> LINE_BITS & (LINES - 1)], by, from & (LINE - 1), (uint32_t)(end - from), item);
        if (by->is_row)
            item += (uint32_t)((end - from) >> by->size_bits);
        from = end;
    }
}

static void add_lanes(gs_footprint *footprint, visitor *by, uint64_t base, int64_t stride, uint64_t active, uint64_t first_item,
                      uint64_t info) {
    const uint64_t bytes = info >> 16 & 0xffff;
    for (; active != 0; active &= active - 1) {
        uint32_t lane = (uint32_t)__builtin_ctzll(active);
        uint64_t address = info & GS_ACCESS_SCATTERED ? ((const uint64_t *)base)[lane] : base + (uint64_t)(stride * (int64_t)lane);
        gs_space space;
        if (info & GS_ACCESS_GENERIC && (gs_memory_is_own(address, &space) || space == GS_LOCAL_SPACE))
            continue;
        by->item = (uint32_t)first_item + lane;
        if (address >= NULL_PAGE && address + bytes > address) /* what is told of null did not happen */
            add_range(footprint, by, address, address + bytes);
    }
}

void gs_footprint_add(gs_footprint *footprint, uint64_t group, uint64_t base, int64_t stride, uint64_t active,
                      uint64_t first_item, uint64_t info) {
    const uint64_t bytes = info >> 16 & 0xffff;
    const bool is_atomic = info & GS_ACCESS_ATOMIC && !(info & GS_ACCESS_NARROW);
    const bool is_power = (bytes & (bytes - 1)) == 0;
    visitor by = {
        .access = is_atomic ? GS_ATOMIC : info & GS_ACCESS_WRITES ? GS_WRITES : GS_READS,
        .writes = info & GS_ACCESS_WRITES,
        .site = info & 0xffff,
        .group = (uint32_t)group,
        .item = (uint32_t)first_item,
        .size_bits = is_power ? (uint32_t)__builtin_ctzll(bytes) : 15,
    };
    if (is_atomic) {
        if (info & GS_ACCESS_ACQUIRES)
            atomic_store_explicit(&footprint->acquires, true, memory_order_relaxed);
        if (info & GS_ACCESS_RELEASES)
            atomic_store_explicit(&footprint->releases, true, memory_order_relaxed);
    }
    if (!(info & (GS_ACCESS_SCATTERED | GS_ACCESS_GENERIC))) {
        const uint32_t first = (uint32_t)__builtin_ctzll(active), count = (uint32_t)__builtin_popcountll(active);
        const bool is_gapless = active >> first == bytes_from(0, count);
        uint64_t from = base + (uint64_t)(stride * (int64_t)first);
        by.item += first;
        if (stride == 0 && from >= NULL_PAGE) {
            add_range(footprint, &by, from, from + bytes);
            return;
        }
        if (is_gapless && stride == (int64_t)bytes && is_power) {
            by.is_row = true;
            add_range(footprint, &by, from, from + bytes * count);
            return;
        }
    }
    add_lanes(footprint, &by, base, stride, active, first_item, info);
}

void gs_footprint_add_range(gs_footprint *footprint, uint64_t from, uint64_t to, bool writes) {
    add_range(footprint, &(visitor){.access = writes ? GS_WRITES : GS_READS}, from, to);
}

/* --- Comparing ---------------------------------------------------------------------------------------- */

static uint64_t bytes_of_words(uint16_t words) {
    uint64_t bytes = 0;
    for (uint32_t word = 0; word < LINE / 4; word++)
        if (words >> word & 1)
            bytes |= UINT64_C(15) << 4 * word;
    return bytes;
}

static uint64_t conflict(const line *here, const line *there) {
    uint64_t read = here->read, written = here->written, its_read = there->read, its_written = there->written;
    uint64_t found = (written & (its_read | its_written)) | (read & its_written);
    if (here->atomic_read | here->atomic_written) {
        uint64_t loaded = bytes_of_words(here->atomic_read), changed = bytes_of_words(here->atomic_written);
        found |= (changed & (its_read | its_written)) | (loaded & its_written);
    }
    if (there->atomic_read | there->atomic_written) {
        uint64_t loaded = bytes_of_words(there->atomic_read), changed = bytes_of_words(there->atomic_written);
        found |= (changed & (read | written)) | (loaded & written);
    }
    return found;
}

/* Of a byte that the line's launch accesses; a write if there are several. */
static gs_footprint_party party_of(const line *of, uint32_t byte) {
    gs_footprint_party party = {.access = GS_ATOMIC};
    if (of->written >> byte & 1)
        party.access = GS_WRITES;
    else if (!((of->atomic_read | of->atomic_written) >> byte / 4 & 1))
        party.access = GS_READS;
    int which = party.access != GS_READS;
    uint32_t place = of->places[which], first = place & PLACE_FIRST, size_bits = place >> PLACE_SIZE_SHIFT & 15;
    party.site = of->sites[which];
    party.group = of->groups[which];
    party.item = of->items[which];
    party.is_exact = byte >= first && byte - first < UINT64_C(1) << size_bits;
    if (place & PLACE_IS_ROW && byte >= first) {
        party.item += (byte - first) >> size_bits;
        party.is_exact = true;
    }
    return party;
}

/* What a launch releases and another one acquires orders what is around it. How often that happens nobody can say, so nothing is
 * reported of two launches that do so. */
static bool synchronise(const gs_footprint *here, const gs_footprint *there) {
    bool may = (here->acquires && there->releases) || (here->releases && there->acquires);
    for (const chunk *each = here->chunks; may && each != NULL; each = each->next) {
        const chunk *its = find_chunk(there, each->number);
        for (uint32_t at = 0; its != NULL && at < LINES; at++) {
            const line *one = &each->lines[at], *other = &its->lines[at];
            if ((one->atomic_written & (other->atomic_read | other->atomic_written)) | (one->atomic_read & other->atomic_written))
                return true;
        }
    }
    return false;
}

static uint64_t address_of(const chunk *of, uint32_t at) { return of->number << CHUNK_BITS | (uint64_t)at << LINE_BITS; }

static uint32_t length_of(uint64_t bytes, uint32_t first) {
    uint64_t behind = bytes >> first;
    return behind == UINT64_MAX ? 64 : (uint32_t)__builtin_ctzll(~behind);
}

void gs_footprint_compare(const gs_footprint *here, const gs_footprint *there, gs_footprint_found found, void *with) {
    if (synchronise(here, there))
        return;
    for (const chunk *each = here->chunks; each != NULL; each = each->next) {
        const chunk *its = find_chunk(there, each->number);
        for (uint32_t at = 0; its != NULL && at < LINES; at++) {
            uint64_t bytes = conflict(&each->lines[at], &its->lines[at]);
            if (bytes == 0)
                continue;
            uint32_t first = (uint32_t)__builtin_ctzll(bytes);
            gs_footprint_party one = party_of(&each->lines[at], first), other = party_of(&its->lines[at], first);
            if (!found(address_of(each, at) + first, length_of(bytes, first), &one, &other, with))
                return;
        }
    }
}

void gs_footprint_compare_range(const gs_footprint *here, uint64_t from, uint64_t to, bool writes, gs_footprint_found found,
                                void *with) {
    for (const chunk *each = here->chunks; each != NULL; each = each->next) {
        uint64_t start = each->number << CHUNK_BITS, end = start + (UINT64_C(1) << CHUNK_BITS);
        for (uint64_t line_at = from > start ? from & ~(uint64_t)(LINE - 1) : start; line_at < end && line_at < to; line_at += LINE) {
            uint64_t lower = from > line_at ? from : line_at, upper = to < line_at + LINE ? to : line_at + LINE;
            line range = {0};
            *(writes ? &range.written : &range.read) = bytes_from((uint32_t)(lower - line_at), (uint32_t)(upper - lower));
            const line *own = &each->lines[(line_at - start) >> LINE_BITS];
            uint64_t bytes = conflict(own, &range);
            if (bytes == 0)
                continue;
            uint32_t first = (uint32_t)__builtin_ctzll(bytes);
            gs_footprint_party one = party_of(own, first), other = {.access = writes ? GS_WRITES : GS_READS};
            if (!found(line_at + first, length_of(bytes, first), &one, &other, with))
                return;
        }
    }
}

/* --- For the pages of the host -------------------------------------------------------------------------- */

bool gs_footprint_releases(const gs_footprint *footprint) { return footprint != NULL && footprint->releases; }

static void find_extent(const chunk *of, bool writes, void (*found)(uint64_t from, uint64_t to, bool writes)) {
    uint32_t first = LINES, last = 0;
    for (uint32_t at = 0; at < LINES; at++)
        if ((writes ? of->lines[at].written : of->lines[at].read) != 0) {
            first = first < at ? first : at;
            last = at;
        }
    if (first < LINES)
        found(address_of(of, first), address_of(of, last) + LINE, writes);
}

void gs_footprint_extents(const gs_footprint *footprint, void (*found)(uint64_t from, uint64_t to, bool writes)) {
    for (const chunk *each = footprint != NULL ? footprint->chunks : NULL; each != NULL; each = each->next) {
        find_extent(each, false, found);
        find_extent(each, true, found);
    }
}
