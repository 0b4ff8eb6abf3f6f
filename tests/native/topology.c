/* A divided machine under load: each thread copies on a device of its own to the memory of the next, and shared memory
 * comes and goes there, in pieces. In the end every byte is given back. */
#include "check.h"

enum { DEVICES = 2, PARTS = 2, PLACES = DEVICES * (1 + PARTS), TURNS = 200 / SLOWER, SIZE = 1 << 20, PIECES = 32 };

static ze_device_handle_t places[PLACES];
static char *memory[PLACES];
static char *shared;

static void find_places(void) {
    uint32_t count = DEVICES;
    ze_device_handle_t devices[DEVICES];
    CHECK(zeDeviceGet(on.driver, &count, devices));
    REQUIRE(count == DEVICES);
    for (uint32_t each = 0; each < DEVICES; each++) {
        places[each * (1 + PARTS)] = devices[each];
        count = PARTS;
        CHECK(zeDeviceGetSubDevices(devices[each], &count, &places[each * (1 + PARTS) + 1]));
        REQUIRE(count == PARTS);
    }
}

static uint64_t usable(ze_device_handle_t device) {
    ze_device_usablemem_size_ext_properties_t left = {
        .stype = ZE_STRUCTURE_TYPE_DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES};
    ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, .pNext = &left};
    CHECK(zeDeviceGetProperties(device, &properties));
    return left.currUsableMemSize;
}

static void *work(void *number) {
    uintptr_t place = (uintptr_t)number;
    uint64_t chance = place;
    ze_command_list_handle_t list;
    CHECK(zeCommandListCreateImmediate(on.context, places[place],
                                       &(ze_command_queue_desc_t){.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                                                  .flags = ZE_COMMAND_QUEUE_FLAG_IN_ORDER},
                                       &list));
    char pattern = (char)(place + 1);
    for (int turn = 0; turn < TURNS; turn++) {
        CHECK(zeCommandListAppendMemoryFill(list, memory[place], &pattern, 1, SIZE, NULL, 0, NULL));
        CHECK(zeCommandListAppendMemoryCopy(list, memory[place] + SIZE, memory[place], SIZE, NULL, 0, NULL));
        uint64_t first = next_random(&chance) % PIECES, count = 1 + next_random(&chance) % (PIECES - first);
        char *start = shared + first * SIZE;
        ze_device_handle_t there = places[next_random(&chance) % PLACES];
        if (next_random(&chance) % 2)
            CHECK(zeContextMakeMemoryResident(on.context, there, start, count * SIZE));
        else
            CHECK(zeContextEvictMemory(on.context, there, start, count * SIZE));
        CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
        REQUIRE(memory[place][SIZE] == pattern && memory[place][2 * SIZE - 1] == pattern);
    }
    CHECK(zeCommandListDestroy(list));
    return NULL;
}

int main(void) {
    setenv("GROUNDSTATE_TOPOLOGY", "2x2", 1);
    setenv("GROUNDSTATE_MEMORY", "1G", 1);
    set_up();
    uint64_t live = gs_live_objects(0), before[PLACES];
    find_places();
    const ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    for (int each = 0; each < PLACES; each++)
        before[each] = usable(places[each]);
    for (int each = 0; each < PLACES; each++)
        CHECK(zeMemAllocDevice(on.context, &desc, 2 * SIZE, 0, places[each], (void **)&memory[each]));
    CHECK(zeMemAllocShared(on.context, &desc,
                           &(ze_host_mem_alloc_desc_t){.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC},
                           PIECES * SIZE, 0, NULL, (void **)&shared));
    on_threads(PLACES, work);
    CHECK(zeMemFree(on.context, shared));
    for (int each = 0; each < PLACES; each++)
        CHECK(zeMemFree(on.context, memory[each]));
    for (int each = 0; each < PLACES; each++)
        REQUIRE(usable(places[each]) == before[each]);
    tear_down(live);
    return 0;
}
