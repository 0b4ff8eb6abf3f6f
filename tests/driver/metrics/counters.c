/* A kernel that counts, for machines whose own does not: loaded before the C library (LD_PRELOAD), it answers
 * perf_event_open. A counter is a pipe with what it will say, one reading after the other: each counts ten more than the
 * one before, or twice that if its configuration is odd, and has run for half of the time, but for
 * counters of software. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { READINGS = 2000, STEP = 10, TIME = 1000, ODD_FACTOR = 2 };

static int counter(const struct perf_event_attr *attributes) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return -1;
    const uint64_t shares = attributes->type == PERF_TYPE_SOFTWARE ? 1 : 2;
    const uint64_t step = attributes->config % 2 ? STEP * ODD_FACTOR : STEP;
    for (uint64_t each = 1; each <= READINGS; each++) {
        uint64_t reading[3] = {each * step, each * TIME, each * TIME / shares};
        if (write(ends[1], reading, sizeof reading) != sizeof reading)
            break;
    }
    close(ends[1]);
    return ends[0];
}

long syscall(long number, ...) {
    long words[6];
    va_list rest;
    va_start(rest, number);
    for (int each = 0; each < 6; each++)
        words[each] = va_arg(rest, long);
    va_end(rest);
    if (number == SYS_perf_event_open)
        return counter((const struct perf_event_attr *)words[0]);
    long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
