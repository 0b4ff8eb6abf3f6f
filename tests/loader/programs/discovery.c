/* Prints what a program sees before it does anything: drivers, devices, sub-devices, queue groups. */
#include "common.h"

static void print_device(ze_device_handle_t device, int depth) {
    ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    CHECK(zeDeviceGetProperties(device, &properties));
    ze_device_properties_t older = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2};
    CHECK(zeDeviceGetProperties(device, &older));
    REQUIRE(strcmp(properties.name, older.name) == 0);
    REQUIRE(properties.numSlices > 0 && properties.numEUsPerSubslice > 0);
    printf("%*sdevice type=%d sub=%d name=%s\n", 2 * depth, "", (int)properties.type,
           (properties.flags & ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE) != 0, properties.name);

    uint32_t groups = 0;
    CHECK(zeDeviceGetCommandQueueGroupProperties(device, &groups, NULL));
    REQUIRE(groups > 0 && groups <= 16);
    ze_command_queue_group_properties_t group[16] = {0};
    for (uint32_t i = 0; i < groups; i++)
        group[i].stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES;
    CHECK(zeDeviceGetCommandQueueGroupProperties(device, &groups, group));
    REQUIRE(group[0].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE);
    for (uint32_t i = 0; i < groups; i++)
        REQUIRE(group[i].numQueues > 0);

    uint32_t memories = 0;
    CHECK(zeDeviceGetMemoryProperties(device, &memories, NULL));
    REQUIRE(memories > 0);

    uint32_t parts = 0;
    CHECK(zeDeviceGetSubDevices(device, &parts, NULL));
    ze_device_handle_t part[64];
    REQUIRE(parts <= 64);
    if (parts > 0)
        CHECK(zeDeviceGetSubDevices(device, &parts, part));
    for (uint32_t i = 0; i < parts; i++)
        print_device(part[i], depth + 1);
}

int main(void) {
    CHECK(zeInit(0));
    uint32_t drivers = 0;
    CHECK(zeDriverGet(&drivers, NULL));
    ze_driver_handle_t driver[8];
    REQUIRE(drivers > 0 && drivers <= 8);
    CHECK(zeDriverGet(&drivers, driver));
    for (uint32_t i = 0; i < drivers; i++) {
        ze_api_version_t version;
        CHECK(zeDriverGetApiVersion(driver[i], &version));
        printf("driver api=%u.%u\n", ZE_MAJOR_VERSION(version), ZE_MINOR_VERSION(version));
        uint32_t devices = 0;
        CHECK(zeDeviceGet(driver[i], &devices, NULL));
        ze_device_handle_t device[64];
        REQUIRE(devices > 0 && devices <= 64);
        CHECK(zeDeviceGet(driver[i], &devices, device));
        for (uint32_t d = 0; d < devices; d++)
            print_device(device[d], 1);
    }
    return 0;
}
