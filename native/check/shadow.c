/* Shadow memory is found by the address in two steps: a table of gigabytes, and for each of them one of chunks. Chunks
 * are address space until they are touched. */
#include "check/shadow.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

enum {
    GIGABYTE_BITS = 30,
    ADDRESS_BITS = 48,
    CHUNK_BITS = 16,
    CHUNK_CELLS = GS_SHADOW_CHUNK / 4,
    CHUNKS = 1 << (GIGABYTE_BITS - CHUNK_BITS),
    SPLIT_CELLS = 4,
    LOCKS = 1 << 14,
    PATIENCE = 1 << 20, /* turns until a lock is taken from whoever holds it */
};

typedef struct gigabyte {
    _Atomic(gs_shadow_cell *) chunks[CHUNKS];
} gigabyte;

static _Atomic(gigabyte *) gigabytes[1 << (ADDRESS_BITS - GIGABYTE_BITS)];

static void *reserve(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static gigabyte *add_gigabyte(_Atomic(gigabyte *) *place) {
    gigabyte *made = reserve(sizeof *made), *there = NULL;
    if (made == NULL || atomic_compare_exchange_strong(place, &there, made))
        return made;
    munmap(made, sizeof *made);
    return there;
}

static gs_shadow_cell *add_chunk(_Atomic(gs_shadow_cell *) *place) {
    size_t size = CHUNK_CELLS * sizeof(gs_shadow_cell);
    gs_shadow_cell *made = reserve(size), *there = NULL;
    if (made == NULL || atomic_compare_exchange_strong(place, &there, made))
        return made;
    munmap(made, size);
    return there;
}

gs_shadow_cell *gs_shadow_at(uint64_t address) {
    if (address >> ADDRESS_BITS != 0)
        return NULL;
    _Atomic(gigabyte *) *place = &gigabytes[address >> GIGABYTE_BITS];
    gigabyte *of = atomic_load_explicit(place, memory_order_acquire);
    if (of == NULL && (of = add_gigabyte(place)) == NULL)
        return NULL;
    _Atomic(gs_shadow_cell *) *there = &of->chunks[address >> CHUNK_BITS & (CHUNKS - 1)];
    gs_shadow_cell *chunk = atomic_load_explicit(there, memory_order_acquire);
    if (chunk == NULL && (chunk = add_chunk(there)) == NULL)
        return NULL;
    return chunk + (address & (GS_SHADOW_CHUNK - 1)) / 4;
}

/* --- Cells of bytes ---------------------------------------------------------------------------------- */

/* Taken in order from blocks, and given back together. */
enum { BLOCK_CELLS = 1 << 16 };
typedef struct block {
    struct block *before;
    _Atomic size_t used;
    gs_shadow_cell cells[BLOCK_CELLS];
} block;

static _Atomic(block *) newest;

static gs_shadow_cell *take_cells(void) {
    for (;;) {
        block *from = atomic_load(&newest);
        size_t at = from != NULL ? atomic_fetch_add(&from->used, SPLIT_CELLS) : BLOCK_CELLS;
        if (at + SPLIT_CELLS <= BLOCK_CELLS)
            return from->cells + at;
        block *made = reserve(sizeof *made);
        if (made == NULL)
            return NULL;
        made->before = from;
        if (!atomic_compare_exchange_strong(&newest, &from, made))
            munmap(made, sizeof *made);
    }
}

gs_shadow_cell *gs_shadow_split(gs_shadow_cell *word) {
    if (word->flags & GS_CELL_IS_SPLIT)
        return (gs_shadow_cell *)(uintptr_t)word->write;
    gs_shadow_cell *bytes = take_cells();
    if (bytes == NULL)
        return NULL;
    for (int i = 0; i < SPLIT_CELLS; i++) {
        bytes[i] = *word;
        if (!(word->flags & GS_CELL_WRITE_ATOMIC))
            bytes[i].value = word->value >> 8 * i & 0xff;
    }
    word->write = (uintptr_t)bytes;
    word->flags = GS_CELL_IS_SPLIT;
    return bytes;
}

/* --- Locks ------------------------------------------------------------------------------------------- */

static atomic_bool locks[LOCKS];

static atomic_bool *lock_of(uint64_t address) {
    uint64_t line = address >> 6;
    return &locks[(line ^ line >> 14) & (LOCKS - 1)];
}

void gs_shadow_lock(uint64_t address) {
    atomic_bool *lock = lock_of(address);
    for (uint32_t turns = 0; atomic_exchange_explicit(lock, true, memory_order_acquire) && turns < PATIENCE; turns++)
        while (atomic_load_explicit(lock, memory_order_relaxed) && turns < PATIENCE)
            turns++;
}

void gs_shadow_unlock(uint64_t address) { atomic_store_explicit(lock_of(address), false, memory_order_release); }

void gs_shadow_forget(void) {
    for (size_t i = 0; i < sizeof gigabytes / sizeof *gigabytes; i++) {
        gigabyte *of = gigabytes[i];
        for (size_t j = 0; of != NULL && j < CHUNKS; j++)
            if (of->chunks[j] != NULL)
                madvise(of->chunks[j], CHUNK_CELLS * sizeof(gs_shadow_cell), MADV_DONTNEED);
    }
    block *each = atomic_exchange(&newest, NULL);
    while (each != NULL) {
        block *before = each->before;
        munmap(each, sizeof *each);
        each = before;
    }
}
