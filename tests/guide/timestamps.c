/* An event of a pool with timestamps knows when its kernel began and ended. */
#include "guide.h"

enum { ITEMS = 4096, GROUP = 256 };

static const double NANOSECONDS_PER_SECOND = 1e9;

/* From one stamp to the other, though the counter may have gone round in between. */
static double nanoseconds(uint64_t start, uint64_t end, uint64_t largest, double per_tick) {
    uint64_t ticks = end >= start ? end - start : largest - start + end + 1;
    return (double)ticks * per_tick;
}

int main(int count, char **arguments) {
    (void)count;
    place at = begin();
    /* By this name, the properties have the resolution in ticks per second. */
    ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2};
    CHECK(zeDeviceGetProperties(at.device, &properties));
    const double per_tick = NANOSECONDS_PER_SECOND / (double)properties.timerResolution;
    const uint64_t largest = UINT64_MAX >> (64 - properties.kernelTimestampValidBits);

    ze_event_pool_handle_t stamping = new_pool(at, 1, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
    ze_event_pool_handle_t plain = new_pool(at, 1, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
    ze_event_handle_t launched = new_event(stamping, 0), queried = new_event(plain, 0);

    ze_module_handle_t module = load_module(at, arguments, "source");
    ze_kernel_handle_t kernel = new_kernel(module, "work", GROUP);
    float *numbers = shared_memory(at, ITEMS * sizeof *numbers);
    ze_kernel_timestamp_result_t *result = shared_memory(at, sizeof *result);
    set_pointer(kernel, 0, numbers);

    /* The list itself asks the event, after the kernel, and the host reads the answer. */
    ze_command_queue_handle_t queue = new_queue(at);
    ze_command_list_handle_t list = new_list(at);
    ze_group_count_t groups = {ITEMS / GROUP, 1, 1};
    uint64_t host_before, host_after, before, after;
    CHECK(zeDeviceGetGlobalTimestamps(at.device, &host_before, &before));
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, launched, 0, NULL));
    CHECK(zeCommandListAppendQueryKernelTimestamps(list, 1, &launched, result, NULL, queried, 1, &launched));
    CHECK(zeCommandListClose(list));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    CHECK(zeEventHostSynchronize(queried, UINT64_MAX));
    CHECK(zeDeviceGetGlobalTimestamps(at.device, &host_after, &after));

    double whole = nanoseconds(before & largest, after & largest, largest, per_tick);
    double global = nanoseconds(result->global.kernelStart, result->global.kernelEnd, largest, per_tick);
    double context = nanoseconds(result->context.kernelStart, result->context.kernelEnd, largest, per_tick);
    printf("the kernel took some time, but not more than all of it: %s\n", yes_no[0 < global && global <= whole]);
    printf("and not less than the context had the device: %s\n", yes_no[0 < context && context <= global]);
    REQUIRE(0 < global && global <= whole && 0 < context && context <= global);

    /* The host can ask by itself, too. */
    ze_kernel_timestamp_result_t asked;
    CHECK(zeEventQueryKernelTimestamp(launched, &asked));
    printf("the host is told the same: %s\n", yes_no[memcmp(&asked, result, sizeof asked) == 0]);
    REQUIRE(memcmp(&asked, result, sizeof asked) == 0);

    CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    CHECK(zeEventDestroy(launched));
    CHECK(zeEventDestroy(queried));
    CHECK(zeEventPoolDestroy(stamping));
    CHECK(zeEventPoolDestroy(plain));
    CHECK(zeMemFree(at.context, numbers));
    CHECK(zeMemFree(at.context, result));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeCommandQueueDestroy(queue));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(module));
    return end(at);
}
