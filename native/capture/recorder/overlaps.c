/* Two numbers in one word, which change at once: how many submissions have begun, and in the lower half how many of them are
 * under way. Of two that overlap, the one that begins later finds the other, and the other finds that somebody began. */
#include <stdatomic.h>

#include "capture/recorder/overlaps.h"

static const uint64_t ONE_BEGUN = UINT64_C(1) << 32, ONE_UNDER_WAY = 1;
static _Atomic uint64_t submissions;

void gc_overlap_begin(gc_overlap *submission) {
    uint64_t before = atomic_fetch_add(&submissions, ONE_BEGUN + ONE_UNDER_WAY);
    submission->number = (uint32_t)(before / ONE_BEGUN) + 1;
    submission->began_alone = (uint32_t)before == 0;
}

void gc_overlap_end(void) {
    atomic_fetch_sub(&submissions, ONE_UNDER_WAY);
}

bool gc_overlap_is_none(const gc_overlap *submission) {
    return submission->began_alone && (uint32_t)(atomic_load(&submissions) / ONE_BEGUN) == submission->number;
}
