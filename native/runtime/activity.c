/* The page of activity.h. It is a memory file; other processes find it through the name of a socket, which says
 * in which process and under which number it is open, and which goes away with the process however that ends. */
#define _GNU_SOURCE
#include "runtime/activity.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "abi/abi.h"
#include "memory/memory_file.h"
#include "metrics/processor.h"
#include "metrics/tracer.h"
#include "threads/fork.h"
#include "threads/lock.h"
#include "threads/meter.h"
#include "threads/wait.h"

/* Address space; what is not used of it takes no memory. */
enum { PAGE_BYTES = 1 << 20, LINE = GS_ACTIVITY_LINE };

typedef gs_activity_head page;

_Static_assert(sizeof(page) <= LINE, "records start at a cache line");

GS_STATIC_LOCK(lock, GS_SHORT_LOCK)
static page *mine;
static uint64_t origin; /* as in the page */
static int page_fd = -1, name_fd = -1;
static _Atomic bool published;
static _Thread_local gs_activity here;

/* --- The page ------------------------------------------------------------------------------------------ */

/* Field 22 of /proc/self/stat. The name before it may contain anything. */
static uint64_t start_time(void) {
    char text[1024];
    FILE *file = fopen("/proc/self/stat", "re");
    size_t length = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL)
        fclose(file);
    text[length] = 0;
    char *at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? strtoull(at, NULL, 10) : 0;
}

/* Memory for a page: a file if possible, else memory that nobody else sees. */
static page *map_page(int *fd) {
    *fd = gs_memory_file_named("groundstate", PAGE_BYTES);
    int kind = *fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *memory = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, kind, *fd, 0);
    if (memory != MAP_FAILED)
        return memory;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    return NULL;
}

static gs_meter *meter(gs_device_activity *record, uint32_t offset) { return (gs_meter *)((char *)record + offset); }

/* A child has the memory of its parent but none of its threads, and must not write into its parent's page. */
void gs_activity_after_fork(void) {
    int fd;
    if (mine == NULL)
        return;
    page *copy = map_page(&fd);
    if (name_fd >= 0)
        close(name_fd);
    name_fd = -1;
    published = false;
    if (copy == NULL)
        return;
    memcpy(copy, mine, mine->used);
    mremap(copy, PAGE_BYTES, PAGE_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, mine);
    if (page_fd >= 0)
        close(page_fd);
    page_fd = fd;
    here = (gs_activity){0};
    for (uint64_t offset = LINE; offset < mine->used;) {
        gs_device_activity *record = (gs_device_activity *)((char *)mine + offset);
        gs_meter_clear(meter(record, record->all_offset), record->workers);
        gs_meter_clear(meter(record, record->copies_offset), record->workers);
        offset += record->size;
    }
}

static bool open_page(void) {
    if (mine != NULL)
        return true;
    page *made = map_page(&page_fd);
    if (made == NULL)
        return false;
    made->magic = GS_ACTIVITY_MAGIC;
    made->origin = origin = gs_clock(CLOCK_MONOTONIC);
    made->used = LINE;
    mine = made;
    return true;
}

static uint32_t whole_lines(uint64_t bytes) { return (uint32_t)((bytes + LINE - 1) / LINE * LINE); }

gs_device_activity *gs_device_activity_new(uint32_t workers, uint64_t memory_bytes) {
    uint32_t head = whole_lines(sizeof(gs_device_activity));
    uint32_t each = whole_lines(sizeof(gs_meter) + sizeof(uint64_t) * workers);
    uint32_t size = head + 2 * each;
    gs_lock(&lock);
    gs_device_activity *record = NULL;
    bool fits = open_page() && mine->used + size <= PAGE_BYTES;
    if (fits)
        record = (gs_device_activity *)((char *)mine + mine->used);
    else
        record = calloc(1, size); /* counted, but seen by nobody else */
    if (record != NULL) {
        record->size = size;
        record->workers = workers;
        record->subdevice = -1;
        record->memory_bytes = memory_bytes;
        record->all_offset = head;
        record->copies_offset = head + each;
    }
    if (fits)
        mine->used += size;
    gs_unlock(&lock);
    return record;
}

void gs_activity_publish(void) {
    if (atomic_load_explicit(&published, memory_order_relaxed))
        return;
    gs_lock(&lock);
    if (!published && page_fd >= 0) {
        mine->pid = (uint64_t)getpid();
        mine->start_time = start_time();
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        /* The zero before the name makes it one that lies in no folder. */
        int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "groundstate/activity/1/%d/%llu/%d", getpid(),
                              (unsigned long long)mine->start_time, page_fd);
        name_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
        if (name_fd >= 0 && bind(name_fd, (struct sockaddr *)&name, size) != 0) {
            close(name_fd); /* then this process is counted by itself only */
            name_fd = -1;
        }
    }
    published = true;
    gs_unlock(&lock);
}

/* The page, for this process's own reading, and its size. */
GS_EXPORT const void *gs_activity_page(uint64_t *size) {
    *size = PAGE_BYTES;
    return mine;
}

/* --- Counting ------------------------------------------------------------------------------------------ */

/* The clock of the page. */
static uint64_t elapsed(void) { return gs_clock(CLOCK_MONOTONIC) - origin; }

void gs_activity_begin(gs_activity work) {
    here = work;
    gs_device_activity *record = work.record;
    if (record == NULL)
        return;
    uint64_t now = elapsed();
    here.since = now;
    gs_meter_enter(meter(record, record->all_offset), record->workers, now);
    if (work.copies)
        gs_meter_enter(meter(record, record->copies_offset), record->workers, now);
    if (work.counts != NULL && gs_work_is_traced())
        gs_trace_worker(work.counts, true);
    if (work.counts != NULL && gs_processor_is_counted())
        gs_processor_begin();
}

void gs_activity_end(void) {
    gs_activity work = here;
    gs_device_activity *record = work.record;
    here = (gs_activity){0};
    if (record == NULL)
        return;
    uint64_t now = elapsed();
    if (work.copies) /* first: it never counts more than all does */
        gs_meter_leave(meter(record, record->copies_offset), record->workers, now);
    gs_meter_leave(meter(record, record->all_offset), record->workers, now);
    if (work.counts != NULL) {
        GS_COUNT(work.counts, busy_time, now - work.since);
        gs_processor_end(work.counts);
        if (gs_work_is_traced())
            gs_trace_worker(work.counts, false);
    }
}

gs_activity gs_activity_current(void) { return here; }

uint64_t gs_activity_busy(const gs_device_activity *record) {
    const gs_meter *all = (const gs_meter *)((const char *)record + record->all_offset);
    return gs_meter_read(all, record->workers, elapsed);
}
