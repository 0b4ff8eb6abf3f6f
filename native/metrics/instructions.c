#include "metrics/instructions.h"

#include <stdlib.h>

enum { FIRST_COST = offsetof(gs_metric_counts, instructions) / sizeof(uint64_t) };

_Static_assert(FIRST_COST + GS_BLOCK_COSTS == GS_COUNT_WORDS, "the costs of blocks are the last counts");

bool gs_instructions_begin(gs_dispatch *dispatch, const gs_code *code) {
    dispatch->counts = calloc(code->block_count, GS_BLOCK_COUNTERS * sizeof(uint64_t));
    return dispatch->counts != NULL;
}

void gs_instructions_end(gs_dispatch *dispatch, const gs_code *code, gs_queue_counts *counts) {
    uint64_t sums[GS_BLOCK_COSTS] = {0}, idle = 0, diverged = 0;
    for (uint32_t block = 0; block < code->block_count; block++) {
        const uint64_t *counters = dispatch->counts + block * GS_BLOCK_COUNTERS;
        const uint64_t *costs = code->block_costs + block * GS_BLOCK_COSTS;
        const uint64_t lanes = counters[GS_COUNTER_LANES];
        for (uint32_t each = 0; each < GS_BLOCK_COSTS; each++)
            sums[each] += lanes * costs[each];
        idle += (counters[GS_COUNTER_RUNS] * code->lanes - lanes) * costs[0];
        diverged += counters[GS_COUNTER_DIVERGED];
    }
    free(dispatch->counts);
    dispatch->counts = NULL;
    GS_COUNT(counts, counted_kernels, 1);
    GS_COUNT(counts, idle_lanes, idle);
    GS_COUNT(counts, divergent_branches, diverged);
    for (uint32_t each = 0; each < GS_BLOCK_COSTS; each++)
        gs_count(counts, FIRST_COST + each, sums[each]);
}
