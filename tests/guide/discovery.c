/* Every driver is asked for its devices, until one of them is a GPU. */
#include "guide.h"

static ze_device_handle_t *devices_of(ze_driver_handle_t driver, uint32_t *count) {
    *count = 0;
    CHECK(zeDeviceGet(driver, count, NULL));
    ze_device_handle_t *devices = calloc(*count + 1, sizeof *devices);
    CHECK(zeDeviceGet(driver, count, devices));
    return devices;
}

static ze_device_handle_t find_gpu(ze_driver_handle_t driver) {
    uint32_t count;
    ze_device_handle_t *devices = devices_of(driver, &count), gpu = NULL;
    for (uint32_t i = 0; i < count && gpu == NULL; i++) {
        ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
        CHECK(zeDeviceGetProperties(devices[i], &properties));
        if (properties.type == ZE_DEVICE_TYPE_GPU) {
            gpu = devices[i];
            printf("found a GPU: %s\n", properties.name);
        }
    }
    free(devices);
    return gpu;
}

int main(void) {
    CHECK(zeInit(0));
    uint32_t count = 0;
    CHECK(zeDriverGet(&count, NULL));
    REQUIRE(count > 0);
    ze_driver_handle_t *drivers = calloc(count, sizeof *drivers), *again = calloc(count, sizeof *again);
    CHECK(zeDriverGet(&count, drivers));

    ze_device_handle_t gpu = NULL;
    uint32_t which = 0;
    for (; which < count && gpu == NULL; which++)
        gpu = find_gpu(drivers[which]);
    REQUIRE(gpu != NULL);

    /* Drivers and devices are there once: whoever asks again gets the same handles. */
    CHECK(zeDriverGet(&count, again));
    bool same = memcmp(drivers, again, count * sizeof *drivers) == 0;
    uint32_t devices;
    ze_device_handle_t *found = devices_of(drivers[which - 1], &devices);
    bool seen = false;
    for (uint32_t i = 0; i < devices; i++)
        seen = seen || found[i] == gpu;
    printf("asked again, the same handles: %s\n", yes_no[same && seen]);
    REQUIRE(same && seen);
    free(found);
    free(drivers);
    free(again);
    return 0;
}
