/* The driver's threads, and the recorder's, have names that begin with "gs-". Threads that are known by now are not asked
 * for theirs again: this happens at each submission. */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "threads.h"

enum { KNOWN = 256 };

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

bool gc_threads_others(void) {
    _Alignas(entry) char buffer[4096];
    long own = (long)gettid();
    if (folder < 0)
        folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || lseek(folder, 0, SEEK_SET) != 0)
        return true;
    for (;;) {
        long length = syscall(SYS_getdents64, folder, buffer, sizeof buffer);
        if (length <= 0)
            return length < 0;
        for (long at = 0; at < length; at += ((entry *)(buffer + at))->length) {
            const entry *each = (const entry *)(buffer + at);
            long number = each->name[0] != '.' ? atol(each->name) : own;
            if (number != own && !is_drivers(number))
                return true;
        }
    }
}

void gc_threads_abandon(void) {
    if (folder >= 0)
        close(folder);
    folder = -1;
}
