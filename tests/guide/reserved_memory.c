/* Addresses first, pages later: a range is reserved, given physical memory, and asked what it allows. */
#include "guide.h"

static size_t round_up(size_t size, size_t to) { return (size + to - 1) / to * to; }

int main(void) {
    place at = begin();

    /* Reserve 1 MiB of addresses. */
    size_t page_size, wanted = 1 << 20;
    CHECK(zeVirtualMemQueryPageSize(at.context, at.device, wanted, &page_size));
    size_t size = round_up(wanted, page_size);
    void *range = NULL;
    CHECK(zeVirtualMemReserve(at.context, NULL, size, &range));
    REQUIRE((uintptr_t)range % page_size == 0);

    /* Make physical memory of that size. */
    ze_physical_mem_desc_t description = {ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, NULL, 0, size};
    ze_physical_mem_handle_t pages;
    CHECK(zePhysicalMemCreate(at.context, at.device, &description, &pages));

    /* Bring them together. */
    CHECK(zeVirtualMemMap(at.context, range, size, pages, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));

    /* The answer for the first page holds for the whole range. */
    ze_memory_access_attribute_t access;
    size_t reach;
    CHECK(zeVirtualMemGetAccessAttribute(at.context, range, size, &access, &reach));
    printf("%zu bytes may be read and written: %s\n", reach,
           yes_no[access == ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE && reach == size]);
    REQUIRE(access == ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE && reach == size);

    /* It is memory like any other. */
    uint32_t *result = host_memory(at, size), pattern = 0x01234567;
    ze_command_list_handle_t list = new_list(at);
    CHECK(zeCommandListAppendMemoryFill(list, range, &pattern, sizeof pattern, size, NULL, 0, NULL));
    CHECK(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    CHECK(zeCommandListAppendMemoryCopy(list, result, range, size, NULL, 0, NULL));
    run(at, list);
    printf("first and last word: %08x %08x\n", result[0], result[size / 4 - 1]);
    for (size_t i = 0; i < size / sizeof pattern; i++)
        REQUIRE(result[i] == pattern);

    CHECK(zeMemFree(at.context, result));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeVirtualMemUnmap(at.context, range, size));
    CHECK(zePhysicalMemDestroy(at.context, pages));
    CHECK(zeVirtualMemFree(at.context, range, size));
    return end(at);
}
