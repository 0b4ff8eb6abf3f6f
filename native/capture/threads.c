/* The driver's threads, and the recorder's, have names that begin with "gs-". Threads that are known by now are not asked
 * for theirs again: this happens at each submission. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "threads.h"

enum { KNOWN = 256, FRESH = 1000000 };

static int folder = -1;
static long known[KNOWN]; /* threads of the driver, by number */

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

/* Looks at all threads. An entry is at most 32 bytes long: what leaves room for more is the end of the list. */
static bool look_for_others(void) {
    _Alignas(entry) char buffer[4096];
    long own = syscall(SYS_gettid), length = sizeof buffer;
    if (lseek(folder, 0, SEEK_SET) != 0)
        return true;
    while (length > (long)sizeof buffer - 32) {
        length = syscall(SYS_getdents64, folder, buffer, sizeof buffer);
        if (length < 0)
            return true;
        for (long at = 0; at < length; at += ((entry *)(buffer + at))->length) {
            const entry *each = (const entry *)(buffer + at);
            long number = each->name[0] != '.' ? atol(each->name) : own;
            if (number != own && !is_drivers(number))
                return true;
        }
    }
    return false;
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* The folder has a link for each thread. As long as their number stays, and nobody had the time to take the place of another
 * one, the answer does, too. */
bool gc_threads_others(void) {
    static uint64_t looked, links;
    static pthread_t asked_by;
    static bool answer;
    struct stat status;
    if (folder < 0)
        folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || fstat(folder, &status) != 0)
        return true;
    uint64_t time = now();
    if (status.st_nlink != links || asked_by != pthread_self() || time - looked > FRESH) {
        answer = look_for_others();
        links = status.st_nlink;
        asked_by = pthread_self();
        looked = time;
    }
    return answer;
}

void gc_threads_abandon(void) {
    if (folder >= 0)
        close(folder);
    folder = -1;
}
