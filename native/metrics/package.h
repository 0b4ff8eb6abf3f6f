/* What the machine counts of itself, whoever works: the energy of packages and memory, and the traffic of memory. */
#ifndef GS_METRICS_PACKAGE_H
#define GS_METRICS_PACKAGE_H

#include "metrics/counts.h"

/* Counters that a streamer has open. */
typedef struct gs_package_readings gs_package_readings;

/* Opens those of a device: NULL if memory ran out. */
gs_package_readings *gs_package_open(const struct gs_device *device);
void gs_package_close(gs_package_readings *readings);

/* Writes what they have counted since they were opened. */
void gs_package_read(gs_package_readings *readings, gs_metric_counts *counts);

#endif
