/* Contexts keep libraries apart: what is allocated in one is unknown to the other. */
#include "guide.h"

static ze_memory_type_t type_of(ze_context_handle_t context, const void *memory) {
    ze_memory_allocation_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    ze_device_handle_t device = NULL;
    CHECK(zeMemGetAllocProperties(context, memory, &properties, &device));
    return properties.type;
}

static char *allocate(ze_context_handle_t context, size_t size) {
    ze_host_mem_alloc_desc_t description = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *memory = NULL;
    CHECK(zeMemAllocHost(context, &description, size, 0, &memory));
    return memory;
}

int main(void) {
    uint32_t count = 1;
    ze_driver_handle_t driver;
    CHECK(zeInit(0));
    CHECK(zeDriverGet(&count, &driver));

    ze_context_desc_t description = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, NULL, 0};
    ze_context_handle_t context_a, context_b;
    CHECK(zeContextCreate(driver, &description, &context_a));
    CHECK(zeContextCreate(driver, &description, &context_b));

    char *a = allocate(context_a, 80), *b = allocate(context_b, 88);
    strcpy(b, "fourteen chars");

    /* To the host, memory is memory. */
    memcpy(a, b, 14);
    printf("copied by the host: %.14s\n", a);
    REQUIRE(memcmp(a, b, 14) == 0);

    /* To a context, only its own is. */
    printf("context A knows A's memory: %s\n", yes_no[type_of(context_a, a) == ZE_MEMORY_TYPE_HOST]);
    printf("context A knows B's memory: %s\n", yes_no[type_of(context_a, b) != ZE_MEMORY_TYPE_UNKNOWN]);
    REQUIRE(type_of(context_a, b) == ZE_MEMORY_TYPE_UNKNOWN);
    REQUIRE(type_of(context_b, b) == ZE_MEMORY_TYPE_HOST);

    CHECK(zeMemFree(context_a, a));
    CHECK(zeMemFree(context_b, b));
    CHECK(zeContextDestroy(context_a));
    CHECK(zeContextDestroy(context_b));
    return 0;
}
