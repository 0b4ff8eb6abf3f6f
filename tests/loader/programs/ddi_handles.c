/* Uses the driver as loader 1.32 does beside another driver: opens the library itself, asks for the
 * driver-DDI handles extension, and from there on reaches every function through the table pointers at the
 * head of the handle it concerns. Usage: ddi_handles LIBRARY */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generated/ze_types.h"

#define REQUIRE(condition)                                                            \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)
#define CHECK(call) REQUIRE((call) == ZE_RESULT_SUCCESS)

/* Every pointer behind version and isValidFlag leads to a table. */
static void check_tables(const void *tables, size_t size) {
    const uintptr_t *pointer = (const uintptr_t *)tables + 1;
    for (size_t i = 0; i + 1 < size / sizeof *pointer; i++)
        REQUIRE(pointer[i] != 0);
}

static const ze_dditable_driver_t *core(const void *handle) {
    const ze_handle_t *head = handle;
    REQUIRE(head != NULL && head->pCore != NULL && head->pTools != NULL && head->pSysman != NULL &&
            head->pRuntime != NULL);
    REQUIRE(head->pCore->isValidFlag == 1 && head->pTools->isValidFlag == 1);
    REQUIRE(head->pSysman->isValidFlag == 1 && head->pRuntime->isValidFlag == 1);
    REQUIRE(head->pCore->version >= ZE_API_VERSION_1_14);
    check_tables(head->pCore, sizeof *head->pCore);
    check_tables(head->pTools, sizeof *head->pTools);
    check_tables(head->pSysman, sizeof *head->pSysman);
    check_tables(head->pRuntime, sizeof *head->pRuntime);
    return head->pCore;
}

static ze_driver_handle_t start(const char *path) {
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    REQUIRE(library != NULL);
    ze_result_t (*get_global)(ze_api_version_t, ze_global_dditable_t *) =
        (ze_result_t(*)(ze_api_version_t, ze_global_dditable_t *))dlsym(library, "zeGetGlobalProcAddrTable");
    REQUIRE(get_global != NULL);
    ze_global_dditable_t global = {0};
    CHECK(get_global(ZE_API_VERSION_CURRENT, &global));
    ze_init_driver_type_desc_t types = {.stype = ZE_STRUCTURE_TYPE_INIT_DRIVER_TYPE_DESC,
                                        .flags = UINT32_MAX};
    uint32_t drivers = 0;
    CHECK(global.pfnInitDrivers(&drivers, NULL, &types));
    REQUIRE(drivers == 1);
    ze_driver_handle_t driver = NULL;
    CHECK(global.pfnInitDrivers(&drivers, &driver, &types));
    return driver;
}

static void check_extension_is_reported(ze_driver_handle_t driver) {
    ze_driver_ddi_handles_ext_properties_t handles = {
        .stype = ZE_STRUCTURE_TYPE_DRIVER_DDI_HANDLES_EXT_PROPERTIES};
    ze_driver_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES, .pNext = &handles};
    CHECK(core(driver)->Driver->pfnGetProperties(driver, &properties));
    REQUIRE(handles.flags & ZE_DRIVER_DDI_HANDLE_EXT_FLAG_DDI_HANDLE_EXT_SUPPORTED);
}

static void copy_through_handles(ze_context_handle_t context, ze_device_handle_t device) {
    enum { SIZE = 65536 };
    const ze_mem_dditable_t *mem = core(context)->Mem;
    ze_host_mem_alloc_desc_t host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_device_mem_alloc_desc_t local = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    void *from = NULL, *to = NULL;
    CHECK(mem->pfnAllocHost(context, &host, SIZE, 64, &from));
    CHECK(mem->pfnAllocDevice(context, &local, SIZE, 64, device, &to));
    memset(from, 0x3c, SIZE);

    ze_event_pool_desc_t pool_description = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
                                             .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE, .count = 1};
    ze_event_pool_handle_t pool = NULL;
    CHECK(core(context)->EventPool->pfnCreate(context, &pool_description, 1, &device, &pool));
    ze_event_desc_t event_description = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC};
    ze_event_handle_t event = NULL;
    CHECK(core(pool)->Event->pfnCreate(pool, &event_description, &event));

    ze_command_queue_desc_t queue_description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_queue_handle_t queue = NULL;
    CHECK(core(context)->CommandQueue->pfnCreate(context, device, &queue_description, &queue));
    ze_fence_desc_t fence_description = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
    ze_fence_handle_t fence = NULL;
    CHECK(core(queue)->Fence->pfnCreate(queue, &fence_description, &fence));
    ze_command_list_desc_t list_description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_command_list_handle_t list = NULL;
    CHECK(core(context)->CommandList->pfnCreate(context, device, &list_description, &list));

    CHECK(core(list)->CommandList->pfnAppendMemoryCopy(list, to, from, SIZE, event, 0, NULL));
    CHECK(core(list)->CommandList->pfnClose(list));
    CHECK(core(queue)->CommandQueue->pfnExecuteCommandLists(queue, 1, &list, fence));
    CHECK(core(fence)->Fence->pfnHostSynchronize(fence, UINT64_MAX));
    CHECK(core(event)->Event->pfnQueryStatus(event));
    REQUIRE(memcmp(from, to, SIZE) == 0);

    CHECK(core(fence)->Fence->pfnDestroy(fence));
    CHECK(core(list)->CommandList->pfnDestroy(list));
    CHECK(core(queue)->CommandQueue->pfnDestroy(queue));
    CHECK(core(event)->Event->pfnDestroy(event));
    CHECK(core(pool)->EventPool->pfnDestroy(pool));
    CHECK(mem->pfnFree(context, from));
    CHECK(mem->pfnFree(context, to));
}

int main(int count, char **arguments) {
    REQUIRE(count == 2);
    ze_driver_handle_t driver = start(arguments[1]);
    check_extension_is_reported(driver);
    uint32_t devices = 0;
    CHECK(core(driver)->Device->pfnGet(driver, &devices, NULL));
    REQUIRE(devices >= 1 && devices <= 64);
    ze_device_handle_t device[64];
    CHECK(core(driver)->Device->pfnGet(driver, &devices, device));
    ze_context_desc_t description = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_context_handle_t context = NULL;
    CHECK(core(driver)->Context->pfnCreate(driver, &description, &context));
    for (uint32_t i = 0; i < devices; i++) {
        core(device[i]);
        copy_through_handles(context, device[i]);
    }
    CHECK(core(context)->Context->pfnDestroy(context));
    printf("%u devices\n", devices);
    return 0;
}
