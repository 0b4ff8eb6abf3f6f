/* A program as people write them: it uploads numbers, blurs them, and waits. Its kernel, from the file that is named on the
 * command line, writes one place too far. Words behind that say what else happens:
 *   threads  four threads do the same, each with memory of its own
 *   fork     a child process does it, the parent only waits
 *   exec     the program starts itself again
 *   abort    a signal ends it afterwards
 *   status   it ends with 3
 *   wait     it waits until somebody interrupts it */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "generated/functions.h"

#define CHECK(call)                                      \
    do {                                                 \
        ze_result_t result = (call);                     \
        if (result != ZE_RESULT_SUCCESS) {               \
            fprintf(stderr, "%s: %#x\n", #call, result); \
            exit(1);                                     \
        }                                                \
    } while (0)

enum { COUNT = 1024, GROUP = 256 };

static ze_context_handle_t context;
static ze_device_handle_t device;
static ze_module_handle_t module;

static void open_device(void) {
    ze_driver_handle_t driver;
    ze_context_desc_t description = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    uint32_t count = 1;
    CHECK(zeInit(0));
    CHECK(zeDriverGet(&count, &driver));
    count = 1;
    CHECK(zeDeviceGet(driver, &count, &device));
    CHECK(zeContextCreate(driver, &description, &context));
}

static void build(const char *path) {
    static unsigned char spirv[1 << 16];
    FILE *file = fopen(path, "rb");
    size_t size = file != NULL ? fread(spirv, 1, sizeof spirv, file) : 0;
    ze_module_desc_t description = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                                    .format = ZE_MODULE_FORMAT_IL_SPIRV,
                                    .inputSize = size,
                                    .pInputModule = spirv};
    if (file != NULL)
        fclose(file);
    CHECK(zeModuleCreate(context, device, &description, &module, NULL));
}

__attribute__((noinline)) static float *upload(size_t count) {
    ze_device_mem_alloc_desc_t description = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    void *memory;
    CHECK(zeMemAllocDevice(context, &description, count * sizeof(float), 64, device, &memory)); /* allocates */
    return memory;
}

__attribute__((noinline)) static void *blur(void *unused) {
    ze_command_queue_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                           .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
    ze_kernel_desc_t named = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = "blur"};
    ze_group_count_t groups = {COUNT / GROUP, 1, 1};
    ze_command_list_handle_t commands;
    ze_kernel_handle_t kernel;
    float *in = upload(COUNT), *out = upload(COUNT), zero = 0;
    CHECK(zeCommandListCreateImmediate(context, device, &description, &commands));
    CHECK(zeCommandListAppendMemoryFill(commands, in, &zero, sizeof zero, COUNT * sizeof zero, NULL, 0, NULL));
    CHECK(zeKernelCreate(module, &named, &kernel));
    CHECK(zeKernelSetGroupSize(kernel, GROUP, 1, 1));
    CHECK(zeKernelSetArgumentValue(kernel, 0, sizeof in, &in));
    CHECK(zeKernelSetArgumentValue(kernel, 1, sizeof out, &out));
    CHECK(zeCommandListAppendLaunchKernel(commands, kernel, &groups, NULL, 0, NULL));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeCommandListDestroy(commands));
    CHECK(zeMemFree(context, in));
    CHECK(zeMemFree(context, out));
    return unused;
}

static void run(const char *path, bool threaded) {
    pthread_t threads[4];
    open_device();
    build(path);
    for (int each = 0; threaded && each < 4; each++)
        pthread_create(&threads[each], NULL, blur, NULL);
    for (int each = 0; threaded && each < 4; each++)
        pthread_join(threads[each], NULL);
    if (!threaded)
        blur(NULL);
    CHECK(zeModuleDestroy(module));
    CHECK(zeContextDestroy(context));
}

int main(int count, char **words) {
    const char *word = count > 2 ? words[2] : "";
    if (strcmp(word, "exec") == 0)
        execl("/proc/self/exe", words[0], words[1], NULL);
    pid_t child = strcmp(word, "fork") == 0 ? fork() : 0;
    if (child > 0)
        return waitpid(child, NULL, 0) != child;
    run(words[1], strcmp(word, "threads") == 0);
    puts("done");
    fflush(stdout);
    if (strcmp(word, "abort") == 0)
        abort();
    if (strcmp(word, "wait") == 0)
        pause();
    return strcmp(word, "status") == 0 ? 3 : 0;
}
