/* What single calls cost: a loop around each, and around a call of an empty function.
 * Usage: calls LIBRARY EMPTY_LIBRARY ROUNDS CALLS_PER_ROUND */
#include "level_zero.h"

static uint32_t (*empty)(void *, void *, void *, void *);
static ze_command_list_handle_t list;
static ze_event_pool_handle_t pool;
static ze_event_handle_t event;
static void *memory;

static void call_nothing(void) { REQUIRE(empty(list, event, NULL, NULL) == 0); }
static void query_event(void) { REQUIRE(ze.zeEventQueryStatus(event) == ZE_RESULT_NOT_READY); }
static void append_barrier(void) { CHECK(ze.zeCommandListAppendBarrier(list, NULL, 0, NULL)); }

static void ask_for_allocation(void) {
    ze_memory_allocation_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    CHECK(ze.zeMemGetAllocProperties(context, memory, &properties, NULL));
    REQUIRE(properties.type == ZE_MEMORY_TYPE_DEVICE);
}

static void ask_for_device(void) {
    ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    CHECK(ze.zeDeviceGetProperties(device, &properties));
}

static void ask_for_driver(void) {
    ze_driver_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES};
    CHECK(ze.zeDriverGetProperties(driver, &properties));
}

static void list_devices(void) {
    uint32_t room = 1;
    ze_device_handle_t found;
    CHECK(ze.zeDeviceGet(driver, &room, &found));
    REQUIRE(found == device);
}

static void create_and_destroy_event(void) { CHECK(ze.zeEventDestroy(new_event(pool, 1))); }

static void measure(const char *name, void (*once)(void), uint64_t calls) {
    uint64_t start = now();
    for (uint64_t each = 0; each < calls; each++)
        once();
    print_sample(name, now() - start, calls);
}

int main(int count, char **arguments) {
    REQUIRE(count == 5);
    uint64_t rounds = number(arguments[3]), calls = number(arguments[4]);
    start_level_zero(arguments[1]);
    empty = (__typeof__(empty))dlsym(open_library(arguments[2]), "empty");
    REQUIRE(empty != NULL);
    list = immediate_list(0);
    pool = event_pool();
    event = new_event(pool, 0);
    memory = device_memory(1 << 20);
    for (uint64_t round = 0; round < rounds; round++) {
        measure("empty", call_nothing, calls);
        measure("zeEventQueryStatus", query_event, calls);
        measure("zeMemGetAllocProperties", ask_for_allocation, calls);
        measure("zeCommandListAppendBarrier", append_barrier, calls);
        measure("zeEventCreate+Destroy", create_and_destroy_event, calls);
        measure("zeDeviceGetProperties", ask_for_device, calls / 20 + 1);
        measure("zeDriverGetProperties", ask_for_driver, calls / 20 + 1);
        measure("zeDeviceGet", list_devices, calls / 20 + 1);
    }
    return 0;
}
