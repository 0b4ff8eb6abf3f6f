/* What a launch accesses, byte by byte: for each line of 64 bytes which of them it reads and writes, and who did so. */
#ifndef GS_CHECK_FOOTPRINT_H
#define GS_CHECK_FOOTPRINT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "generated/shared.h"

typedef struct gs_footprint gs_footprint;

typedef enum gs_footprint_access { GS_READS, GS_WRITES, GS_ATOMIC } gs_footprint_access;

/* NULL: there is no memory. */
gs_footprint *gs_footprint_new(void);
void gs_footprint_free(gs_footprint *footprint);

/* Bytes of memory that it takes. */
uint64_t gs_footprint_bytes(const gs_footprint *footprint);

/* Lanes are about to access global memory; as gs_race_access is told. Threads add at the same time; one that is stopped meanwhile
 * leaves it usable. `group` is its number in the launch. */
void gs_footprint_add(gs_footprint *footprint, uint64_t group, uint64_t base, int64_t stride, uint64_t active,
                      uint64_t first_item, uint64_t info);

/* One access of a range, by nobody in particular. */
void gs_footprint_add_range(gs_footprint *footprint, uint64_t from, uint64_t to, bool writes);

/* Whether some atomic operation of it releases. */
bool gs_footprint_releases(const gs_footprint *footprint);

/* Calls `found` with where reads and writes lie, roughly: more is in between. */
void gs_footprint_extents(const gs_footprint *footprint, void (*found)(uint64_t from, uint64_t to, bool writes));

/* Who accessed a byte. */
typedef struct gs_footprint_party {
    uint64_t group;
    uint32_t item, site;
    gs_footprint_access access;
    bool is_exact; /* else it is one who accessed bytes beside it */
} gs_footprint_party;

/* Bytes that are accessed here and there, and at least once written; not by atomic operations on both sides. Calls `found`
 * with the first one of each line, until it answers false. */
typedef bool (*gs_footprint_found)(uint64_t address, uint32_t bytes, const gs_footprint_party *here,
                                   const gs_footprint_party *there, void *with);
void gs_footprint_compare(const gs_footprint *here, const gs_footprint *there, gs_footprint_found found, void *with);
void gs_footprint_compare_range(const gs_footprint *here, uint64_t from, uint64_t to, bool writes, gs_footprint_found found,
                                void *with);

#endif
