#include "nvidia/pool.h"

#include <stdlib.h>
#include <string.h>

void gs_pool_open(gs_pool *pool, const gs_pool_source *source, struct gs_gpu *gpu, uint64_t limit) {
    *pool = (gs_pool){.source = source, .gpu = gpu, .limit = limit};
    gs_mutex_open(&pool->lock, GS_SHORT_LOCK);
}

static bool push(gs_pool_list *list, char *base, uint64_t span) {
    if (list->count == list->capacity) {
        size_t capacity = list->capacity > 0 ? 2 * list->capacity : 64;
        struct gs_pool_block *blocks = realloc(list->blocks, capacity * sizeof *blocks);
        if (blocks == NULL)
            return false;
        list->blocks = blocks;
        list->capacity = capacity;
    }
    list->blocks[list->count++] = (struct gs_pool_block){base, span};
    return true;
}

static uint32_t shift_for(const gs_pool *pool, uint64_t size) {
    uint32_t shift = pool->source->smallest_shift;
    while ((UINT64_C(1) << shift) < size)
        shift++;
    return shift;
}

static gs_cu_result take(gs_pool *pool, char **base, uint64_t bytes) {
    gs_cu_result result = pool->source->take(pool->gpu, base, bytes);
    if (result == GS_CU_SUCCESS)
        pool->taken += bytes;
    return result;
}

static void give(gs_pool *pool, char *base, uint64_t bytes) {
    pool->source->give(pool->gpu, base, bytes);
    pool->taken -= bytes;
}

static bool is_aligned(const char *base, uint64_t alignment) { return alignment == 0 || (uintptr_t)base % alignment == 0; }

/* --- Small blocks, carved of chunks ------------------------------------------------------------------- */

/* A block of what is left of the chunk, at a multiple of its size, or NULL. Called with the lock held. */
static char *carve(gs_pool *pool, uint64_t size) {
    uintptr_t at = ((uintptr_t)pool->chunk + size - 1) & ~(uintptr_t)(size - 1);
    if (pool->chunk == NULL || at + size > (uintptr_t)pool->chunk_end)
        return NULL;
    pool->chunk = (char *)at + size;
    return (char *)at;
}

static char *find_small(gs_pool *pool, uint32_t shift) {
    gs_pool_list *list = &pool->small[shift];
    gs_lock(&pool->lock);
    char *base = list->count > 0 ? list->blocks[--list->count].base : carve(pool, UINT64_C(1) << shift);
    gs_unlock(&pool->lock);
    return base;
}

/* What is left of the chunk before is given up: it is less than a block. */
static gs_cu_result take_small(gs_pool *pool, uint32_t shift, char **base) {
    while ((*base = find_small(pool, shift)) == NULL) {
        char *chunk;
        gs_cu_result result = take(pool, &chunk, pool->source->chunk);
        if (result != GS_CU_SUCCESS)
            return result;
        gs_lock(&pool->lock);
        bool is_noted = push(&pool->chunks, chunk, pool->source->chunk);
        if (is_noted) {
            pool->chunk = chunk;
            pool->chunk_end = chunk + pool->source->chunk;
        }
        gs_unlock(&pool->lock);
        if (!is_noted) {
            give(pool, chunk, pool->source->chunk);
            return GS_CU_OUT_OF_MEMORY;
        }
    }
    return GS_CU_SUCCESS;
}

/* --- Large blocks ------------------------------------------------------------------------------------- */

/* Of exactly this size: the programs that free and allocate over and over do so with the same sizes. */
static char *find_large(gs_pool *pool, uint64_t span, uint64_t alignment) {
    char *base = NULL;
    gs_lock(&pool->lock);
    gs_pool_list *list = &pool->large;
    for (size_t each = list->count; each-- > 0 && base == NULL;)
        if (list->blocks[each].span == span && is_aligned(list->blocks[each].base, alignment)) {
            base = list->blocks[each].base;
            list->blocks[each] = list->blocks[--list->count];
            pool->kept -= span;
        }
    gs_unlock(&pool->lock);
    return base;
}

static gs_cu_result take_large(gs_pool *pool, uint64_t span, uint64_t alignment, char **base) {
    if ((*base = find_large(pool, span, alignment)) != NULL)
        return GS_CU_SUCCESS;
    gs_cu_result result = take(pool, base, span);
    if (result == GS_CU_OUT_OF_MEMORY) {
        gs_pool_trim(pool);
        result = take(pool, base, span);
    }
    return result;
}

gs_cu_result gs_pool_take(gs_pool *pool, uint64_t size, uint64_t alignment, char **base, uint64_t *span) {
    uint64_t least = size > alignment ? size : alignment;
    gs_may_wait("the CUDA driver");
    if (least <= UINT64_C(1) << GS_POOL_LARGEST_SHIFT) {
        uint32_t shift = shift_for(pool, least);
        *span = UINT64_C(1) << shift;
        return take_small(pool, shift, base);
    }
    const uint64_t granule = pool->source->granule;
    *span = (size + granule - 1) / granule * granule;
    return take_large(pool, *span, alignment, base);
}

static bool is_small_block(uint64_t span) { return span <= UINT64_C(1) << GS_POOL_LARGEST_SHIFT; }

void gs_pool_give(gs_pool *pool, char *base, uint64_t span) {
    bool is_small = is_small_block(span);
    gs_lock(&pool->lock);
    bool keep = is_small || pool->kept + span <= pool->limit;
    keep = keep && push(is_small ? &pool->small[shift_for(pool, span)] : &pool->large, base, span);
    if (keep && !is_small)
        pool->kept += span;
    gs_unlock(&pool->lock);
    if (!keep && !is_small)
        give(pool, base, span); /* a small one that cannot be noted is lost until its context is */
}

void gs_pool_give_up(gs_pool *pool, char *base, uint64_t span) {
    if (is_small_block(span))
        gs_pool_give(pool, base, span);
    else
        give(pool, base, span);
}

void gs_pool_widen(gs_pool *pool, char **base, uint64_t *span) {
    if (!is_small_block(*span))
        return;
    gs_lock(&pool->lock);
    for (size_t each = 0; each < pool->chunks.count; each++) {
        const struct gs_pool_block *chunk = &pool->chunks.blocks[each];
        if (*base >= chunk->base && *base < chunk->base + chunk->span) {
            *base = chunk->base;
            *span = chunk->span;
            break;
        }
    }
    gs_unlock(&pool->lock);
}

void gs_pool_trim(gs_pool *pool) {
    gs_lock(&pool->lock);
    gs_pool_list spent = pool->large;
    pool->large = (gs_pool_list){0};
    pool->kept = 0;
    gs_unlock(&pool->lock);
    for (size_t each = 0; each < spent.count; each++)
        give(pool, spent.blocks[each].base, spent.blocks[each].span);
    free(spent.blocks);
}

void gs_pool_forget(gs_pool *pool, bool outlives) {
    gs_lock(&pool->lock);
    gs_pool_list chunks = pool->chunks, large = pool->large;
    for (uint32_t shift = 0; shift <= GS_POOL_LARGEST_SHIFT; shift++)
        pool->small[shift].count = 0;
    pool->chunks = pool->large = (gs_pool_list){0};
    pool->kept = pool->taken = 0;
    pool->chunk = pool->chunk_end = NULL;
    gs_unlock(&pool->lock);
    for (size_t each = 0; outlives && each < chunks.count; each++)
        pool->source->give(pool->gpu, chunks.blocks[each].base, chunks.blocks[each].span);
    for (size_t each = 0; outlives && each < large.count; each++)
        pool->source->give(pool->gpu, large.blocks[each].base, large.blocks[each].span);
    free(chunks.blocks);
    free(large.blocks);
}
