/* Blocks of anonymous pages.
 *
 * Sizes are rounded up to a power of two. Blocks up to 2^CACHED_SHIFT go back to a free list of their size
 * when freed, so that a program that allocates and frees in a loop makes no system call and touches no
 * fresh page; small ones are carved from larger chunks. Larger blocks are mapped and unmapped each time,
 * aligned for huge pages. Nothing is ever zeroed twice: a block from a free list keeps its old contents, as
 * the API allows.
 *
 * Behind each mapping lie pages that can be read and not written. Kernels made for GPUs read ahead of
 * what they need and over the end of an array, which a GPU answers with zeros where there is no memory;
 * oneMKL's products of matrices do so by up to some rows. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory/memory.h"
#include "threads/lock.h"

enum {
    CARVED_SHIFT = 19,  /* 512 KiB and smaller are carved from chunks */
    CACHED_SHIFT = 28,  /* 256 MiB and smaller are kept when freed */
    HUGE_PAGE = 2 << 20,
    CHUNK = 4 << 20,
    READ_AHEAD = 64 << 10, /* what can be read behind a mapping: address space, which costs no memory */
};
static const uint64_t CACHED_LIMIT = UINT64_C(1) << 30; /* bytes kept in the lists of mapped blocks, at most */

/* Free blocks of one size. The list lies outside the blocks, so that a program that writes to memory it
 * has freed cannot break it. */
typedef struct free_list {
    void **blocks;
    size_t count, capacity;
} free_list;

GS_STATIC_LOCK(lock, GS_SHORT_LOCK)
static free_list free_lists[CACHED_SHIFT + 1];
static uint64_t cached_bytes;
static char *chunk, *chunk_end;

static unsigned page_shift(void) { return (unsigned)__builtin_ctzl(gs_page_size()); }

static unsigned shift_for(size_t size) {
    unsigned shift = page_shift();
    while (((size_t)1 << shift) < size)
        shift++;
    return shift;
}

static bool push(free_list *list, void *block) {
    if (list->count == list->capacity) {
        size_t capacity = list->capacity > 0 ? 2 * list->capacity : 64;
        void **blocks = realloc(list->blocks, capacity * sizeof *blocks);
        if (blocks == NULL)
            return false;
        list->blocks = blocks;
        list->capacity = capacity;
    }
    list->blocks[list->count++] = block;
    return true;
}

static void *pop(free_list *list) { return list->count > 0 ? list->blocks[--list->count] : NULL; }

/* How much may be kept for later: not much of a small machine. */
static uint64_t cached_limit(void) {
    static uint64_t known;
    if (known == 0) {
        uint64_t eighth = (uint64_t)sysconf(_SC_PHYS_PAGES) * gs_page_size() / 8;
        known = eighth < CACHED_LIMIT ? eighth : CACHED_LIMIT;
    }
    return known;
}

/* Fresh pages at a multiple of `alignment`, which is at least a page. */
static void *map_aligned(size_t span, size_t alignment) {
    const size_t whole = span + READ_AHEAD;
    char *raw = mmap(NULL, whole + alignment, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                     -1, 0);
    if (raw == MAP_FAILED)
        return NULL;
    size_t lead = (alignment - (uintptr_t)raw % alignment) % alignment;
    if (lead > 0)
        munmap(raw, lead);
    if (alignment > lead)
        munmap(raw + lead + whole, alignment - lead);
    mprotect(raw + lead + span, READ_AHEAD, PROT_READ);
    if (span >= HUGE_PAGE)
        madvise(raw + lead, span, MADV_HUGEPAGE);
    return raw + lead;
}

static void unmap(void *block, uint64_t span) { munmap(block, span + READ_AHEAD); }

/* Puts what is left of the chunk before `end` into the list of single pages. Called with the lock held. */
static void keep_pages(const char *end) {
    const size_t page = gs_page_size();
    for (; chunk + page <= end; chunk += page)
        push(&free_lists[page_shift()], chunk);
}

/* A block of 2^shift bytes from the current chunk, at a multiple of its size. Called with the lock held. */
static void *carve(unsigned shift) {
    size_t size = (size_t)1 << shift;
    uintptr_t at = ((uintptr_t)chunk + size - 1) & ~(size - 1);
    if (chunk == NULL || at + size > (uintptr_t)chunk_end) {
        if (chunk != NULL)
            keep_pages(chunk_end);
        chunk = map_aligned(CHUNK, HUGE_PAGE);
        if (chunk == NULL)
            return NULL;
        madvise(chunk, CHUNK, MADV_NOHUGEPAGE);
        chunk_end = chunk + CHUNK;
        at = (uintptr_t)chunk;
    }
    keep_pages((const char *)at);
    chunk = (char *)at + size;
    return (void *)at;
}

void *gs_pages_take(size_t size, size_t alignment, uint64_t *span) {
    if (alignment < gs_page_size())
        alignment = gs_page_size();
    unsigned shift = shift_for(size > alignment ? size : alignment);
    if (shift > CACHED_SHIFT) { /* large, or strictly aligned: then of the size that its free list will expect */
        unsigned own_shift = shift_for(size);
        *span = own_shift > CACHED_SHIFT ? gs_whole_pages(size) : UINT64_C(1) << own_shift;
        return map_aligned(*span, alignment > HUGE_PAGE ? alignment : HUGE_PAGE);
    }
    *span = UINT64_C(1) << shift;
    gs_lock(&lock);
    void *block = pop(&free_lists[shift]);
    if (block != NULL && shift > CARVED_SHIFT)
        cached_bytes -= *span;
    else if (block == NULL && shift <= CARVED_SHIFT)
        block = carve(shift);
    gs_unlock(&lock);
    if (block == NULL && shift > CARVED_SHIFT)
        block = map_aligned(*span, *span);
    return block;
}

void gs_pages_give(void *block, uint64_t span) {
    unsigned shift = shift_for(span);
    bool carved = shift <= CARVED_SHIFT;
    if (shift > CACHED_SHIFT) {
        unmap(block, span);
        return;
    }
    gs_lock(&lock);
    bool keep = (carved || cached_bytes + span <= cached_limit()) && push(&free_lists[shift], block);
    if (keep && !carved)
        cached_bytes += span;
    gs_unlock(&lock);
    if (!keep && carved)
        munmap(block, span); /* what lies behind it is another block of the chunk */
    else if (!keep)
        unmap(block, span);
}

bool gs_pages_keep(const void *block) {
    bool found = false;
    gs_lock(&lock);
    for (const free_list *list = free_lists; list <= &free_lists[CACHED_SHIFT]; list++)
        for (size_t each = 0; each < list->count; each++)
            found |= list->blocks[each] == block;
    gs_unlock(&lock);
    return found;
}
