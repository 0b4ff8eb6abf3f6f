/* Memory leaves as a file descriptor, and comes in as one: both ends are the same memory. */
#include <sys/mman.h>
#include <unistd.h>

#include "guide.h"

enum { SIZE = 1 << 16 };

static const ze_external_memory_type_flags_t KIND = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;

int main(void) {
    place at = begin();
    ze_device_external_memory_properties_t can = {.stype = ZE_STRUCTURE_TYPE_DEVICE_EXTERNAL_MEMORY_PROPERTIES};
    CHECK(zeDeviceGetExternalMemoryProperties(at.device, &can));
    bool both = can.memoryAllocationExportTypes & can.memoryAllocationImportTypes & KIND;
    printf("memory can leave and come in as a DMA buffer: %s\n", yes_no[both]);
    REQUIRE(both);

    /* What is to be exported says so when it is allocated. */
    ze_external_memory_export_desc_t wish = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC, NULL, KIND};
    ze_device_mem_alloc_desc_t description = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, .pNext = &wish};
    void *exported = NULL, *imported = NULL;
    CHECK(zeMemAllocDevice(at.context, &description, SIZE, 0, at.device, &exported));

    /* The descriptor is an answer about the allocation. It is the program's, to be closed by it. */
    ze_external_memory_export_fd_t out = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD, NULL, KIND, -1};
    ze_memory_allocation_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES,
                                                    .pNext = &out};
    CHECK(zeMemGetAllocProperties(at.context, exported, &properties, NULL));
    REQUIRE(out.fd >= 0);

    ze_external_memory_import_fd_t in = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD, NULL, KIND, out.fd};
    description.pNext = &in;
    CHECK(zeMemAllocDevice(at.context, &description, SIZE, 0, at.device, &imported));
    REQUIRE(imported != exported);

    /* Written at one end, read at the other, and by whoever maps the descriptor. */
    uint32_t pattern = 0xcafe, *seen = host_memory(at, SIZE);
    ze_command_list_handle_t commands = new_synchronous_list(at);
    CHECK(zeCommandListAppendMemoryFill(commands, exported, &pattern, sizeof pattern, SIZE, NULL, 0, NULL));
    CHECK(zeCommandListAppendMemoryCopy(commands, seen, imported, SIZE, NULL, 0, NULL));
    printf("through the import: %x ... %x\n", seen[0], seen[SIZE / 4 - 1]);
    uint32_t *mapped = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, out.fd, 0);
    REQUIRE(mapped != MAP_FAILED);
    printf("through the descriptor: %x ... %x\n", mapped[0], mapped[SIZE / 4 - 1]);
    for (int i = 0; i < SIZE / 4; i++)
        REQUIRE(seen[i] == pattern && mapped[i] == pattern);

    REQUIRE(munmap(mapped, SIZE) == 0 && close(out.fd) == 0);
    CHECK(zeMemFree(at.context, seen));
    CHECK(zeMemFree(at.context, imported));
    CHECK(zeMemFree(at.context, exported));
    CHECK(zeCommandListDestroy(commands));
    return end(at);
}
