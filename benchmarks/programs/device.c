/* What a device takes for the smallest things, and how fast it copies: for any device, GROUNDSTATE_NVIDIA=only for a GPU.
 * The best and the median of the rounds.
 * Usage: device LIBRARY SPIRV_FILE ROUNDS */
#include "level_zero.h"

enum { SMALL = 200, LISTED = 1000, COPIED = 256 << 20, ALLOCATED = 1 << 20, MOST_ROUNDS = 1000 };

static ze_command_list_handle_t plain, in_order, closed, barred;
static ze_command_queue_handle_t queue;
static ze_event_handle_t start_event, end_event;
static ze_kernel_handle_t kernel;
static char *up, *down, *on_device, *also_on_device;
static const ze_group_count_t one_group = {1, 1, 1};

static void launch(ze_command_list_handle_t list, ze_event_handle_t signal, ze_event_handle_t *wait) {
    CHECK(ze.zeCommandListAppendLaunchKernel(list, kernel, &one_group, signal, wait != NULL, wait));
}

static void wait_for(ze_command_list_handle_t list) { CHECK(ze.zeCommandListHostSynchronize(list, UINT64_MAX)); }

/* --- What is measured: each does something so many times --------------------------------------------------- */

static void launch_and_wait(void) {
    for (int each = 0; each < SMALL; each++) {
        launch(in_order, NULL, NULL);
        wait_for(in_order);
    }
}

static void launch_and_wait_for_event(void) {
    for (int each = 0; each < SMALL; each++) {
        launch(plain, end_event, NULL);
        CHECK(ze.zeEventHostSynchronize(end_event, UINT64_MAX));
        CHECK(ze.zeEventHostReset(end_event));
    }
}

static void launch_in_a_row(void) {
    for (int each = 0; each < LISTED; each++)
        launch(in_order, NULL, NULL);
    wait_for(in_order);
}

static void launch_with_events(void) {
    for (int each = 0; each < SMALL; each++)
        launch(in_order, end_event, each > 0 ? &end_event : NULL);
    wait_for(in_order);
    CHECK(ze.zeEventHostReset(end_event));
}

static void execute(ze_command_list_handle_t list) {
    CHECK(ze.zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    CHECK(ze.zeCommandQueueSynchronize(queue, UINT64_MAX));
}
static void run_closed(void) { execute(closed); }
static void run_barred(void) { execute(barred); }

static void signal_and_see(void) {
    for (int each = 0; each < SMALL; each++) {
        launch(plain, end_event, &start_event);
        CHECK(ze.zeEventHostSignal(start_event));
        CHECK(ze.zeEventHostSynchronize(end_event, UINT64_MAX));
        CHECK(ze.zeEventHostReset(end_event));
        CHECK(ze.zeEventHostReset(start_event));
    }
}

static void allocate_and_free(void) {
    for (int each = 0; each < SMALL; each++)
        free_memory(device_memory(ALLOCATED));
}

static void copy(char *to, const char *from, size_t size) {
    CHECK(ze.zeCommandListAppendMemoryCopy(in_order, to, from, size, NULL, 0, NULL));
    wait_for(in_order);
}
static void copy_up(void) { copy(on_device, up, COPIED); }
static void copy_down(void) { copy(down, on_device, COPIED); }
static void copy_there(void) { copy(also_on_device, on_device, COPIED); }
static void copy_word(void) {
    for (int each = 0; each < SMALL; each++)
        copy(down, on_device, 4);
}

/* --- Measuring ------------------------------------------------------------------------------------------------ */

static int order(const void *a, const void *b) { return *(const double *)a < *(const double *)b ? -1 : 1; }

static void measure(const char *name, void (*some)(void), uint64_t operations, uint64_t bytes, uint64_t rounds) {
    static double samples[MOST_ROUNDS];
    some();
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t start = now();
        some();
        samples[round] = (double)(now() - start) / (double)operations;
    }
    qsort(samples, rounds, sizeof *samples, order);
    if (bytes > 0)
        printf("%-28s %9.1f GB/s  median %9.1f\n", name, (double)bytes / samples[0], (double)bytes / samples[rounds / 2]);
    else
        printf("%-28s %9.3f us    median %9.3f\n", name, samples[0] / 1e3, samples[rounds / 2] / 1e3);
    fflush(stdout);
}

static ze_command_list_handle_t closed_list(ze_command_list_flags_t flags, bool has_barriers) {
    ze_command_list_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, .flags = flags};
    ze_command_list_handle_t list = NULL;
    CHECK(ze.zeCommandListCreate(context, device, &description, &list));
    for (int each = 0; each < LISTED; each++) {
        launch(list, NULL, NULL);
        if (has_barriers)
            CHECK(ze.zeCommandListAppendBarrier(list, NULL, 0, NULL));
    }
    CHECK(ze.zeCommandListClose(list));
    return list;
}

static void prepare(void) {
    ze_event_pool_handle_t pool = event_pool();
    start_event = new_event(pool, 0);
    end_event = new_event(pool, 1);
    plain = immediate_list(0);
    in_order = immediate_list(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    ze_command_queue_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                           .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    CHECK(ze.zeCommandQueueCreate(context, device, &description, &queue));
    closed = closed_list(ZE_COMMAND_LIST_FLAG_IN_ORDER, false);
    barred = closed_list(0, true);
    up = host_memory(COPIED);
    down = host_memory(COPIED);
    on_device = device_memory(COPIED);
    also_on_device = device_memory(COPIED);
    memset(up, 1, COPIED);
}

int main(int count, char **arguments) {
    REQUIRE(count == 4);
    uint64_t rounds = number(arguments[3]), begun = now();
    REQUIRE(rounds > 0 && rounds <= MOST_ROUNDS);
    start_level_zero(arguments[1]);
    printf("%-28s %9.1f ms\n", "context", (double)(now() - begun) / 1e6);
    begun = now();
    kernel = empty_kernel(arguments[2]);
    printf("%-28s %9.1f ms\n", "module", (double)(now() - begun) / 1e6);
    ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    CHECK(ze.zeDeviceGetProperties(device, &properties));
    printf("%s\n", properties.name);
    prepare();
    measure("launch and wait", launch_and_wait, SMALL, 0, rounds);
    measure("launch and wait for event", launch_and_wait_for_event, SMALL, 0, rounds);
    measure("launches in a row", launch_in_a_row, LISTED, 0, rounds);
    measure("launches that wait for events", launch_with_events, SMALL, 0, rounds);
    measure("launch of a closed list", run_closed, LISTED, 0, rounds);
    measure("the same with barriers", run_barred, LISTED, 0, rounds);
    measure("host signal to host sees", signal_and_see, SMALL, 0, rounds);
    measure("allocate and free 1 MiB", allocate_and_free, SMALL, 0, rounds);
    measure("copy of 4 bytes down", copy_word, SMALL, 0, rounds);
    measure("copy up", copy_up, 1, COPIED, rounds);
    measure("copy down", copy_down, 1, COPIED, rounds);
    measure("copy on the device", copy_there, 1, COPIED, rounds);
    return 0;
}
