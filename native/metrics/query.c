#include "metrics/query.h"

#include <stdlib.h>
#include <string.h>

#include "objects/list.h"
#include "threads/wait.h"

typedef struct gs_query_contents {
    gs_metric_counts before; /* of the queue, when the query began */
    struct {
        gs_metric_report head;
        uint64_t words[GS_COUNT_WORDS];
    } report;
} gs_query_contents;

/* --- Pools ----------------------------------------------------------------------------------------------- */

static void release_pool(gs_object *object) {
    gs_query_pool *pool = (gs_query_pool *)object;
    pool->group->pools--;
    gs_object_drop(pool->group);
    gs_object_drop(pool->context);
}

ze_result_t gs_zetMetricQueryPoolCreate(zet_context_handle_t hContext, zet_device_handle_t hDevice,
                                        zet_metric_group_handle_t hMetricGroup, const zet_metric_query_pool_desc_t *desc,
                                        zet_metric_query_pool_handle_t *phMetricQueryPool) {
    const enum gs_function function = GS_FN_zetMetricQueryPoolCreate;
    gs_metric_group *group = (gs_metric_group *)hMetricGroup;
    ze_result_t result = gs_metric_group_check(function, group, (gs_context *)hContext, (gs_device *)hDevice,
                                               ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_EVENT_BASED);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (desc->count == 0)
        return gs_fail(ZE_RESULT_ERROR_INVALID_SIZE, "zetMetricQueryPoolCreate: a pool needs room for a query (desc->count)");
    if (desc->type != ZET_METRIC_QUERY_POOL_TYPE_PERFORMANCE)
        return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                       "zetMetricQueryPoolCreate: queries that skip what they would measure "
                       "(ZET_METRIC_QUERY_POOL_TYPE_EXECUTION) are not supported");
    gs_query_pool *pool = gs_object_new(GS_KIND_ZET_METRIC_QUERY_POOL, release_pool);
    if (pool == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another pool of metric queries");
    pool->context = (gs_context *)hContext;
    pool->group = group;
    gs_object_hold(group);
    group->pools++;
    pool->count = desc->count;
    gs_object_hold(pool->context);
    gs_object_complete(pool, pool->context);
    *phMetricQueryPool = (zet_metric_query_pool_handle_t)pool;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zetMetricQueryPoolDestroy(zet_metric_query_pool_handle_t hMetricQueryPool) {
    uint32_t queries = ((gs_query_pool *)hMetricQueryPool)->queries;
    if (queries > 0)
        return gs_fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
                       "zetMetricQueryPoolDestroy: %u of the pool's queries are left; destroy them first", queries);
    gs_object_close(hMetricQueryPool);
    return ZE_RESULT_SUCCESS;
}

/* --- Queries --------------------------------------------------------------------------------------------- */

static void release_query(gs_object *object) {
    gs_metric_query *query = (gs_metric_query *)object;
    free(query->contents);
    gs_object_drop(query->pool);
}

ze_result_t gs_zetMetricQueryCreate(zet_metric_query_pool_handle_t hMetricQueryPool, uint32_t index,
                                    zet_metric_query_handle_t *phMetricQuery) {
    gs_query_pool *pool = (gs_query_pool *)hMetricQueryPool;
    if (index >= pool->count)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "zetMetricQueryCreate: index %u is not below the pool's count, %u",
                       index, pool->count);
    gs_query_contents *contents = calloc(1, sizeof *contents);
    gs_metric_query *query = contents != NULL ? gs_object_new(GS_KIND_ZET_METRIC_QUERY, release_query) : NULL;
    if (query == NULL) {
        free(contents);
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another metric query");
    }
    query->contents = contents;
    query->pool = pool;
    pool->queries++;
    gs_object_hold(pool);
    gs_object_complete(query, pool->context);
    *phMetricQuery = (zet_metric_query_handle_t)query;
    return ZE_RESULT_SUCCESS;
}

/* Lists that still refer to the query hold it. */
ze_result_t gs_zetMetricQueryDestroy(zet_metric_query_handle_t hMetricQuery) {
    gs_query_pool *pool = ((gs_metric_query *)hMetricQuery)->pool;
    gs_object_hold(pool);
    if (gs_object_close(hMetricQuery))
        pool->queries--;
    gs_object_drop(pool);
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zetMetricQueryReset(zet_metric_query_handle_t hMetricQuery) {
    ((gs_metric_query *)hMetricQuery)->state = GS_QUERY_NEW;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zetMetricQueryGetData(zet_metric_query_handle_t hMetricQuery, size_t *pRawDataSize, uint8_t *pRawData) {
    const gs_metric_query *query = (const gs_metric_query *)hMetricQuery;
    const uint64_t bytes = gs_metric_report_bytes(query->pool->group);
    if (query->state == GS_QUERY_NOT_COUNTED)
        return gs_fail(ZE_RESULT_ERROR_NOT_AVAILABLE,
                       "zetMetricQueryGetData: nothing was counted, because no metric group was active when the query began "
                       "or no memory was left");
    if (query->state != GS_QUERY_ENDED)
        return gs_fail(ZE_RESULT_NOT_READY,
                       "zetMetricQueryGetData: the query has not ended; wait for its list (zetCommandListAppendMetricQueryEnd)");
    if (*pRawDataSize == 0 || pRawData == NULL) {
        *pRawDataSize = bytes;
        return ZE_RESULT_SUCCESS;
    }
    *pRawDataSize = *pRawDataSize >= bytes ? bytes : 0;
    memcpy(pRawData, &query->contents->report, *pRawDataSize);
    return ZE_RESULT_SUCCESS;
}

/* --- In lists -------------------------------------------------------------------------------------------- */

static ze_result_t append(enum gs_function function, gs_operation operation, zet_command_list_handle_t hList,
                          zet_metric_query_handle_t hQuery, ze_event_handle_t signal, uint32_t wait_count,
                          ze_event_handle_t *waits) {
    const gs_list *list = (const gs_list *)hList;
    gs_metric_query *query = (gs_metric_query *)hQuery;
    const gs_metric_group *group = query->pool->group;
    for (const gs_device *device = list->device; device != group->device; device = device->parent)
        if (device->parent == NULL)
            return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: the query is one of another device than the list",
                           gs_function_names[function]);
    ze_result_t result = gs_metric_group_check_active(function, group);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_object_hold(query);
    gs_command command = {.operation = operation, .query_object = query, .blocks_later = true};
    return gs_append(function, (ze_command_list_handle_t)hList, &command, signal, wait_count, waits);
}

ze_result_t gs_zetCommandListAppendMetricQueryBegin(zet_command_list_handle_t hCommandList,
                                                    zet_metric_query_handle_t hMetricQuery) {
    return append(GS_FN_zetCommandListAppendMetricQueryBegin, GS_BEGIN_METRIC_QUERY, hCommandList, hMetricQuery, NULL, 0,
                  NULL);
}

ze_result_t gs_zetCommandListAppendMetricQueryEnd(zet_command_list_handle_t hCommandList,
                                                  zet_metric_query_handle_t hMetricQuery, ze_event_handle_t hSignalEvent,
                                                  uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    return append(GS_FN_zetCommandListAppendMetricQueryEnd, GS_END_METRIC_QUERY, hCommandList, hMetricQuery, hSignalEvent,
                  numWaitEvents, phWaitEvents);
}

/* Counts are written by the threads that do the work, in memory that is coherent: a barrier is enough. */
ze_result_t gs_zetCommandListAppendMetricMemoryBarrier(zet_command_list_handle_t hCommandList) {
    return gs_append(GS_FN_zetCommandListAppendMetricMemoryBarrier, (ze_command_list_handle_t)hCommandList,
                     &(gs_command){.operation = GS_NOTHING, .blocks_later = true}, NULL, 0, NULL);
}

void gs_metric_query_begin(gs_metric_query *query, const gs_queue_counts *counts) {
    query->state = counts != NULL ? GS_QUERY_BEGUN : GS_QUERY_NOT_COUNTED;
    if (counts == NULL)
        return;
    gs_counts_copy(&query->contents->before, &counts->values);
    query->contents->report.head.start = gs_timestamp();
}

void gs_metric_query_end(gs_metric_query *query, const gs_queue_counts *counts) {
    gs_query_contents *contents = query->contents;
    const gs_metric_group *group = query->pool->group;
    if (query->state != GS_QUERY_BEGUN || counts == NULL) {
        query->state = GS_QUERY_NOT_COUNTED;
        return;
    }
    gs_metric_counts after;
    contents->report.head.end = gs_timestamp();
    contents->report.head.workers = gs_thread_pool_width(group->device->pool);
    gs_counts_copy(&after, &counts->values);
    gs_counts_subtract(contents->report.words, &after, &contents->before, group->first, group->count);
    query->state = GS_QUERY_ENDED;
}
