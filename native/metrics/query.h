/* Metric queries: what one queue counts between two commands. */
#ifndef GS_METRICS_QUERY_H
#define GS_METRICS_QUERY_H

#include "metrics/group.h"

typedef struct gs_query_pool {
    gs_object object;
    gs_context *context;
    gs_metric_group *group;
    uint32_t count;
    _Atomic uint32_t queries; /* live handles */
} gs_query_pool;

typedef enum gs_query_state { GS_QUERY_NEW, GS_QUERY_BEGUN, GS_QUERY_ENDED, GS_QUERY_NOT_COUNTED } gs_query_state;

typedef struct gs_metric_query {
    gs_object object;
    gs_query_pool *pool; /* held */
    _Atomic gs_query_state state;
    struct gs_query_contents *contents;
} gs_metric_query;

/* The work of the two commands. `counts` is where the queue counts, or NULL. */
void gs_metric_query_begin(gs_metric_query *query, const gs_queue_counts *counts);
void gs_metric_query_end(gs_metric_query *query, const gs_queue_counts *counts);

#endif
