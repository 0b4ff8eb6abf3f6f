/* The driver's threads, and the recorder's, have names that begin with "gs-". Threads that are known by now are not asked
 * for theirs again for a while: this happens at each submission. Their numbers can become those of other threads, but not
 * sooner than all other numbers have been given out.
 *
 * Many programs have threads that sleep nearly always, such as those of a library for linear algebra. The kernel counts
 * the processor time of each thread to the nanosecond: one whose count stays the same did not run. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/memory/threads.h"

enum { KNOWN = 256, FRESH = 1000000, TRIES = 4 };
enum { KNOWN_FOR = 1000000000 }; /* nanoseconds */

static int folder = -1;
static long known[KNOWN]; /* threads of the driver, by number */
static uint64_t known_since;

static bool is_drivers(long number) {
    long *place = &known[(unsigned long)number % KNOWN];
    if (*place == number)
        return true;
    char path[64], name[16] = "";
    snprintf(path, sizeof path, "/proc/self/task/%ld/comm", number);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, name, sizeof name) : -1;
    if (file >= 0)
        close(file);
    if (length < 3 || strncmp(name, "gs-", 3) != 0)
        return false;
    *place = number;
    return true;
}

/* Directory entries as the system call gives them. */
typedef struct entry {
    uint64_t inode, offset;
    uint16_t length;
    uint8_t type;
    char name[];
} entry;

static gc_other_threads present; /* as of the last look into the folder */
static long last;                /* thread that was in it */
static off_t place_of_last;

/* Looks at all threads. An entry is at most 32 bytes long: what leaves room for more is the end of the list. */
static void look_for_others(uint64_t time) {
    _Alignas(entry) char buffer[4096];
    long own = syscall(SYS_gettid), length = sizeof buffer;
    off_t place = 0;
    if (time - known_since > KNOWN_FOR) {
        memset(known, 0, sizeof known);
        known_since = time;
    }
    present = (gc_other_threads){.is_unknown = lseek(folder, 0, SEEK_SET) != 0};
    while (!present.is_unknown && length > (long)sizeof buffer - 32) {
        length = syscall(SYS_getdents64, folder, buffer, sizeof buffer);
        present.is_unknown = length < 0;
        for (long at = 0; at < length; at += ((entry *)(buffer + at))->length) {
            const entry *each = (const entry *)(buffer + at);
            long number = each->name[0] != '.' ? atol(each->name) : own;
            last = number;
            place_of_last = place;
            place = (off_t)each->offset;
            if (number == own || is_drivers(number))
                continue;
            if (present.count == GC_OTHER_THREADS_LIMIT)
                present.is_unknown = true;
            else
                present.threads[present.count++] = number;
        }
    }
}

static uint64_t read_clock(clockid_t clock) {
    struct timespec time;
    if (clock_gettime(clock, &time) != 0)
        return UINT64_MAX;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* The clock of a thread's processor time, as the kernel numbers it. */
static clockid_t clock_of(long thread) {
    enum { OF_ONE_THREAD = 4, AS_SCHEDULED = 2 };
    return (clockid_t)(~(unsigned)thread << 3 | OF_ONE_THREAD | AS_SCHEDULED);
}

static void copy_present(gc_other_threads *others) {
    others->is_unknown = present.is_unknown;
    others->count = present.count;
    for (int each = 0; each < present.count; each++) {
        others->threads[each] = present.threads[each];
        others->ran[each] = read_clock(clock_of(present.threads[each]));
    }
}

/* Threads are listed in the order in which they started. Where the last one still is the last, in the same place, none has
 * ended and none has started since. A thread that ends later has no clock any more, and so counts as one that ran; one
 * that starts after the clocks were read has been started by one that ran. */
static bool list_is_complete(void) {
    _Alignas(entry) char buffer[256];
    if (lseek(folder, place_of_last, SEEK_SET) != place_of_last)
        return false;
    long length = syscall(SYS_getdents64, folder, buffer, sizeof buffer);
    const entry *first = (const entry *)buffer;
    return length > 0 && length == first->length && atol(first->name) == last;
}

void gc_threads_note(gc_other_threads *others) {
    static uint64_t looked;
    static pthread_t asked_by;
    if (folder < 0)
        folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uint64_t time = read_clock(CLOCK_MONOTONIC);
    bool is_fresh = asked_by == pthread_self() && time - looked <= FRESH;
    asked_by = pthread_self();
    for (int tries = 0; tries < TRIES; tries++) {
        if (!is_fresh || tries > 0) {
            look_for_others(time);
            looked = time;
        }
        copy_present(others);
        if (list_is_complete())
            return;
    }
    others->is_unknown = true;
}

bool gc_threads_ran(const gc_other_threads *others) {
    if (others->is_unknown)
        return true;
    for (int each = 0; each < others->count; each++) {
        uint64_t ran = read_clock(clock_of(others->threads[each]));
        if (ran != others->ran[each] || ran == UINT64_MAX)
            return true;
    }
    return false;
}

void gc_threads_abandon(void) {
    if (folder >= 0)
        close(folder);
    folder = -1;
}
