/* Counters are files of the kernel with a number, or those of perf_event_open. Which there are is found by
 * driver/metrics/package.py. A streamer opens its own. */
#include "metrics/package.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/abi.h"
#include "metrics/perf.h"
#include "threads/lock.h"

/* A counter of a device. It stays, as the device does. */
typedef struct counter {
    struct counter *next;
    const struct gs_device *device;
    uint32_t word;   /* of gs_metric_counts */
    char *path;      /* of a file, or NULL: an event */
    uint64_t turn;   /* the file's largest number, after which it begins anew */
    uint32_t type;   /* of an event */
    uint64_t config;
    int cpu;
    double scale;    /* what one of it stands for */
} counter;

typedef struct open_counter {
    const counter *of;
    int fd;
    gs_perf_reading last;
    double total;
} open_counter;

struct gs_package_readings {
    uint32_t count;
    open_counter counters[];
};

GS_STATIC_LOCK(lock, GS_SHORT_LOCK)
static counter *all;

/* --- Counters -------------------------------------------------------------------------------------------- */

static int open_one(const counter *wanted) {
    if (wanted->path != NULL)
        return open(wanted->path, O_RDONLY | O_CLOEXEC);
    const struct perf_event_attr attributes = gs_perf_attributes(wanted->type, wanted->config);
    return gs_perf_open(&attributes, -1, wanted->cpu);
}

static bool read_one(const counter *of, int fd, gs_perf_reading *found) {
    if (of->path == NULL)
        return gs_perf_read(fd, found);
    char text[32] = "", *end;
    if (fd < 0 || pread(fd, text, sizeof text - 1, 0) <= 0)
        return false;
    *found = (gs_perf_reading){.value = strtoull(text, &end, 10)};
    return end != text;
}

static double difference(const counter *of, const gs_perf_reading *now, const gs_perf_reading *last) {
    if (of->path == NULL)
        return gs_perf_difference(now, last);
    if (now->value >= last->value)
        return (double)(now->value - last->value);
    return (double)now->value + (of->turn > last->value ? (double)(of->turn - last->value) : 0);
}

static bool can_be_read(const counter *wanted) {
    gs_perf_reading found;
    int fd = open_one(wanted);
    bool is_read = read_one(wanted, fd, &found);
    if (fd >= 0)
        close(fd);
    return is_read;
}

static bool keep(const counter *wanted) {
    counter *made = malloc(sizeof *made);
    if (made == NULL)
        return false;
    *made = *wanted;
    if (wanted->path != NULL && (made->path = strdup(wanted->path)) == NULL) {
        free(made);
        return false;
    }
    gs_lock(&lock);
    made->next = all;
    all = made;
    gs_unlock(&lock);
    return true;
}

/* Adds a counter to those of a device, or only tries whether it can be read (device NULL). */
GS_EXPORT bool gs_package_add_file(const struct gs_device *device, uint32_t word, char *path, uint64_t turn) {
    const counter wanted = {.device = device, .word = word, .path = path, .turn = turn, .scale = 1};
    return device != NULL ? keep(&wanted) : can_be_read(&wanted);
}

GS_EXPORT bool gs_package_add_event(const struct gs_device *device, uint32_t word, uint32_t type, uint64_t config, int cpu,
                                    double scale) {
    const counter wanted = {
        .device = device, .word = word, .type = type, .config = config, .cpu = cpu, .scale = scale};
    return device != NULL ? keep(&wanted) : can_be_read(&wanted);
}

/* --- Readings -------------------------------------------------------------------------------------------- */

static uint32_t count_of(const struct gs_device *device) {
    uint32_t count = 0;
    for (const counter *each = all; each != NULL; each = each->next)
        count += each->device == device;
    return count;
}

gs_package_readings *gs_package_open(const struct gs_device *device) {
    gs_lock(&lock);
    gs_package_readings *made = calloc(1, sizeof *made + count_of(device) * sizeof *made->counters);
    for (const counter *each = all; each != NULL && made != NULL; each = each->next)
        if (each->device == device)
            made->counters[made->count++] = (open_counter){.of = each, .fd = -1};
    gs_unlock(&lock);
    for (uint32_t each = 0; made != NULL && each < made->count; each++) {
        open_counter *one = &made->counters[each];
        one->fd = open_one(one->of);
        if (one->fd >= 0 && !read_one(one->of, one->fd, &one->last)) {
            close(one->fd);
            one->fd = -1;
        }
    }
    return made;
}

void gs_package_close(gs_package_readings *readings) {
    for (uint32_t each = 0; readings != NULL && each < readings->count; each++)
        if (readings->counters[each].fd >= 0)
            close(readings->counters[each].fd);
    free(readings);
}

void gs_package_read(gs_package_readings *readings, gs_metric_counts *counts) {
    double totals[GS_COUNT_WORDS] = {0};
    gs_perf_reading now;
    for (uint32_t each = 0; each < readings->count; each++) {
        open_counter *one = &readings->counters[each];
        if (read_one(one->of, one->fd, &now)) {
            one->total += difference(one->of, &now, &one->last) * one->of->scale;
            one->last = now;
        }
        totals[one->of->word] += one->total;
    }
    for (uint32_t each = 0; each < readings->count; each++) {
        const uint32_t word = readings->counters[each].of->word;
        ((uint64_t *)counts)[word] = (uint64_t)totals[word];
    }
}
