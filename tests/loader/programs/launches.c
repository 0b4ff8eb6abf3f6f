/* Every form of launch, with kernels that were compiled from OpenCL C: launches FILE.spv forms|many|print */
#include <dlfcn.h>

#include "common.h"

typedef struct sizes {
    uint32_t x, y, z;
} sizes;

static setup on;
static ze_module_handle_t module;
static ze_command_list_handle_t list; /* immediate */
static ze_event_handle_t done;

static ze_kernel_handle_t new_kernel(const char *name, sizes group) {
    ze_kernel_desc_t description = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
    ze_kernel_handle_t kernel = NULL;
    CHECK(zeKernelCreate(module, &description, &kernel));
    CHECK(zeKernelSetGroupSize(kernel, group.x, group.y, group.z));
    return kernel;
}

static void set(ze_kernel_handle_t kernel, uint32_t index, size_t size, const void *value) {
    CHECK(zeKernelSetArgumentValue(kernel, index, size, value));
}

static void finish(void) {
    CHECK(zeCommandListAppendBarrier(list, done, 0, NULL));
    CHECK(zeEventHostSynchronize(done, UINT64_MAX));
    CHECK(zeEventHostReset(done));
}

/* Host memory of zeros. */
static void *zeros(size_t size) { return host_memory(on, size); }

static void release(void *memory) { CHECK(zeMemFree(on.context, memory)); }

/* --- Direct launches ------------------------------------------------------------------------------ */

/* Each work-item has to have run once, at its place in its group. */
static void check_marks(const uint32_t *seen, ze_group_count_t groups, sizes group) {
    size_t width = (size_t)groups.groupCountX * group.x, height = (size_t)groups.groupCountY * group.y;
    size_t depth = (size_t)groups.groupCountZ * group.z;
    for (size_t z = 0; z < depth; z++)
        for (size_t y = 0; y < height; y++)
            for (size_t x = 0; x < width; x++) {
                size_t local = (z % group.z * group.y + y % group.y) * group.x + x % group.x;
                REQUIRE(seen[(z * height + y) * width + x] == 1 + local);
            }
}

static void launch_shape(ze_group_count_t groups, sizes group) {
    size_t items = (size_t)groups.groupCountX * groups.groupCountY * groups.groupCountZ * group.x * group.y * group.z;
    uint32_t *seen = zeros((items + 1) * sizeof *seen);
    ze_kernel_handle_t kernel = new_kernel("mark", group);
    set(kernel, 0, sizeof seen, &seen);
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    finish();
    check_marks(seen, groups, group);
    REQUIRE(seen[items] == 0);
    CHECK(zeKernelDestroy(kernel));
    release(seen);
}

static void test_shapes(void) {
    const sizes groups[] = {{1, 1, 1}, {7, 1, 1}, {1000, 1, 1}, {5, 3, 2}, {1, 7, 1}, {1, 1, 64}, {16, 16, 1}, {33, 2, 3}};
    const ze_group_count_t counts[] = {{1, 1, 1}, {3, 1, 1}, {2, 3, 5}, {257, 1, 1}, {1, 1, 9}};
    for (size_t group = 0; group < sizeof groups / sizeof *groups; group++)
        for (size_t count = 0; count < sizeof counts / sizeof *counts; count++)
            launch_shape(counts[count], groups[group]);
}

/* The event of a launch that has nothing to do is signalled all the same. */
static void test_no_groups(ze_event_handle_t event) {
    const ze_group_count_t none[] = {{0, 1, 1}, {1, 0, 1}, {4, 4, 0}, {0, 0, 0}};
    uint32_t *seen = zeros(sizeof *seen);
    ze_kernel_handle_t kernel = new_kernel("mark", (sizes){4, 1, 1});
    set(kernel, 0, sizeof seen, &seen);
    for (size_t each = 0; each < sizeof none / sizeof *none; each++) {
        CHECK(zeCommandListAppendLaunchKernel(list, kernel, &none[each], event, 0, NULL));
        CHECK(zeEventHostSynchronize(event, UINT64_MAX));
        CHECK(zeEventHostReset(event));
    }
    REQUIRE(seen[0] == 0);
    CHECK(zeKernelDestroy(kernel));
    release(seen);
}

/* Only the last work-items of more than 2^32 do something. */
static void launch_many(ze_group_count_t groups, sizes group) {
    enum { COUNTED = 5 };
    unsigned __int128 items = (unsigned __int128)groups.groupCountX * groups.groupCountY * groups.groupCountZ;
    uint64_t total = (uint64_t)(items * group.x * group.y * group.z), from = total - COUNTED, expected = 0;
    REQUIRE(total > UINT64_C(1) << 32);
    for (uint64_t id = from; id < total; id++)
        expected += id;
    uint64_t *count = zeros(sizeof *count);
    ze_kernel_handle_t kernel = new_kernel("last", group);
    set(kernel, 0, sizeof count, &count);
    set(kernel, 1, sizeof from, &from);
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    finish();
    REQUIRE(*count == expected);
    CHECK(zeKernelDestroy(kernel));
    release(count);
}

static void test_many(void) {
    launch_many((ze_group_count_t){(1 << 22) + 1, 1, 1}, (sizes){1024, 1, 1});
    launch_many((ze_group_count_t){3, 701, 1 << 11}, (sizes){100, 5, 2});
}

static void test_offset(void) {
    ze_result_t (*set_offset)(ze_kernel_handle_t, uint32_t, uint32_t, uint32_t) = zeKernelSetGlobalOffsetExp;
    const ze_group_count_t groups = {2, 2, 1};
    enum { ITEMS = 2 * 2 * 3 * 2 };
    uint32_t *out = zeros(3 * ITEMS * sizeof *out);
    ze_kernel_handle_t kernel = new_kernel("offsets", (sizes){3, 2, 1});
    set(kernel, 0, sizeof out, &out);
    CHECK(set_offset(kernel, 100, 4000000000u, 7));
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    finish();
    for (uint32_t each = 0; each < ITEMS; each++) {
        REQUIRE(out[3 * each] == 100 + each % 6);
        REQUIRE(out[3 * each + 1] == 4000000000u + each / 6);
        REQUIRE(out[3 * each + 2] == 7);
    }
    CHECK(zeKernelDestroy(kernel));
    release(out);
}

/* --- Indirect and cooperative launches ------------------------------------------------------------ */

/* The counts are written by a command that runs before the launch, into memory of the device. */
static void test_indirect(void) {
    const sizes group = {5, 3, 2};
    const ze_group_count_t wanted = {4, 2, 3};
    ze_group_count_t *counts = device_memory(on, sizeof *counts);
    uint32_t *seen = zeros((4 * 2 * 3 * 30 + 1) * sizeof *seen);
    ze_kernel_handle_t kernel = new_kernel("mark", group);
    set(kernel, 0, sizeof seen, &seen);
    ze_command_list_handle_t recorded = new_list(on);
    ze_command_queue_handle_t queue = new_queue(on);
    CHECK(zeCommandListAppendMemoryCopy(recorded, counts, &wanted, sizeof wanted, NULL, 0, NULL));
    CHECK(zeCommandListAppendBarrier(recorded, NULL, 0, NULL));
    CHECK(zeCommandListAppendLaunchKernelIndirect(recorded, kernel, counts, NULL, 0, NULL));
    CHECK(zeCommandListClose(recorded));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &recorded, NULL));
    CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    check_marks(seen, wanted, group);
    CHECK(zeCommandListDestroy(recorded));
    CHECK(zeCommandQueueDestroy(queue));
    CHECK(zeKernelDestroy(kernel));
    release(seen);
    release(counts);
}

/* As many of the kernels run as memory says, each with the counts of its own. */
static void test_several(void) {
    enum { KERNELS = 3, ITEMS = 64 };
    const ze_group_count_t written[KERNELS] = {{1, 1, 1}, {2, 1, 1}, {4, 1, 1}};
    ze_kernel_handle_t kernels[KERNELS];
    uint32_t *seen[KERNELS], *number = device_memory(on, sizeof *number);
    ze_group_count_t *counts = device_memory(on, sizeof written);
    for (uint32_t each = 0; each < KERNELS; each++) {
        seen[each] = zeros(ITEMS * sizeof **seen);
        kernels[each] = new_kernel("mark", (sizes){8, 1, 1});
        set(kernels[each], 0, sizeof seen[each], &seen[each]);
    }
    for (uint32_t running = 0; running <= KERNELS; running++) {
        for (uint32_t each = 0; each < KERNELS; each++)
            memset(seen[each], 0, ITEMS * sizeof **seen);
        CHECK(zeCommandListAppendMemoryCopy(list, counts, written, sizeof written, NULL, 0, NULL));
        CHECK(zeCommandListAppendMemoryCopy(list, number, &running, sizeof running, NULL, 0, NULL));
        CHECK(zeCommandListAppendBarrier(list, NULL, 0, NULL));
        CHECK(zeCommandListAppendLaunchMultipleKernelsIndirect(list, KERNELS, kernels, number, counts, NULL, 0, NULL));
        finish();
        for (uint32_t each = 0; each < KERNELS; each++)
            for (uint32_t item = 0; item < ITEMS; item++)
                REQUIRE(seen[each][item] == (each < running && item < 8u << each ? 1 + item % 8 : 0));
    }
    for (uint32_t each = 0; each < KERNELS; each++) {
        CHECK(zeKernelDestroy(kernels[each]));
        release(seen[each]);
    }
    release(number);
    release(counts);
}

static void test_cooperative(void) {
    ze_kernel_handle_t kernel = new_kernel("meet", (sizes){4, 1, 1});
    uint32_t groups = 0;
    CHECK(zeKernelSuggestMaxCooperativeGroupCount(kernel, &groups));
    REQUIRE(groups > 0);
    int32_t *arrived = zeros(sizeof *arrived);
    uint32_t *out = zeros(4 * groups * sizeof *out);
    set(kernel, 0, sizeof arrived, &arrived);
    set(kernel, 1, sizeof out, &out);
    ze_group_count_t counts = {groups, 1, 1};
    CHECK(zeCommandListAppendLaunchCooperativeKernel(list, kernel, &counts, NULL, 0, NULL));
    finish();
    for (uint32_t each = 0; each < 4 * groups; each++)
        REQUIRE(out[each] == each);
    CHECK(zeKernelDestroy(kernel));
    release(arrived);
    release(out);
}

/* --- Launches with everything in one call (since 1.14) -------------------------------------------- */

typedef ze_result_t (*launch_with_arguments)(ze_command_list_handle_t, ze_kernel_handle_t, ze_group_count_t, sizes,
                                             void **, const void *, ze_event_handle_t, uint32_t, ze_event_handle_t *);
typedef ze_result_t (*launch_with_parameters)(ze_command_list_handle_t, ze_kernel_handle_t, const ze_group_count_t *,
                                              const void *, ze_event_handle_t, uint32_t, ze_event_handle_t *);

static void test_with_arguments(void) {
    launch_with_arguments launch;
    *(void **)&launch = dlsym(RTLD_DEFAULT, "zeCommandListAppendLaunchKernelWithArguments");
    if (launch == NULL)
        return; /* the loader is older than that */
    struct {
        int32_t a;
        double b;
    } pair = {3, 0.25};
    float f = 0.5f;
    uint8_t c = 200;
    size_t local_size = 7 * sizeof(uint32_t);
    double *out = zeros(21 * sizeof *out);
    void *arguments[] = {&out, &pair, &f, &local_size, &c};
    ze_kernel_handle_t kernel = new_kernel("take", (sizes){1, 1, 1});
    CHECK(launch(list, kernel, (ze_group_count_t){3, 1, 1}, (sizes){7, 1, 1}, arguments, NULL, NULL, 0, NULL));
    finish();
    for (uint32_t each = 0; each < 21; each++)
        REQUIRE(out[each] == 203.75 + (6 - each % 7));
    CHECK(zeKernelDestroy(kernel));
    release(out);
}

static void test_with_parameters(void) {
    launch_with_parameters launch;
    *(void **)&launch = dlsym(RTLD_DEFAULT, "zeCommandListAppendLaunchKernelWithParameters");
    if (launch == NULL)
        return;
    const ze_group_count_t groups = {3, 2, 1};
    uint32_t *seen = zeros(3 * 2 * 7 * sizeof *seen);
    ze_kernel_handle_t kernel = new_kernel("mark", (sizes){7, 1, 1});
    set(kernel, 0, sizeof seen, &seen);
    CHECK(launch(list, kernel, &groups, NULL, NULL, 0, NULL));
    finish();
    check_marks(seen, groups, (sizes){7, 1, 1});
    CHECK(zeKernelDestroy(kernel));
    release(seen);
}

/* --- Time and text -------------------------------------------------------------------------------- */

/* The device's clock before and after surrounds the timestamps of the launch, and the events of two launches that
 * follow each other do not overlap. */
static void test_timestamps(ze_event_handle_t first, ze_event_handle_t second) {
    enum { ITEMS = 4096 };
    uint64_t host, before, after;
    uint32_t rounds = 1000, *out = zeros(ITEMS * sizeof *out);
    ze_kernel_handle_t kernel = new_kernel("spin", (sizes){64, 1, 1});
    set(kernel, 0, sizeof out, &out);
    set(kernel, 1, sizeof rounds, &rounds);
    ze_group_count_t groups = {ITEMS / 64, 1, 1};
    CHECK(zeDeviceGetGlobalTimestamps(on.device, &host, &before));
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, first, 0, NULL));
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, second, 1, &first));
    CHECK(zeEventHostSynchronize(second, UINT64_MAX));
    CHECK(zeDeviceGetGlobalTimestamps(on.device, &host, &after));
    ze_kernel_timestamp_result_t stamps[2];
    CHECK(zeEventQueryKernelTimestamp(first, &stamps[0]));
    CHECK(zeEventQueryKernelTimestamp(second, &stamps[1]));
    REQUIRE(before <= stamps[0].global.kernelStart && stamps[0].global.kernelStart < stamps[0].global.kernelEnd);
    REQUIRE(stamps[0].global.kernelEnd <= stamps[1].global.kernelStart);
    REQUIRE(stamps[1].global.kernelStart < stamps[1].global.kernelEnd && stamps[1].global.kernelEnd <= after);
    REQUIRE(stamps[0].context.kernelStart < stamps[0].context.kernelEnd);
    finish();
    CHECK(zeKernelDestroy(kernel));
    release(out);
}

/* Prints more than the buffer holds. Who reads the output counts its lines; here is said how many calls failed. */
static void test_printing(void) {
    ze_device_module_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES};
    CHECK(zeDeviceGetModuleProperties(on.device, &properties));
    REQUIRE(properties.printfBufferSize > 0);
    uint32_t items = properties.printfBufferSize / 8, *failed = zeros(sizeof *failed);
    ze_kernel_handle_t kernel = new_kernel("talk", (sizes){128, 1, 1});
    set(kernel, 0, sizeof failed, &failed);
    ze_group_count_t groups = {items / 128, 1, 1};
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    finish();
    printf("%u of %u calls failed\n", *failed, groups.groupCountX * 128);
    CHECK(zeKernelDestroy(kernel));
    release(failed);
}

int main(int count, char **words) {
    REQUIRE(count == 3);
    on = first_device();
    module = module_of_file(on, words[1]);
    ze_command_queue_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    CHECK(zeCommandListCreateImmediate(on.context, on.device, &description, &list));
    ze_event_pool_handle_t pool = new_pool(on, 3, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
    ze_event_handle_t first = new_event(pool, 0), second = new_event(pool, 1);
    done = new_event(pool, 2);
    if (strcmp(words[2], "print") == 0) {
        test_printing();
    } else if (strcmp(words[2], "many") == 0) {
        test_many();
    } else {
        test_shapes();
        test_no_groups(first);
        test_offset();
        test_indirect();
        test_several();
        test_cooperative();
        test_with_arguments();
        test_with_parameters();
        test_timestamps(first, second);
    }
    CHECK(zeEventDestroy(first));
    CHECK(zeEventDestroy(second));
    CHECK(zeEventDestroy(done));
    CHECK(zeEventPoolDestroy(pool));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeModuleDestroy(module));
    CHECK(zeContextDestroy(on.context));
    puts("launches ok");
    return 0;
}
