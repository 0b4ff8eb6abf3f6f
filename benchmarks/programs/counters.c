/* What it costs a launch that its time is counted, beside reading the clock twice and nothing else.
 * Usage: counters ROUNDS LAUNCHES_PER_ROUND */
#include "measure.h"
#include "memory/memory_file.c"
#include "runtime/activity.c"
#include "threads/lock.c"

bool gs_holds_python(void) { return false; }

int main(int count, char **arguments) {
    REQUIRE(count == 3);
    uint64_t rounds = number(arguments[1]), launches = number(arguments[2]);
    gs_activity work = {gs_device_activity_new(8, 0), false};
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
