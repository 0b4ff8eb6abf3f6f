/* How long an empty barrier takes from append to the host knowing that it is over.
 * Usage: barrier LIBRARY ROUNDS BARRIERS_PER_ROUND */
#include "level_zero.h"

static ze_command_list_handle_t plain, in_order, closed;
static ze_command_queue_handle_t queue;
static ze_event_handle_t event;

static void barrier_and_event(ze_command_list_handle_t list) {
    CHECK(ze.zeCommandListAppendBarrier(list, event, 0, NULL));
    CHECK(ze.zeEventHostSynchronize(event, UINT64_MAX));
    CHECK(ze.zeEventHostReset(event));
}

static void barrier_and_synchronise(ze_command_list_handle_t list) {
    CHECK(ze.zeCommandListAppendBarrier(list, NULL, 0, NULL));
    CHECK(ze.zeCommandListHostSynchronize(list, UINT64_MAX));
}

static void wait_for_event(void) { barrier_and_event(plain); }
static void wait_for_event_in_order(void) { barrier_and_event(in_order); }
static void wait_for_list(void) { barrier_and_synchronise(plain); }
static void wait_for_list_in_order(void) { barrier_and_synchronise(in_order); }

static void execute_and_wait(void) {
    CHECK(ze.zeCommandQueueExecuteCommandLists(queue, 1, &closed, NULL));
    CHECK(ze.zeCommandQueueSynchronize(queue, UINT64_MAX));
}

static void prepare(void) {
    plain = immediate_list(0);
    in_order = immediate_list(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    event = new_event(event_pool(), 0);
    ze_command_queue_desc_t queue_description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                                 .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    CHECK(ze.zeCommandQueueCreate(context, device, &queue_description, &queue));
    ze_command_list_desc_t list_description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    CHECK(ze.zeCommandListCreate(context, device, &list_description, &closed));
    CHECK(ze.zeCommandListAppendBarrier(closed, NULL, 0, NULL));
    CHECK(ze.zeCommandListClose(closed));
}

static void measure(const char *name, void (*once)(void), uint64_t barriers) {
    uint64_t start = now();
    for (uint64_t each = 0; each < barriers; each++)
        once();
    print_sample(name, now() - start, barriers);
}

int main(int count, char **arguments) {
    REQUIRE(count == 4);
    uint64_t rounds = number(arguments[2]), barriers = number(arguments[3]);
    start_level_zero(arguments[1]);
    prepare();
    for (uint64_t round = 0; round < rounds; round++) {
        measure("event", wait_for_event, barriers);
        measure("in-order-event", wait_for_event_in_order, barriers);
        measure("queue", execute_and_wait, barriers);
        if (ze.zeCommandListHostSynchronize == NULL)
            continue;
        measure("list", wait_for_list, barriers);
        measure("in-order-list", wait_for_list_in_order, barriers);
    }
    return 0;
}
