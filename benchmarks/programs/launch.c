/* How long an empty kernel takes from append to the host knowing that it has run.
 * Usage: launch LIBRARY SPIRV_FILE ROUNDS LAUNCHES_PER_ROUND */
#include "level_zero.h"

static ze_command_list_handle_t plain, in_order, closed;
static ze_command_queue_handle_t queue;
static ze_event_handle_t event;
static ze_kernel_handle_t kernel;
static const ze_group_count_t one_group = {1, 1, 1};

static void launch(ze_command_list_handle_t list, ze_event_handle_t signal) {
    CHECK(ze.zeCommandListAppendLaunchKernel(list, kernel, &one_group, signal, 0, NULL));
}

static void wait_for_event(void) {
    launch(plain, event);
    CHECK(ze.zeEventHostSynchronize(event, UINT64_MAX));
    CHECK(ze.zeEventHostReset(event));
}

static void wait_for_list(void) {
    launch(in_order, NULL);
    CHECK(ze.zeCommandListHostSynchronize(in_order, UINT64_MAX));
}

static void execute_and_wait(void) {
    CHECK(ze.zeCommandQueueExecuteCommandLists(queue, 1, &closed, NULL));
    CHECK(ze.zeCommandQueueSynchronize(queue, UINT64_MAX));
}

static void prepare_lists(void) {
    plain = immediate_list(0);
    in_order = immediate_list(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    event = new_event(event_pool(), 0);
    ze_command_queue_desc_t queue_description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                                 .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    CHECK(ze.zeCommandQueueCreate(context, device, &queue_description, &queue));
    ze_command_list_desc_t list_description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    CHECK(ze.zeCommandListCreate(context, device, &list_description, &closed));
    launch(closed, NULL);
    CHECK(ze.zeCommandListClose(closed));
}

static void measure(const char *name, void (*once)(void), uint64_t launches) {
    uint64_t start = now();
    for (uint64_t each = 0; each < launches; each++)
        once();
    print_sample(name, now() - start, launches);
}

int main(int count, char **arguments) {
    REQUIRE(count == 5);
    uint64_t rounds = number(arguments[3]), launches = number(arguments[4]);
    start_level_zero(arguments[1]);
    kernel = empty_kernel(arguments[2]);
    prepare_lists();
    for (uint64_t round = 0; round < rounds; round++) {
        measure("event", wait_for_event, launches);
        measure("queue", execute_and_wait, launches);
        if (ze.zeCommandListHostSynchronize != NULL)
            measure("list", wait_for_list, launches);
    }
    return 0;
}
