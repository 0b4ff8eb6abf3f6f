/* Memory that a script names: it may be gone, or be read-only, and then the script is told instead of killed. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "capture/script/sandbox.h"
#include "capture/script/script.h"

enum { LOWEST = 4096, PAGE = 4096, UNDO_LIMIT = 1 << 20 };

/* What was in memory before a hook wrote there: a head and the bytes. The log has one after the other. */
typedef struct earlier {
    void *address; /* NULL if there is nothing to go back to */
    size_t size;
    size_t previous; /* where the head before this one is */
} earlier;

typedef struct undo_log {
    uint8_t *bytes;
    size_t used, capacity, last;
} undo_log;

static _Thread_local undo_log undo;
static _Thread_local uintptr_t stack_low, stack_high;

/* A thread's own stack needs no check, and most descriptors are there. */
static bool on_stack(const void *address, size_t size) {
    if (stack_high == 0) {
        pthread_attr_t about;
        void *low = NULL;
        size_t all = 0;
        if (pthread_getattr_np(pthread_self(), &about) == 0) {
            pthread_attr_getstack(&about, &low, &all);
            pthread_attr_destroy(&about);
        }
        stack_low = (uintptr_t)low;
        stack_high = (uintptr_t)low + all + 1;
    }
    uintptr_t here = (uintptr_t)&here, at = (uintptr_t)address;
    return at >= here && here >= stack_low && at < stack_high - 1 && size <= stack_high - 1 - at;
}

typedef ssize_t (*transfer)(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long,
                            unsigned long);

/* Through a pipe the system copies, too, at two calls a page; it is there where nobody may look at processes. False if there
 * is no pipe. */
static bool copy_through_pipe(char *to, const char *from, size_t size, bool *is_done) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    *is_done = true;
    for (size_t at = 0; at < size && *is_done;) {
        size_t step = size - at < PAGE ? size - at : PAGE;
        *is_done = write(ends[1], from + at, step) == (ssize_t)step && read(ends[0], to + at, step) == (ssize_t)step;
        at += step;
    }
    close(ends[0]);
    close(ends[1]);
    return true;
}

/* Lets the system copy, which notices what is not there. Where it cannot at all, we copy as programs do. */
static bool copy_checked(transfer by, void *own, const void *there, size_t size, bool writes) {
    struct iovec local = {own, size}, remote = {(void *)there, size};
    ssize_t done = by(getpid(), &local, 1, &remote, 1, 0);
    if (done >= 0 || (errno != ENOSYS && errno != EPERM))
        return done == (ssize_t)size;
    void *to = writes ? (void *)there : own;
    const void *from = writes ? own : there;
    bool is_done = false;
    if (copy_through_pipe(to, from, size, &is_done) || gc_sandboxed())
        return is_done;
    memcpy(to, from, size);
    return true;
}

bool gc_script_read(const void *from, void *to, size_t size) {
    if ((uintptr_t)from < LOWEST)
        return false;
    if (!on_stack(from, size))
        return copy_checked(process_vm_readv, to, from, size, false);
    memcpy(to, from, size);
    return true;
}

bool gc_script_readable(const void *from, size_t size) {
    char bytes[512];
    if (on_stack(from, size))
        return true;
    for (size_t at = 0; at < size; at += sizeof bytes)
        if (!gc_script_read((const char *)from + at, bytes, size - at < sizeof bytes ? size - at : sizeof bytes))
            return false;
    return true;
}

/* Without memory for the log, or in a hook that writes very much, there is nothing to go back to. */
static void remember(void *address, size_t size) {
    size_t more = sizeof(earlier) + size;
    if (gc_hooked_call_here == NULL || undo.used + more > UNDO_LIMIT)
        return;
    if (undo.used + more > undo.capacity) {
        uint8_t *bytes = realloc(undo.bytes, (undo.used + more) * 2);
        if (bytes == NULL)
            return;
        undo.bytes = bytes;
        undo.capacity = (undo.used + more) * 2;
    }
    earlier head = {address, size, undo.last};
    memcpy(undo.bytes + undo.used, &head, sizeof head);
    if (gc_script_read(address, undo.bytes + undo.used + sizeof head, size)) {
        undo.last = undo.used;
        undo.used += more;
    }
}

bool gc_script_write(void *to, const void *from, size_t size) {
    if ((uintptr_t)to < LOWEST)
        return false;
    remember(to, size);
    if (!on_stack(to, size))
        return copy_checked(process_vm_writev, (void *)from, to, size, true);
    memcpy(to, from, size);
    return true;
}

long gc_script_length(const char *from, size_t limit) {
    char bytes[PAGE];
    size_t length = 0;
    while (length < limit) {
        size_t left = PAGE - (uintptr_t)(from + length) % PAGE;
        size_t size = left < limit - length ? left : limit - length;
        if (!gc_script_read(from + length, bytes, size))
            return -1;
        const char *end = memchr(bytes, 0, size);
        if (end != NULL)
            return (long)(length + (size_t)(end - bytes));
        length += size;
    }
    return (long)length;
}

void gc_script_undo_writes(void) {
    while (undo.used > 0) {
        earlier head;
        memcpy(&head, undo.bytes + undo.last, sizeof head);
        if (head.address != NULL)
            copy_checked(process_vm_writev, undo.bytes + undo.last + sizeof head, head.address, head.size, true);
        undo.used = undo.last;
        undo.last = head.previous;
    }
    gc_script_keep_writes();
}

void gc_script_keep_writes(void) {
    free(undo.bytes);
    undo = (undo_log){0};
}

void gc_script_forget(const void *from, size_t size) {
    earlier head;
    for (size_t at = 0; at < undo.used; at += sizeof head + head.size) {
        memcpy(&head, undo.bytes + at, sizeof head);
        if ((uintptr_t)head.address - (uintptr_t)from >= size)
            continue;
        head.address = NULL;
        memcpy(undo.bytes + at, &head, sizeof head);
    }
}
