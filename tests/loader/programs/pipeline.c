/* A pipeline of fills and copies on two queues, ordered by events, ended by a fence, with timestamps. */
#include "common.h"

enum { SIZE = 1 << 20, STAGES = 4 };

static void check_timestamps(ze_event_handle_t event) {
    ze_kernel_timestamp_result_t stamp = {0};
    CHECK(zeEventQueryKernelTimestamp(event, &stamp));
    REQUIRE(stamp.global.kernelEnd != 0);
}

int main(void) {
    setup on = first_device();
    ze_event_pool_handle_t pool = new_pool(on, STAGES, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
    ze_event_handle_t stage[STAGES];
    for (uint32_t i = 0; i < STAGES; i++)
        stage[i] = new_event(pool, i);

    uint8_t *source = host_memory(on, SIZE), *result = host_memory(on, SIZE);
    void *middle = device_memory(on, SIZE);
    for (size_t i = 0; i < SIZE; i++)
        source[i] = (uint8_t)(i * 7 + (i >> 8));
    memset(result, 0, SIZE);

    /* The second queue is started first: it has to wait for the first, which waits for the host. */
    ze_command_queue_handle_t writer = new_queue(on), reader = new_queue(on);
    ze_command_list_handle_t write = new_list(on), read = new_list(on);
    const uint32_t pattern = 0xabcd1234;
    CHECK(zeCommandListAppendWaitOnEvents(write, 1, &stage[0]));
    CHECK(zeCommandListAppendMemoryCopy(write, middle, source, SIZE, stage[1], 0, NULL));
    CHECK(zeCommandListAppendMemoryFill(write, (char *)middle + 4096, &pattern, sizeof pattern, 8192,
                                        stage[2], 1, &stage[1]));
    CHECK(zeCommandListClose(write));
    CHECK(zeCommandListAppendMemoryCopy(read, result, middle, SIZE, stage[3], 1, &stage[2]));
    CHECK(zeCommandListClose(read));

    ze_fence_desc_t description = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
    ze_fence_handle_t fence = NULL;
    CHECK(zeFenceCreate(reader, &description, &fence));
    CHECK(zeCommandQueueExecuteCommandLists(reader, 1, &read, fence));
    CHECK(zeCommandQueueExecuteCommandLists(writer, 1, &write, NULL));
    REQUIRE(zeFenceQueryStatus(fence) == ZE_RESULT_NOT_READY);
    REQUIRE(zeEventHostSynchronize(stage[3], 0) == ZE_RESULT_NOT_READY);

    CHECK(zeEventHostSignal(stage[0]));
    CHECK(zeFenceHostSynchronize(fence, UINT64_MAX));
    CHECK(zeCommandQueueSynchronize(writer, UINT64_MAX));
    CHECK(zeEventQueryStatus(stage[3]));

    for (size_t i = 0; i < SIZE; i++) {
        bool filled = i >= 4096 && i < 4096 + 8192;
        uint8_t expected = filled ? (uint8_t)(pattern >> (8 * (i % 4))) : source[i];
        REQUIRE(result[i] == expected);
    }
    for (uint32_t i = 1; i < STAGES; i++)
        check_timestamps(stage[i]);

    CHECK(zeFenceDestroy(fence));
    CHECK(zeCommandListDestroy(write));
    CHECK(zeCommandListDestroy(read));
    CHECK(zeCommandQueueDestroy(writer));
    CHECK(zeCommandQueueDestroy(reader));
    for (uint32_t i = 0; i < STAGES; i++)
        CHECK(zeEventDestroy(stage[i]));
    CHECK(zeEventPoolDestroy(pool));
    CHECK(zeMemFree(on.context, source));
    CHECK(zeMemFree(on.context, result));
    CHECK(zeMemFree(on.context, middle));
    CHECK(zeContextDestroy(on.context));
    puts("pipeline ok");
    return 0;
}
