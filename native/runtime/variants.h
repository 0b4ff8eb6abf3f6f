/* Which variant of a kernel runs. Whether vectors of work-items or one work-item after the other are faster depends on
 * the data: how long the loops of neighbouring work-items are, and whether their memory lies together. So it is measured. */
#ifndef GS_RUNTIME_VARIANTS_H
#define GS_RUNTIME_VARIANTS_H

#include "objects/kernel.h"

/* A comparison of two variants on neighbouring groups. */
typedef struct gs_trial {
    uint32_t tried, preferred; /* variants */
    uint64_t groups;           /* for each; 0: none should be made now */
} gs_trial;

/* What to try on some of `groups` groups. Trials take a small part of the time that the kernel takes, in the long run. */
gs_trial gs_trial_begin(const gs_code *code, uint64_t groups);

/* Takes in how long each took. */
void gs_trial_end(gs_code *code, gs_trial trial, uint64_t tried_nanoseconds, uint64_t preferred_nanoseconds);

/* True if a kernel has run for so long that it is worth to compile it in another way, too. */
bool gs_wants_variant(const gs_code *code);

#endif
