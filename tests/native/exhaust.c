/* When there is no room for another object, the answer is an error, and everything goes on when some are gone. */
#include "check.h"

static ze_result_t try_counter_event(ze_event_handle_t *made) {
    return zeEventCounterBasedCreate(
        on.context, on.device, &(ze_event_counter_based_desc_t){.stype = ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC},
        made);
}

int main(void) {
    if (SLOWER > 1)
        return 0; /* half a million objects take long under a sanitizer, and show it nothing new */
    set_up();
    uint64_t live = gs_live_objects(0);
    enum { MOST = 1 << 21 };
    ze_event_handle_t *events = calloc(MOST, sizeof *events);
    REQUIRE(events != NULL);
    uint32_t count = 0;
    ze_result_t result = ZE_RESULT_SUCCESS;
    while (count < MOST && (result = try_counter_event(&events[count])) == ZE_RESULT_SUCCESS)
        count++;
    REQUIRE(count > 100000 && count < MOST);
    REQUIRE(result == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY && last_error()[0] != 0);
    ze_command_list_handle_t list;
    result = zeCommandListCreateImmediate(on.context, on.device,
                                          &(ze_command_queue_desc_t){.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                                                     .flags = ZE_COMMAND_QUEUE_FLAG_IN_ORDER},
                                          &list);
    REQUIRE(result == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    CHECK(zeEventDestroy(events[--count]));
    list = new_immediate(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    CHECK(zeCommandListAppendSignalEvent(list, events[0]));
    CHECK(zeEventHostSynchronize(events[0], UINT64_MAX));
    CHECK(zeCommandListDestroy(list));
    while (count > 0)
        CHECK(zeEventDestroy(events[--count]));
    free(events);
    tear_down(live);
    return 0;
}
