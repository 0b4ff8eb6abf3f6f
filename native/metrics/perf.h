/* Counters of the kernel (perf_event_open). One that had to share the hardware with others ran only for a part of the
 * time: its difference is scaled by that part. */
#ifndef GS_METRICS_PERF_H
#define GS_METRICS_PERF_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct gs_perf_reading {
    uint64_t value, enabled, running;
} gs_perf_reading;

/* The attributes of a counter that says how long it ran. What happens in the kernel counts, too. */
struct perf_event_attr gs_perf_attributes(uint32_t type, uint64_t config);

/* A descriptor, or -1 and errno. For a thread on all CPUs (0 and -1: the calling one), or for a CPU with all that runs
 * there (-1 and its number). */
int gs_perf_open(const struct perf_event_attr *attributes, pid_t thread, int cpu);

bool gs_perf_read(int fd, gs_perf_reading *found);

/* How much a counter has counted meanwhile. */
double gs_perf_difference(const gs_perf_reading *now, const gs_perf_reading *before);

#endif
