/* Which variant of a kernel runs. Whether vectors of work-items or one work-item after the other are faster depends on
 * the data: how long the loops of neighbouring work-items are, and whether their memory lies together. So it is measured,
 * now and then for as long as the kernel runs. */
#ifndef GS_RUNTIME_VARIANTS_H
#define GS_RUNTIME_VARIANTS_H

#include "objects/kernel.h"

/* A comparison of two variants on neighbouring groups. */
typedef struct gs_trial {
    uint32_t tried, preferred; /* variants */
    uint64_t groups;           /* for each; 0: none should be made now */
    uint64_t warm_up;          /* so many groups come before them, for each, whose time does not count */
    bool is_half;              /* a single group is at hand: it is one half of a trial, and the next one the other */
    bool is_tried;             /* which half, or for a whole trial, which comes first */
} gs_trial;

/* What to try on some of `groups` groups. Trials take a small part of the time that the kernel takes, in the long run. */
gs_trial gs_trial_begin(gs_code *code, uint64_t groups);

/* Takes in how long each took. */
void gs_trial_end(gs_code *code, gs_trial trial, uint64_t tried_nanoseconds, uint64_t preferred_nanoseconds);

/* The same for a half. */
void gs_trial_end_half(gs_code *code, gs_trial trial, uint64_t nanoseconds);

/* What a kernel would have done for it by Python. */
enum { GS_ADD_VARIANT = 1, GS_REMEMBER_VARIANT = 2 };
uint32_t gs_variant_wishes(const gs_code *code);

/* Whether parts of a launch should be long: for the preferred variant, or for one that has just begun to be tried. */
bool gs_suits_long_parts(const gs_code *code);

/* --- variant_requests.c: Python does it, on a thread of its own --------------------------------------- */

/* Asks for what a kernel wishes. The caller holds its module. */
void gs_variant_request(gs_code *code, uint32_t wishes);

/* Called when the handle of a module has gone: forgets what was asked for its kernels and has not begun. */
void gs_variant_requests_forget(const gs_module *module);

/* Waits until everything is done that was asked for; false if that takes longer. */
bool gs_variant_requests_settle(uint64_t nanoseconds);

#endif
