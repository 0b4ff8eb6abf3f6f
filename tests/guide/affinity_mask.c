/* ZE_AFFINITY_MASK decides what a process sees of a machine with two devices of four sub-devices each. */
#include <sys/wait.h>
#include <unistd.h>

#include "guide.h"

/* A few digits of a device's identity, which is the same whatever a mask hides. */
static void print_identity(ze_device_handle_t device) {
    ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    CHECK(zeDeviceGetProperties(device, &properties));
    printf(" %02x%02x", properties.uuid.id[0], properties.uuid.id[1]);
}

static void print_devices(void) {
    ze_driver_handle_t driver;
    ze_device_handle_t devices[8], parts[8];
    uint32_t drivers = 1, count = 8;
    CHECK(zeInit(0));
    CHECK(zeDriverGet(&drivers, &driver));
    CHECK(zeDeviceGet(driver, &count, devices));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t part_count = 8;
        CHECK(zeDeviceGetSubDevices(devices[i], &part_count, parts));
        printf(" |");
        print_identity(devices[i]);
        printf(" (%u)", part_count);
        for (uint32_t part = 0; part < part_count; part++)
            print_identity(parts[part]);
    }
    printf("\n");
}

int main(void) {
    const char *masks[] = {"0,1", "0", "1", "0.0", "1.1,1.2", "0.2,1.3,1.0,0.3"};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        /* The mask is read once, when the driver starts: so each has a process of its own. */
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            setenv("ZE_AFFINITY_MASK", masks[i], 1);
            printf("%s:", masks[i]);
            print_devices();
            return 0;
        }
        int status;
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    }
    return 0;
}
