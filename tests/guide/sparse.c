/* Much address space, little memory: pieces of 128 KiB and 8 MiB in a range of almost 1 GiB. */
#include "guide.h"

typedef struct piece {
    char *start;
    size_t size;
    ze_physical_mem_handle_t pages;
} piece;

static size_t page_size_for(place at, size_t size) {
    size_t page_size;
    CHECK(zeVirtualMemQueryPageSize(at.context, at.device, size, &page_size));
    return page_size;
}

static size_t round_up(size_t size, size_t to) { return (size + to - 1) / to * to; }

/* Puts pages at the first place from `from` on that is aligned as pieces of this size want to be. */
static piece sub_allocate(place at, char *from, size_t wanted) {
    size_t page_size = page_size_for(at, wanted);
    piece made = {(char *)round_up((uintptr_t)from, page_size), round_up(wanted, page_size), NULL};
    ze_physical_mem_desc_t description = {ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, NULL, 0, made.size};
    CHECK(zePhysicalMemCreate(at.context, at.device, &description, &made.pages));
    CHECK(zeVirtualMemMap(at.context, made.start, made.size, made.pages, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    return made;
}

static void let_go(place at, piece old) {
    CHECK(zeVirtualMemUnmap(at.context, old.start, old.size));
    CHECK(zePhysicalMemDestroy(at.context, old.pages));
}

int main(void) {
    place at = begin();
    size_t wanted = 1048576000, size = round_up(wanted, page_size_for(at, wanted));
    char *range = NULL;
    CHECK(zeVirtualMemReserve(at.context, NULL, size, (void **)&range));

    piece small = sub_allocate(at, range, 128 << 10);
    piece large = sub_allocate(at, range + (512 << 20), 8 << 20);
    REQUIRE(small.size >= 128 << 10 && large.size >= 8 << 20);
    REQUIRE(large.start + large.size <= range + size);

    /* From one end of the range to the other, over half a gibibyte of nothing. */
    uint8_t *result = host_memory(at, small.size), pattern = 7;
    ze_command_list_handle_t commands = new_synchronous_list(at);
    CHECK(zeCommandListAppendMemoryFill(commands, small.start, &pattern, 1, small.size, NULL, 0, NULL));
    char *tail = large.start + large.size - small.size;
    CHECK(zeCommandListAppendMemoryCopy(commands, tail, small.start, small.size, NULL, 0, NULL));
    CHECK(zeCommandListAppendMemoryCopy(commands, result, tail, small.size, NULL, 0, NULL));
    printf("through the large piece came %d ... %d\n", result[0], result[small.size - 1]);
    for (size_t i = 0; i < small.size; i++)
        REQUIRE(result[i] == pattern);

    /* Between the pieces nothing may be done. */
    ze_memory_access_attribute_t access;
    size_t reach, page = page_size_for(at, 128 << 10);
    CHECK(zeVirtualMemGetAccessAttribute(at.context, small.start + small.size, page, &access, &reach));
    printf("between the pieces there is no access: %s\n", yes_no[access == ZE_MEMORY_ACCESS_ATTRIBUTE_NONE]);
    REQUIRE(access == ZE_MEMORY_ACCESS_ATTRIBUTE_NONE);

    CHECK(zeMemFree(at.context, result));
    CHECK(zeCommandListDestroy(commands));
    let_go(at, small);
    let_go(at, large);
    CHECK(zeVirtualMemFree(at.context, range, size));
    return end(at);
}
