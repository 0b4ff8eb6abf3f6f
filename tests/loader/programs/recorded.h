/* What programs share whose recordings a test compares with what they say: before each submission they write into a file
 * what the work will find. The first argument of a program chooses its part, the second one is the file. */
#ifndef RECORDED_H
#define RECORDED_H

#include <time.h>

#include "common.h"

enum { PAGE = 4096, SIZE = 16 * PAGE };

static setup on;
static FILE *truth;
static unsigned char pattern = 1;

/* --- What is true ----------------------------------------------------------------------------------------- */

static inline void expect(const void *at, size_t size) {
    uint64_t head[2] = {(uintptr_t)at, size};
    fwrite(head, sizeof head, 1, truth);
    fwrite(at, size, 1, truth);
}

/* Ends what is said of one submission, which follows. */
static inline void submission_follows(void) {
    uint64_t head[2] = {0, 0};
    fwrite(head, sizeof head, 1, truth);
    fflush(truth);
}

/* Bytes that were not there before. */
static inline void scribble(void *at, size_t size) {
    for (size_t each = 0; each < size; each++)
        ((unsigned char *)at)[each] = (unsigned char)(pattern + each % 251);
    pattern += 17;
}

/* --- Objects ---------------------------------------------------------------------------------------------- */

static inline ze_command_list_handle_t immediate_list(ze_command_queue_mode_t mode) {
    ze_command_queue_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = mode};
    ze_command_list_handle_t list;
    CHECK(zeCommandListCreateImmediate(on.context, on.device, &description, &list));
    return list;
}

static inline void *shared_memory(size_t size) {
    ze_device_mem_alloc_desc_t of_device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t of_host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *memory;
    CHECK(zeMemAllocShared(on.context, &of_device, &of_host, size, 0, on.device, &memory));
    return memory;
}

static inline void *new_host_memory(size_t size) {
    ze_host_mem_alloc_desc_t description = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *memory;
    CHECK(zeMemAllocHost(on.context, &description, size, 0, &memory));
    return memory;
}

/* Submits a copy between allocations; what was expected before it must be in the stream by then. */
static inline void copy(ze_command_list_handle_t list, void *to, const void *from, size_t size) {
    submission_follows();
    CHECK(zeCommandListAppendMemoryCopy(list, to, from, size, NULL, 0, NULL));
}

/* Memory of the device that a program may read: what new memory holds is up to chance. */
static inline unsigned char *filled_memory(ze_command_list_handle_t list) {
    unsigned char *memory = device_memory(on, SIZE);
    submission_follows();
    CHECK(zeCommandListAppendMemoryFill(list, memory, "gs", 2, SIZE, NULL, 0, NULL));
    return memory;
}

static inline void pause_for(long nanoseconds) {
    const struct timespec time = {0, nanoseconds};
    nanosleep(&time, NULL);
}

/* --- The program ------------------------------------------------------------------------------------------ */

typedef struct part {
    const char *name;
    void (*run)(void);
} part;

static inline int run_part(int count, char **arguments, const part *parts, size_t part_count) {
    REQUIRE(count == 3);
    truth = fopen(arguments[2], "wb");
    REQUIRE(truth != NULL);
    on = first_device();
    for (size_t each = 0; each < part_count; each++)
        if (strcmp(parts[each].name, arguments[1]) == 0)
            parts[each].run();
    fclose(truth);
    return 0;
}

#endif
