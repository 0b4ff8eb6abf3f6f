/* Launches of code that counts its instructions (compiler/instrument/counting.py). */
#ifndef GS_METRICS_INSTRUCTIONS_H
#define GS_METRICS_INSTRUCTIONS_H

#include "metrics/counts.h"
#include "objects/kernel.h"

/* Gives a launch counters for its blocks. False: there is no memory. */
bool gs_instructions_begin(gs_dispatch *dispatch, const gs_code *code);

/* Takes them back, and adds what they say to the counts of a queue, or nowhere if that is NULL. */
void gs_instructions_end(gs_dispatch *dispatch, const gs_code *code, gs_queue_counts *counts);

#endif
