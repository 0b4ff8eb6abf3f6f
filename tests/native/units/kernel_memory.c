/* Guards of kernels' memory where addresses have few bits, as those of some AArch64. */
#include "check.h"

static uintptr_t stack;
#define __builtin_frame_address(level) ((void)(level), (void *)stack)
#include "memory/kernel_memory.c"

enum { THREADS = 16 };
static const uintptr_t STACK_OF_39_BITS = 0x5500000000, STACK_OF_47_BITS = 0x7ffd00000000;
static const size_t ENOUGH = (size_t)16 << 20;

void gs_uninitialised_forget(const void *start, uint64_t bytes) { (void)start, (void)bytes; }

static size_t limit;
size_t gs_address_space_limit(void) { return limit; }

static pthread_barrier_t all_have_theirs;

static void *use(void *guards) {
    char *local = gs_kernel_memory(256, 1024, 1024);
    REQUIRE(local != NULL);
    local[0] = gs_header_of(local)->private[0] = 1;
    REQUIRE(mine.saved.guard == SMALL_GUARD);
    unsigned char is_there = 0; /* masked loads whose inactive lanes lie behind local memory are fast then */
    REQUIRE(mincore(mine.local.start + mine.local.size, 1, &is_there) == 0 && (is_there & 1) != 0);
    ((size_t *)guards)[0] = mine.local.guard;
    ((size_t *)guards)[1] = mine.private.guard;
    char text[100];
    REQUIRE(gs_kernel_memory_describe(mine.private.start - mine.private.guard, text, sizeof text));
    REQUIRE(strcmp(text, "before private memory") == 0);
    pthread_barrier_wait(&all_have_theirs);
    return NULL;
}

/* What the guards of threads that are there at the same time have; in the end all is given back. */
static void use_in_threads(unsigned count, size_t guards[][2]) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&all_have_theirs, NULL, count);
    for (unsigned each = 0; each < count; each++)
        REQUIRE(pthread_create(&threads[each], NULL, use, guards[each]) == 0);
    for (unsigned each = 0; each < count; each++)
        pthread_join(threads[each], NULL);
    pthread_barrier_destroy(&all_have_theirs);
    REQUIRE(atomic_load(&reserved) == 0);
}

static void every_thread_has_some_of_few_addresses(void) {
    size_t guards[THREADS][2], sum = 0;
    stack = STACK_OF_39_BITS;
    use_in_threads(THREADS, guards);
    for (unsigned each = 0; each < THREADS; each++) {
        REQUIRE(guards[each][0] >= ENOUGH && guards[each][1] >= ENOUGH);
        sum += 2 * (guards[each][0] + guards[each][1]);
    }
    REQUIRE(sum <= (size_t)1 << 36);
}

static void where_there_are_many_addresses_guards_are_whole(void) {
    size_t guards[1][2];
    stack = STACK_OF_47_BITS;
    use_in_threads(1, guards);
    REQUIRE(guards[0][0] == LOCAL_GUARD && guards[0][1] == PRIVATE_GUARD);
}

static void with_a_limit_guards_are_small(void) {
    size_t guards[1][2];
    limit = (size_t)8 << 30;
    use_in_threads(1, guards);
    REQUIRE(guards[0][0] == SMALL_GUARD && guards[0][1] == SMALL_GUARD);
}

int main(void) {
    if (!IS_CROWDED) {
        every_thread_has_some_of_few_addresses();
        where_there_are_many_addresses_guards_are_whole();
    }
    with_a_limit_guards_are_small();
    return 0;
}
