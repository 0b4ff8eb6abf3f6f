/* Whether the program can still do something: which of its threads run, or will by themselves. A thread that waits for another
 * one without a limit of time is woken by somebody who acts, so it does not count. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check/host/host_waits.h"

/* The first bytes of a file of a thread; false if the thread is gone or the file is not ours to read. */
static bool read_file(int thread, const char *name, char *text, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/%s", thread, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, text, size - 1) : -1;
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = 0;
    return length > 0;
}

static bool waits_without_limit(int thread) {
    char text[256];
    unsigned long number, address, operation, value, timeout;
    if (!read_file(thread, "syscall", text, sizeof text) ||
        sscanf(text, "%lu %lx %lx %lx %lx", &number, &address, &operation, &value, &timeout) != 5)
        return false;
    int command = (int)operation & FUTEX_CMD_MASK;
    return number == SYS_futex && (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) && timeout == 0;
}

static bool may_act(int thread) {
    char name[32];
    if (!read_file(thread, "comm", name, sizeof name) || strncmp(name, "gs-", 3) == 0)
        return false;
    return !waits_without_limit(thread);
}

static bool is_among(int thread, const int *threads, size_t count) {
    for (size_t each = 0; each < count; each++)
        if (threads[each] == thread)
            return true;
    return false;
}

bool gs_host_threads_may_act(const int *waiting, size_t count) {
    DIR *folder = opendir("/proc/self/task");
    bool found = folder == NULL; /* who knows */
    for (struct dirent *entry; !found && (entry = readdir(folder)) != NULL;) {
        int thread = atoi(entry->d_name);
        found = thread > 0 && !is_among(thread, waiting, count) && may_act(thread);
    }
    if (folder != NULL)
        closedir(folder);
    return found;
}
