/* Preloaded, it keeps threads busy before they give themselves a name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <time.h>

static long nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000 + now.tv_nsec;
}

static void work_for(long duration) {
    for (long begin = nanoseconds(); nanoseconds() - begin < duration;)
        continue;
}

int prctl(int option, ...) {
    int (*next)(int, ...) = (int (*)(int, ...))dlsym(RTLD_NEXT, "prctl");
    unsigned long values[4];
    va_list more;
    va_start(more, option);
    for (int each = 0; each < 4; each++)
        values[each] = va_arg(more, unsigned long);
    va_end(more);
    if (option == PR_SET_NAME)
        work_for(100000000);
    return next(option, values[0], values[1], values[2], values[3]);
}
