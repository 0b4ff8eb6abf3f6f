/* Pools: memory of the CUDA driver that is kept when it is freed, because that driver takes tens of microseconds to
 * allocate and to free. */
#ifndef GS_NVIDIA_POOL_H
#define GS_NVIDIA_POOL_H

#include <stdatomic.h>

#include "nvidia/cuda.h"
#include "threads/lock.h"

enum { GS_POOL_SMALLEST_SHIFT = 9, GS_POOL_LARGEST_SHIFT = 20 };

/* Blocks of this many bytes or more share no memory with others. */
enum { GS_POOL_LEAST_APART = (1 << GS_POOL_LARGEST_SHIFT) + 1 };

typedef struct gs_pool_list {
    struct gs_pool_block {
        char *base;
        uint64_t span;
    } *blocks;
    size_t count, capacity;
} gs_pool_list;

struct gs_gpu;

/* Where a pool has its memory from. */
typedef struct gs_pool_source {
    gs_cu_result (*take)(struct gs_gpu *gpu, char **base, uint64_t bytes);
    void (*give)(struct gs_gpu *gpu, char *base, uint64_t bytes);
    uint32_t smallest_shift; /* of a block, between GS_POOL_SMALLEST_SHIFT and GS_POOL_LARGEST_SHIFT */
    uint64_t chunk;          /* bytes of which small blocks are carved */
    uint64_t granule;        /* larger blocks are multiples of this */
} gs_pool_source;

typedef struct gs_pool {
    const gs_pool_source *source;
    struct gs_gpu *gpu;
    gs_mutex lock;
    gs_pool_list small[GS_POOL_LARGEST_SHIFT + 1]; /* free blocks of powers of two */
    gs_pool_list large;                            /* free blocks of more than that */
    gs_pool_list chunks;                           /* of which small blocks are carved, */
    char *chunk, *chunk_end;                       /* and what is left of the last one */
    uint64_t kept, limit;    /* bytes in large free blocks */
    _Atomic uint64_t taken; /* bytes that the pool has of the CUDA driver */
} gs_pool;

void gs_pool_open(gs_pool *pool, const gs_pool_source *source, struct gs_gpu *gpu, uint64_t limit);

/* At least `size` bytes at a multiple of `alignment`. Called in the context that the memory is of. */
gs_cu_result gs_pool_take(gs_pool *pool, uint64_t size, uint64_t alignment, char **base, uint64_t *span);
void gs_pool_give(gs_pool *pool, char *base, uint64_t span);

/* The same for a block that others still use: it is not handed out again, unless it shares its memory with other blocks. */
void gs_pool_give_up(gs_pool *pool, char *base, uint64_t span);

/* Widens a block to what the pool took at once of the CUDA driver. */
void gs_pool_widen(gs_pool *pool, char **base, uint64_t *span);

/* Gives the large free blocks back to the CUDA driver. */
void gs_pool_trim(gs_pool *pool);

/* Forgets all memory: it is gone with the context, or is given back if it outlives that. */
void gs_pool_forget(gs_pool *pool, bool outlives);

#endif
