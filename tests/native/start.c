/* Many threads start the driver at once; all see the same driver, devices and default context. */
#include "check.h"

enum { THREADS = 32 };

static pthread_barrier_t line;
static ze_driver_handle_t drivers[THREADS];
static ze_device_handle_t devices[THREADS];
static ze_context_handle_t contexts[THREADS];

static void *start(void *number) {
    uintptr_t mine = (uintptr_t)number;
    uint32_t count = 1;
    pthread_barrier_wait(&line);
    if (mine % 2) {
        CHECK(zeInit(0));
        CHECK(zeDriverGet(&count, &drivers[mine]));
    } else {
        ze_init_driver_type_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_INIT_DRIVER_TYPE_DESC, .flags = UINT32_MAX};
        CHECK(zeInitDrivers(&count, &drivers[mine], &wanted));
    }
    REQUIRE(count == 1);
    CHECK(zeDeviceGet(drivers[mine], &count, &devices[mine]));
    contexts[mine] = zeDriverGetDefaultContext(drivers[mine]);
    ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    CHECK(zeDeviceGetProperties(devices[mine], &properties));
    REQUIRE(properties.name[0] != 0);
    return NULL;
}

int main(void) {
    pthread_barrier_init(&line, NULL, THREADS);
    on_threads(THREADS, start);
    for (int each = 0; each < THREADS; each++) {
        REQUIRE(drivers[each] == drivers[0] && devices[each] == devices[0]);
        REQUIRE(contexts[each] != NULL && contexts[each] == contexts[0]);
    }
    return 0;
}
