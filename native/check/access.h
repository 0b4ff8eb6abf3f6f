/* One access of some lanes, as the race checker sees it. */
#ifndef GS_CHECK_ACCESS_H
#define GS_CHECK_ACCESS_H

#include "check/group_state.h"

/* What compiled code says of an access, in one number: see compiler/codegen/memory/races.py. */
typedef struct gs_access {
    gs_group_state *here;
    uint64_t base;
    int64_t stride;
    const uint64_t *addresses; /* of each lane, if they are scattered */
    uint64_t active;           /* lanes */
    uint32_t first_item, lanes;
    uint32_t site, bytes;
    bool writes, is_atomic, is_narrow;
    gs_space space;
    const char *values; /* what is written: of each component, for each lane or once; or NULL */
    uint32_t component_bytes;
    bool has_one_value;
    gs_access_stamp now; /* without the item */
} gs_access;

static inline uint64_t gs_address_of(const gs_access *of, uint32_t lane) {
    return of->addresses != NULL ? of->addresses[lane] : of->base + (uint64_t)(of->stride * (int64_t)lane);
}

/* A lane accesses `count` bytes, which are all of a cell: looks for races, and remembers the access. */
void gs_race_visit(gs_shadow_cell *cell, const gs_access *now, uint32_t lane, uint64_t address, uint32_t count);

/* local_races.c: all lanes, of local memory. False: the addresses are elsewhere. */
bool gs_race_in_local(const gs_access *now);

/* The same for whole words in a row, or one that all lanes read, which are in no race: this is what most accesses are. */
bool gs_race_in_local_row(gs_group_state *here, uint64_t base, int64_t stride, uint64_t active, uint32_t first_item, uint64_t info);

#endif
