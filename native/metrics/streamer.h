/* Metric streamers: what a device counts, in reports at regular times. */
#ifndef GS_METRICS_STREAMER_H
#define GS_METRICS_STREAMER_H

#include "metrics/group.h"

typedef struct gs_metric_streamer {
    gs_object object;
    gs_metric_group *group;
    gs_context *context; /* held */
    struct gs_sampler *sampler;
    struct gs_metric_streamer *next; /* of those that are open */
} gs_metric_streamer;

/* The work of a marker's command: a report that ends now and has the marker. */
void gs_metric_streamer_mark(gs_metric_streamer *streamer, uint32_t value);

/* The same for all streamers of a group. */
void gs_metric_streamers_mark(const gs_metric_group *group, uint32_t value);

#endif
