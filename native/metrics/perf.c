#include "metrics/perf.h"

#include <sys/syscall.h>
#include <unistd.h>

struct perf_event_attr gs_perf_attributes(uint32_t type, uint64_t config) {
    return (struct perf_event_attr){
        .size = sizeof(struct perf_event_attr),
        .type = type,
        .config = config,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
}

int gs_perf_open(const struct perf_event_attr *attributes, pid_t thread, int cpu) {
    return (int)syscall(SYS_perf_event_open, attributes, thread, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

bool gs_perf_read(int fd, gs_perf_reading *found) {
    return fd >= 0 && read(fd, found, sizeof *found) == sizeof *found;
}

double gs_perf_difference(const gs_perf_reading *now, const gs_perf_reading *before) {
    double value = (double)(now->value - before->value);
    uint64_t enabled = now->enabled - before->enabled, running = now->running - before->running;
    return running > 0 && running < enabled ? value * (double)enabled / (double)running : value;
}
