/* Memory of a Level Zero device through the Unified Memory Framework (UMF), for two processes.

       pip install umf
       gcc examples/umf.c -I$VIRTUAL_ENV/include -L$VIRTUAL_ENV/lib \
           -Wl,-rpath,$VIRTUAL_ENV/lib -lumf -lze_loader -o umf
       groundstate run -- ./umf

   It makes a provider and a pool for each type of memory, allocates, shows an error of the driver, and lets a
   second process change what the first has in memory of the device. */
#define _GNU_SOURCE
#include <level_zero/ze_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <umf/ipc.h>
#include <umf/memory_pool.h>
#include <umf/pools/pool_disjoint.h>
#include <umf/providers/provider_level_zero.h>
#include <unistd.h>

#define COUNT 1000

static ze_context_handle_t context;
static ze_device_handle_t device;

static void check(int result, const char *call) {
    if (result != 0) {
        fprintf(stderr, "%s: error %#x\n", call, (unsigned)result);
        exit(1);
    }
}

#define CHECK(call) check((int)(call), #call)

static void find_device(void) {
    uint32_t count = 1;
    ze_driver_handle_t driver;
    ze_context_desc_t description = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    CHECK(zeInit(0));
    CHECK(zeDriverGet(&count, &driver));
    CHECK(zeDeviceGet(driver, &count, &device));
    CHECK(zeContextCreate(driver, &description, &context));
}

static umf_memory_provider_handle_t make_provider(umf_usm_memory_type_t type) {
    umf_level_zero_memory_provider_params_handle_t parameters;
    umf_memory_provider_handle_t provider;
    CHECK(umfLevelZeroMemoryProviderParamsCreate(&parameters));
    CHECK(umfLevelZeroMemoryProviderParamsSetContext(parameters, context));
    CHECK(umfLevelZeroMemoryProviderParamsSetDevice(parameters, type == UMF_MEMORY_TYPE_HOST ? NULL : device));
    CHECK(umfLevelZeroMemoryProviderParamsSetMemoryType(parameters, type));
    CHECK(umfMemoryProviderCreate(umfLevelZeroMemoryProviderOps(), parameters, &provider));
    CHECK(umfLevelZeroMemoryProviderParamsDestroy(parameters));
    return provider;
}

/* A pool that takes large pieces from its provider and cuts allocations out of them. */
static umf_memory_pool_handle_t make_pool(umf_usm_memory_type_t type) {
    umf_disjoint_pool_params_handle_t parameters;
    umf_memory_pool_handle_t pool;
    CHECK(umfDisjointPoolParamsCreate(&parameters));
    CHECK(umfPoolCreate(umfDisjointPoolOps(), make_provider(type), parameters, UMF_POOL_CREATE_FLAG_OWN_PROVIDER,
                        &pool));
    CHECK(umfDisjointPoolParamsDestroy(parameters));
    return pool;
}

/* What Level Zero says of memory that a pool gave out. */
static const char *kind_of(const void *memory) {
    static const char *const names[] = {"of nobody", "host", "device", "shared"};
    ze_memory_allocation_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    CHECK(zeMemGetAllocProperties(context, memory, &properties, NULL));
    return names[properties.type];
}

static void use_pool(umf_usm_memory_type_t type) {
    umf_memory_pool_handle_t pool = make_pool(type), owner = NULL;
    const size_t sizes[] = {24, 5000, 3 << 20};
    printf("a pool gave out");
    for (size_t each = 0; each < sizeof sizes / sizeof *sizes; each++) {
        void *memory = umfPoolAlignedMalloc(pool, sizes[each], 64);
        if (memory == NULL || (uintptr_t)memory % 64 != 0)
            check(umfPoolGetLastAllocationError(pool), "umfPoolAlignedMalloc");
        CHECK(umfPoolByPtr(memory, &owner));
        check(owner != pool, "the pool of that memory");
        printf(" %zu bytes of %s memory,", sizes[each], kind_of(memory));
        CHECK(umfFree(memory));
    }
    printf(" and has them back\n");
    CHECK(umfPoolDestroy(pool));
}

/* More than there is: the provider passes on what the driver answered, which is more than its own result says. In
 * version 1.2 it has no sentence to it, and says that this is not supported although the number is there. */
static void ask_for_too_much(void) {
    umf_memory_provider_handle_t provider = make_provider(UMF_MEMORY_TYPE_DEVICE);
    void *memory = NULL;
    umf_result_t result = umfMemoryProviderAlloc(provider, (size_t)1 << 50, 0, &memory);
    const char *name = NULL, *sentence = NULL;
    int32_t error = 0;
    CHECK(umfMemoryProviderGetName(provider, &name));
    umfMemoryProviderGetLastNativeError(provider, &sentence, &error);
    printf("%s has no pebibyte: error %d, the driver's %#x\n", name, result, (unsigned)error);
    CHECK(umfMemoryProviderDestroy(provider));
}

static void copy(void *to, const void *from, size_t size) {
    ze_command_queue_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                           .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
    ze_command_list_handle_t list;
    CHECK(zeCommandListCreateImmediate(context, device, &description, &list));
    CHECK(zeCommandListAppendMemoryCopy(list, to, from, size, NULL, 0, NULL));
    CHECK(zeCommandListDestroy(list));
}

/* The second process: it reads a handle from its input, and doubles the numbers in that memory. */
static int second_process(size_t size) {
    find_device();
    umf_memory_pool_handle_t pool = make_pool(UMF_MEMORY_TYPE_DEVICE);
    umf_ipc_handler_handle_t opener;
    umf_ipc_handle_t handle = malloc(size);
    int numbers[COUNT];
    void *memory;
    check(read(STDIN_FILENO, handle, size) != (ssize_t)size, "reading the handle");
    CHECK(umfPoolGetIPCHandler(pool, &opener));
    CHECK(umfOpenIPCHandle(opener, handle, &memory));
    copy(numbers, memory, sizeof numbers);
    for (int each = 0; each < COUNT; each++)
        numbers[each] *= 2;
    copy(memory, numbers, sizeof numbers);
    CHECK(umfCloseIPCHandle(memory));
    CHECK(umfPoolDestroy(pool));
    free(handle);
    CHECK(zeContextDestroy(context));
    return 0;
}

/* Starts this program again, with the handle on its input, and waits for it. */
static void run_second_process(char *program, const void *handle, size_t size) {
    char text[32];
    int ends[2], status = 0;
    snprintf(text, sizeof text, "%zu", size);
    check(pipe(ends), "pipe");
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* UMF takes the file behind the handle from us */
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[0], STDIN_FILENO);
        execl(program, program, text, NULL);
        _exit(127);
    }
    check(write(ends[1], handle, size) != (ssize_t)size, "writing the handle");
    check(waitpid(child, &status, 0) != child, "waitpid");
    check(status, "the second process");
}

static void share_with_second_process(char *program) {
    umf_memory_pool_handle_t pool = make_pool(UMF_MEMORY_TYPE_DEVICE);
    umf_ipc_handle_t handle;
    size_t size;
    int numbers[COUNT], wrong = 0;
    for (int each = 0; each < COUNT; each++)
        numbers[each] = each;
    void *memory = umfPoolMalloc(pool, sizeof numbers);
    copy(memory, numbers, sizeof numbers);
    CHECK(umfGetIPCHandle(memory, &handle, &size));
    run_second_process(program, handle, size);
    CHECK(umfPutIPCHandle(handle));
    copy(numbers, memory, sizeof numbers);
    for (int each = 0; each < COUNT; each++)
        wrong += numbers[each] != 2 * each;
    CHECK(umfPoolFree(pool, memory));
    CHECK(umfPoolDestroy(pool));
    printf("a second process doubled %d numbers, %d wrong\n", COUNT, wrong);
    check(wrong, "numbers of the second process");
}

int main(int count, char **arguments) {
    if (count > 1)
        return second_process((size_t)atol(arguments[1]));
    find_device();
    use_pool(UMF_MEMORY_TYPE_HOST);
    use_pool(UMF_MEMORY_TYPE_SHARED);
    use_pool(UMF_MEMORY_TYPE_DEVICE);
    ask_for_too_much();
    share_with_second_process(arguments[0]);
    CHECK(zeContextDestroy(context));
    return 0;
}
