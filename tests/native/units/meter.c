/* Counting of work while threads are held up in the middle of it: what is read is what the others did. */
#include "check.h"

#include "threads/meter.h"

enum { WORKERS = 2, SECOND = 1000000000, NOW = 10 };

static _Alignas(8) char memory[sizeof(gs_meter) + WORKERS * sizeof(uint64_t)];
static gs_meter *const all = (gs_meter *)memory;

static uint64_t at(int seconds) { return (uint64_t)seconds * SECOND; }

static uint64_t ten(void) { return at(NOW); }

static bool busy_is(int seconds) { return gs_meter_read(all, WORKERS, ten) == at(seconds); }

/* The two halves of entering and of leaving, for threads that are held up between them. */
static uint32_t raise_level(void) { return atomic_fetch_add(&all->level, 1); }
static uint32_t lower_level(void) { return atomic_fetch_sub(&all->level, 1) - 1; }
static void start_word(uint32_t place, int second) { all->words[place] += GS_ACTIVITY_RUNNING - at(second); }
static void stop_word(uint32_t place, int second) { all->words[place] += at(second) - GS_ACTIVITY_RUNNING; }

static void word_that_is_started_twice_counts_both(void) {
    gs_meter_clear(all, WORKERS);
    gs_meter_enter(all, WORKERS, at(1));
    uint32_t place = lower_level(); /* it ends at 2, and is held up */
    gs_meter_enter(all, WORKERS, at(8));
    REQUIRE(busy_is(9 + 2));
    stop_word(place, 2);
    REQUIRE(busy_is(1 + 2));
    gs_meter_leave(all, WORKERS, at(9));
    REQUIRE(busy_is(1 + 1));
}

static void word_that_is_stopped_first_takes_nothing_away(void) {
    gs_meter_clear(all, WORKERS);
    gs_meter_enter(all, WORKERS, at(1));
    uint32_t place = raise_level(); /* it begins at 2, and is held up */
    gs_meter_leave(all, WORKERS, at(5));
    REQUIRE(busy_is(4));
    start_word(place, 2);
    REQUIRE(busy_is(4 + 8));
    gs_meter_leave(all, WORKERS, at(6));
    REQUIRE(busy_is(4 + 4));
}

static void thread_with_an_old_clock_makes_a_word_hold_more_than_the_clock(void) {
    gs_meter_clear(all, WORKERS);
    gs_meter_enter(all, WORKERS, at(1));
    gs_meter_leave(all, WORKERS, at(9));
    gs_meter_enter(all, WORKERS, at(2)); /* it has looked at the clock before, and was held up then */
    gs_meter_leave(all, WORKERS, at(9));
    REQUIRE(all->words[0] > ten());
    REQUIRE(busy_is(8 + 7));
}

static void word_below_nothing_is_made_up_for_by_another(void) {
    gs_meter_clear(all, WORKERS);
    gs_meter_enter(all, WORKERS, at(1));
    gs_meter_enter(all, WORKERS, at(6));
    gs_meter_leave(all, WORKERS, at(4)); /* the first, held up since 4 */
    REQUIRE((int64_t)all->words[1] < 0);
    REQUIRE(busy_is(3 + 4));
    gs_meter_leave(all, WORKERS, at(8));
    REQUIRE(busy_is(3 + 2));
}

int main(void) {
    word_that_is_started_twice_counts_both();
    word_that_is_stopped_first_takes_nothing_away();
    thread_with_an_old_clock_makes_a_word_hold_more_than_the_clock();
    word_below_nothing_is_made_up_for_by_another();
    return 0;
}
