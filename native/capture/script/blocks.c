/* Memory that a script owns, in the order of its addresses.
 *
 * Each block has a number that no other one ever gets, so that a table which shows a part of a block knows when that is
 * gone, also if something else is at its address by then. All is used with the lock of the script held. */
#include <stdlib.h>
#include <string.h>

#include "capture/script/values.h"

typedef struct block {
    uintptr_t begin;
    size_t size;
    int64_t number;
} block;

static block *blocks;
static size_t count, capacity;
static int64_t last_number;

/* The place of the first block that begins behind an address. */
static size_t place_behind(uintptr_t at) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (blocks[middle].begin <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool make_room(void) {
    if (count < capacity)
        return true;
    size_t wanted = capacity > 0 ? capacity * 2 : 16;
    block *larger = realloc(blocks, wanted * sizeof *blocks);
    if (larger == NULL)
        return false;
    blocks = larger;
    capacity = wanted;
    return true;
}

bool gc_block_add(const void *address, size_t size) {
    if (!make_room())
        return false;
    size_t place = place_behind((uintptr_t)address);
    memmove(&blocks[place + 1], &blocks[place], (count - place) * sizeof *blocks);
    blocks[place] = (block){(uintptr_t)address, size, ++last_number};
    count++;
    return true;
}

bool gc_block_remove(const void *address, size_t *size) {
    size_t place = place_behind((uintptr_t)address);
    if (place == 0 || blocks[place - 1].begin != (uintptr_t)address)
        return false;
    *size = blocks[place - 1].size;
    memmove(&blocks[place - 1], &blocks[place], (count - place) * sizeof *blocks);
    count--;
    return true;
}

int64_t gc_block_at(const void *address) {
    size_t place = place_behind((uintptr_t)address);
    bool is_inside = place > 0 && (uintptr_t)address - blocks[place - 1].begin < blocks[place - 1].size;
    return is_inside ? blocks[place - 1].number : 0;
}
