/* Metric streamers: what a device counts, in reports at regular times. */
#ifndef GS_METRICS_STREAMER_H
#define GS_METRICS_STREAMER_H

#include "metrics/group.h"

typedef struct gs_metric_streamer {
    gs_object object;
    gs_metric_group *group;
    gs_context *context; /* held */
    struct gs_sampler *sampler;
} gs_metric_streamer;

/* The work of a marker's command: a report that ends now and has the marker. */
void gs_metric_streamer_mark(gs_metric_streamer *streamer, uint32_t value);

#endif
