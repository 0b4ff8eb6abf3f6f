/* A range grows at its end if the addresses there are free; else its pages move to a larger one. */
#include "guide.h"

enum { MIB = 1 << 20 };

typedef struct range {
    char *start;
    size_t size;
} range;

static range reserve(place at, void *start, size_t wanted) {
    size_t page_size;
    CHECK(zeVirtualMemQueryPageSize(at.context, at.device, wanted, &page_size));
    range made = {NULL, (wanted + page_size - 1) / page_size * page_size};
    CHECK(zeVirtualMemReserve(at.context, start, made.size, (void **)&made.start));
    return made;
}

static void give_up(place at, range old) { CHECK(zeVirtualMemFree(at.context, old.start, old.size)); }

static void map(place at, range to, ze_physical_mem_handle_t pages) {
    CHECK(zeVirtualMemMap(at.context, to.start, MIB, pages, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
}

/* Doubles a range of 1 MiB whose pages are mapped. The second half is in `added`, or in the range itself. */
static range grow(place at, range old, ze_physical_mem_handle_t pages, range *added) {
    *added = reserve(at, old.start + old.size, MIB);
    if (added->start == old.start + old.size)
        return old;
    /* It came to lie elsewhere, which is of no use. */
    give_up(at, *added);
    *added = (range){0};
    range larger = reserve(at, NULL, 2 * MIB);
    CHECK(zeVirtualMemUnmap(at.context, old.start, MIB));
    map(at, larger, pages);
    give_up(at, old);
    return larger;
}

static uint32_t first_word(place at, ze_command_list_handle_t commands, range of) {
    uint32_t *word = host_memory(at, sizeof *word), read;
    CHECK(zeCommandListAppendMemoryCopy(commands, word, of.start, sizeof *word, NULL, 0, NULL));
    read = *word;
    CHECK(zeMemFree(at.context, word));
    return read;
}

int main(void) {
    place at = begin();
    ze_command_list_handle_t commands = new_synchronous_list(at);
    for (int taken = 0; taken < 2; taken++) {
        range space = reserve(at, NULL, MIB), neighbour = {0}, added;
        ze_physical_mem_desc_t description = {ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, NULL, 0, MIB};
        ze_physical_mem_handle_t pages;
        CHECK(zePhysicalMemCreate(at.context, at.device, &description, &pages));
        map(at, space, pages);
        uint32_t pattern = 0xfeed;
        CHECK(zeCommandListAppendMemoryFill(commands, space.start, &pattern, sizeof pattern, MIB, NULL, 0, NULL));
        if (taken)
            neighbour = reserve(at, space.start + space.size, MIB);

        range grown = grow(at, space, pages, &added);
        printf("neighbour %s: 2 MiB in a row, and %04x is still there\n", taken ? "taken" : "free",
               first_word(at, commands, grown));
        REQUIRE(first_word(at, commands, grown) == pattern && grown.size + added.size == 2 * MIB);
        if (taken && neighbour.start == space.start + space.size)
            REQUIRE(grown.start != space.start);

        CHECK(zeVirtualMemUnmap(at.context, grown.start, MIB));
        CHECK(zePhysicalMemDestroy(at.context, pages));
        give_up(at, grown);
        if (added.size != 0)
            give_up(at, added);
        if (taken)
            give_up(at, neighbour);
    }
    CHECK(zeCommandListDestroy(commands));
    return end(at);
}
