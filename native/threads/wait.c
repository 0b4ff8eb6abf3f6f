#include "threads/wait.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "threads/lock.h"

/* How long a waiter spins before it sleeps. A futex round trip costs several microseconds, so a wait for
 * something short is over sooner this way; a longer one wastes no more than this. */
enum { SPIN_NANOSECONDS = 20000, ALONE_NANOSECONDS = 2000, SPINS_PER_CLOCK = 32 };

/* A signal that comes just before the thread sleeps does not end the sleep, so a wait that Ctrl-C may end
 * looks up this often. */
static const uint64_t NAP_NANOSECONDS = 100000000;

static long futex_call(_Atomic uint32_t *word, int operation, uint32_t value, const struct timespec *timeout) {
    return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

void gs_futex_wake(gs_futex *futex, int count) {
    if (atomic_load(&futex->sleepers) != 0)
        futex_call(&futex->value, FUTEX_WAKE, (uint32_t)count, NULL);
}

void gs_futex_set(gs_futex *futex, uint32_t value) {
    atomic_store(&futex->value, value);
    gs_futex_wake(futex, INT_MAX);
}

void gs_futex_notify(gs_futex *futex) {
    atomic_fetch_add(&futex->value, 1);
    gs_futex_wake(futex, INT_MAX);
}

void gs_futex_notify_some(gs_futex *futex, int count) {
    atomic_fetch_add(&futex->value, 1);
    gs_futex_wake(futex, count);
}

static bool look(bool (*done)(void *), void *state) {
    for (int turn = 0; turn < SPINS_PER_CLOCK; turn++) {
        if (done(state))
            return true;
        gs_relax();
    }
    return false;
}

bool gs_spin(bool (*done)(void *state), void *state, uint64_t nanoseconds) {
    uint64_t start = gs_clock(CLOCK_MONOTONIC);
    do {
        if (look(done, state))
            return true;
    } while (gs_clock(CLOCK_MONOTONIC) - start < nanoseconds);
    return false;
}

/* Whoever is waited for may stand in line behind the waiter on the same core, so it stops spinning soon and
 * lets others run between two looks. */
static bool spin_and_yield(bool (*done)(void *), void *state, uint64_t nanoseconds) {
    uint64_t start = gs_clock(CLOCK_MONOTONIC);
    if (gs_spin(done, state, nanoseconds < ALONE_NANOSECONDS ? nanoseconds : ALONE_NANOSECONDS))
        return true;
    while (gs_clock(CLOCK_MONOTONIC) - start < nanoseconds) {
        sched_yield();
        if (look(done, state))
            return true;
    }
    return false;
}

bool gs_spin_before_sleep(bool (*done)(void *state), void *state, uint64_t worked_nanoseconds) {
    enum { LONGEST = 300000 };
    return spin_and_yield(done, state, worked_nanoseconds < LONGEST ? worked_nanoseconds : LONGEST);
}

/* One sleep, until somebody notifies, `remaining` nanoseconds pass or a signal arrives. */
static int sleep_once(gs_futex *futex, uint32_t seen, uint64_t remaining) {
    struct timespec wait = {(time_t)(remaining / 1000000000u), (long)(remaining % 1000000000u)};
    errno = 0;
    futex_call(&futex->value, FUTEX_WAIT, seen, remaining > INT64_MAX ? NULL : &wait);
    return errno;
}

gs_wait_result gs_futex_wait(gs_futex *futex, bool (*done)(void *state), void *state, uint64_t timeout,
                            bool interruptible) {
    if (done(state))
        return GS_WAIT_DONE;
    if (timeout == 0)
        return GS_WAIT_TIMEOUT;
    gs_may_wait("a wait for a futex event");
    uint64_t start = gs_clock(CLOCK_MONOTONIC);
    if (spin_and_yield(done, state, timeout < SPIN_NANOSECONDS ? timeout : SPIN_NANOSECONDS))
        return GS_WAIT_DONE;
    gs_wait_result result = GS_WAIT_DONE;
    atomic_fetch_add(&futex->sleepers, 1);
    for (;;) {
        uint32_t seen = atomic_load(&futex->value);
        if (done(state))
            break;
        uint64_t passed = gs_clock(CLOCK_MONOTONIC) - start;
        if (timeout != GS_FOREVER && passed >= timeout) {
            result = GS_WAIT_TIMEOUT;
            break;
        }
        uint64_t left = timeout == GS_FOREVER ? GS_FOREVER : timeout - passed;
        if (interruptible)
            gs_engines_serve_stalled(true);
        int error = sleep_once(futex, seen, interruptible && left > NAP_NANOSECONDS ? NAP_NANOSECONDS : left);
        if ((error == EINTR || error == ETIMEDOUT) && interruptible && gs_python_interrupt()) {
            result = GS_WAIT_INTERRUPTED;
            break;
        }
    }
    atomic_fetch_sub(&futex->sleepers, 1);
    return result;
}

bool gs_wait_moment(bool (*done)(void *state), void *state) {
    enum { LONGEST_PAUSE = 1000000, MOMENT = 100000000 };
    gs_may_wait("a wait for a moment");
    uint64_t start = gs_clock(CLOCK_MONOTONIC);
    for (uint64_t pause = 1000; !done(state); pause = pause < LONGEST_PAUSE ? 2 * pause : pause) {
        if (gs_clock(CLOCK_MONOTONIC) - start > MOMENT)
            return false;
        nanosleep(&(struct timespec){0, (long)pause}, NULL);
    }
    return true;
}
