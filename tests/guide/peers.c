/* Two devices: whether each can use the other's memory, and a copy from one to the other. */
#include "guide.h"

enum { SIZE = 1 << 16 };

int main(void) {
    place at = begin();
    ze_device_handle_t devices[2];
    uint32_t count = 2;
    CHECK(zeDeviceGet(at.driver, &count, devices));
    REQUIRE(count == 2);
    for (int from = 0; from < 2; from++) {
        for (int to = 0; to < 2; to++) {
            ze_bool_t can = 0;
            ze_device_p2p_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_P2P_PROPERTIES};
            CHECK(zeDeviceCanAccessPeer(devices[from], devices[to], &can));
            CHECK(zeDeviceGetP2PProperties(devices[from], devices[to], &properties));
            bool access = properties.flags & ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS;
            bool atomics = properties.flags & ZE_DEVICE_P2P_PROPERTY_FLAG_ATOMICS;
            printf("device %d reaches device %d: %s, with atomics: %s\n", from, to, yes_no[can], yes_no[atomics]);
            REQUIRE(can == access);
            REQUIRE(from != to || (can && atomics)); /* a device is its own peer */
        }
    }

    /* Device 0 is written, device 1 fetches, and the host looks. */
    place other = at;
    at.device = devices[0];
    other.device = devices[1];
    uint8_t *here = device_memory(at, SIZE), *there = device_memory(other, SIZE), *seen = host_memory(at, SIZE);
    uint8_t pattern[] = {1, 2, 3, 4};
    ze_command_list_handle_t first = new_synchronous_list(at), second = new_synchronous_list(other);
    CHECK(zeCommandListAppendMemoryFill(first, here, pattern, sizeof pattern, SIZE, NULL, 0, NULL));
    CHECK(zeCommandListAppendMemoryCopy(second, there, here, SIZE, NULL, 0, NULL));
    CHECK(zeCommandListAppendMemoryCopy(second, seen, there, SIZE, NULL, 0, NULL));
    printf("through both came %d %d %d %d\n", seen[0], seen[1], seen[2], seen[3]);
    for (int i = 0; i < SIZE; i++)
        REQUIRE(seen[i] == pattern[i % 4]);

    CHECK(zeMemFree(at.context, here));
    CHECK(zeMemFree(at.context, there));
    CHECK(zeMemFree(at.context, seen));
    CHECK(zeCommandListDestroy(first));
    CHECK(zeCommandListDestroy(second));
    return end(at);
}
