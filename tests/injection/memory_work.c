/* Memory of every kind, shared and mapped. */
#include <unistd.h>

#include "work.h"

static bool allocate(void) {
    const size_t sizes[] = {1, 5000, 3 << 20, 300 << 20};
    for (size_t each = 0; each < sizeof sizes / sizeof *sizes; each++) {
        char *memory = memory_of(sizes[each]), *base = NULL;
        MADE(memory);
        memory[sizes[each] - 1] = 1;
        size_t size = 0;
        TRY(zeMemGetAddressRange(on.context, memory + sizes[each] / 2, (void **)&base, &size));
        REQUIRE(base == memory && size >= sizes[each]);
        ze_memory_allocation_properties_t about = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
        TRY(zeMemGetAllocProperties(on.context, memory, &about, NULL));
        REQUIRE(about.type == ZE_MEMORY_TYPE_HOST);
    }
    return true;
}

static ze_result_t free_memory(void *memory) { return zeMemFree(on.context, memory); }

static bool allocate_on_device(void) {
    void *device = NULL, *shared = NULL;
    const ze_device_mem_alloc_desc_t there = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    const ze_host_mem_alloc_desc_t here = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    TRY(zeMemAllocDevice(on.context, &there, 70000, 0, on.device, &device));
    LATER(free_memory, device);
    TRY(zeMemAllocShared(on.context, &there, &here, 70000, 1 << 16, on.device, &shared));
    LATER(free_memory, shared);
    TRY(zeContextMakeMemoryResident(on.context, on.device, shared, 70000));
    TRY(zeContextEvictMemory(on.context, on.device, shared, 70000));
    return true;
}

static ze_result_t close_memory(void *memory) { return zeMemCloseIpcHandle(on.context, memory); }

static bool share(void) {
    uint64_t *memory = memory_of(100000), *again = NULL;
    MADE(memory);
    *memory = 17;
    ze_ipc_mem_handle_t handle;
    TRY(zeMemGetIpcHandle(on.context, memory, &handle));
    REQUIRE(*memory == 17);
    TRY(zeMemOpenIpcHandle(on.context, on.device, handle, 0, (void **)&again));
    LATER(close_memory, again);
    REQUIRE(*again == 17);
    TRY(zeMemPutIpcHandle(on.context, handle));
    return true;
}

enum { EXPORTED = 1 << 16 };

static bool export(void) {
    const ze_external_memory_export_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC,
                                                     .flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD};
    const ze_device_mem_alloc_desc_t there = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, .pNext = &wanted};
    void *memory = NULL, *again = NULL;
    TRY(zeMemAllocDevice(on.context, &there, EXPORTED, 0, on.device, &memory));
    LATER(free_memory, memory);
    ze_external_memory_export_fd_t file = {.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD,
                                           .flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD, .fd = -1};
    ze_memory_allocation_properties_t about = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES, .pNext = &file};
    TRY(zeMemGetAllocProperties(on.context, memory, &about, NULL));
    REQUIRE(file.fd >= 0);
    const ze_external_memory_import_fd_t given = {.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD,
                                                  .flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD, .fd = file.fd};
    const ze_device_mem_alloc_desc_t import = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, .pNext = &given};
    ze_result_t result = zeMemAllocDevice(on.context, &import, EXPORTED, 0, on.device, &again);
    close(file.fd);
    TRY(result);
    LATER(free_memory, again);
    return true;
}

static size_t page_size;
static void *reserved;

static ze_result_t free_reservation(void *memory) { return zeVirtualMemFree(on.context, memory, page_size); }
static ze_result_t destroy_physical(void *memory) { return zePhysicalMemDestroy(on.context, memory); }
static ze_result_t unmap(void *memory) { return zeVirtualMemUnmap(on.context, memory, page_size); }

static bool map(void) {
    TRY(zeVirtualMemQueryPageSize(on.context, on.device, 1, &page_size));
    TRY(zeVirtualMemReserve(on.context, NULL, page_size, &reserved));
    LATER(free_reservation, reserved);
    ze_physical_mem_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, .size = page_size};
    ze_physical_mem_handle_t physical = NULL;
    TRY(zePhysicalMemCreate(on.context, on.device, &wanted, &physical));
    LATER(destroy_physical, physical);
    TRY(zeVirtualMemMap(on.context, reserved, page_size, physical, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    LATER(unmap, reserved);
    *(char *)reserved = 1;
    return true;
}

/* Memory freed while a queue works is kept until it has. */
static bool free_in_use(void) {
    ze_command_list_handle_t list = immediate_of(0);
    MADE(list);
    ze_event_pool_handle_t pool = pool_of(1, 0);
    MADE(pool);
    ze_event_handle_t gate = event_of(pool, 0);
    MADE(gate);
    void *memory = NULL;
    TRY(zeMemAllocHost(on.context, &(ze_host_mem_alloc_desc_t){.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC}, 8192, 0,
                       &memory));
    uint32_t pattern = 7;
    ze_result_t result = zeCommandListAppendMemoryFill(list, memory, &pattern, sizeof pattern, 8192, NULL, 1, &gate);
    ze_result_t freed = zeMemFree(on.context, memory);
    REQUIRE(freed == ZE_RESULT_SUCCESS);
    REQUIRE(zeEventHostSignal(gate) == ZE_RESULT_SUCCESS);
    TRY(result);
    TRY(zeCommandListHostSynchronize(list, UINT64_MAX));
    return true;
}

const work memory_work[] = {{"allocate", allocate}, {"allocate_on_device", allocate_on_device}, {"share", share},
                            {"export", export},     {"map", map},                             {"free_in_use", free_in_use},
                            {NULL, NULL}};
