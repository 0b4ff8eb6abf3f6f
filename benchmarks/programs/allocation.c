/* Allocating and freeing, by the driver and by the C library, turn about: once leaving the memory alone, once
 * writing all of it. A size is allocated and freed over and over, as a program with a temporary buffer does.
 * Usage: allocation LIBRARY BYTES ROUNDS TIMES_UNTOUCHED TIMES_TOUCHED */
#include "level_zero.h"

typedef struct allocator {
    const char *name;
    void *(*take)(size_t);
    void (*give)(void *);
} allocator;

static void *take_from_c(size_t size) {
    void *memory = malloc(size);
    REQUIRE(memory != NULL);
    return memory;
}

static const allocator allocators[] = {
    {"malloc", take_from_c, free},
    {"device", device_memory, free_memory},
    {"host", host_memory, free_memory},
    {"shared", shared_memory, free_memory},
};

/* Keeps the compiler from leaving out memory that nobody reads. */
static void use(void *memory) { __asm__ volatile("" : : "r"(memory) : "memory"); }

static void measure(const allocator *from, const char *how, size_t size, uint64_t times, bool touch) {
    char name[64];
    snprintf(name, sizeof name, "%s-%s", from->name, how);
    uint64_t start = now();
    for (uint64_t each = 0; each < times; each++) {
        void *memory = from->take(size);
        if (touch)
            memset(memory, (int)each, size);
        use(memory);
        from->give(memory);
    }
    print_sample(name, now() - start, times);
}

int main(int count, char **arguments) {
    REQUIRE(count == 6);
    size_t size = number(arguments[2]);
    uint64_t rounds = number(arguments[3]), untouched = number(arguments[4]), touched = number(arguments[5]);
    start_level_zero(arguments[1]);
    const size_t count_of = sizeof allocators / sizeof *allocators;
    for (uint64_t round = 0; round < rounds; round++)
        for (size_t each = 0; each < count_of; each++) { /* each goes first in turn */
            const allocator *from = &allocators[(round + each) % count_of];
            measure(from, "untouched", size, untouched, false);
            measure(from, "touched", size, touched, true);
        }
    return 0;
}
