/* What it costs a launch that its time is counted, beside reading the clock twice and nothing else.
 * Usage: counters ROUNDS LAUNCHES_PER_ROUND */
#include "measure.h"
#include "memory/memory_file.c"
#include "runtime/activity.c"
#include "threads/lock.c"

bool gs_holds_python(void) { return false; }

/* Metrics, of which no group is active here. */
_Atomic uint32_t gs_enabled_tracers, gs_active_processor_groups;
void gs_trace_worker(const gs_queue_counts *counts, bool begins) { (void)counts, (void)begins, abort(); }
void gs_count(gs_queue_counts *counts, size_t word, uint64_t value) { (void)counts, (void)word, (void)value, abort(); }
void gs_processor_begin(void) { abort(); }
void gs_processor_end(gs_queue_counts *counts) { (void)counts, abort(); }

int main(int count, char **arguments) {
    REQUIRE(count == 3);
    uint64_t rounds = number(arguments[1]), launches = number(arguments[2]);
    gs_activity work = {.record = gs_device_activity_new(8, 0)};
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t start = now();
        for (uint64_t each = 0; each < launches; each++) {
            gs_activity_begin(work);
            gs_activity_end();
        }
        print_sample("counted", now() - start, launches);
        start = now();
        for (uint64_t each = 0; each < launches; each++) {
            gs_clock(CLOCK_MONOTONIC);
            gs_clock(CLOCK_MONOTONIC);
        }
        print_sample("clock", now() - start, launches);
    }
    return 0;
}
