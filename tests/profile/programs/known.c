/* Launches kernels whose character is known: known.spv, which the command line names. A word behind it says what else happens:
 *   kill     a signal that nobody can catch ends the program in the middle
 *   fork     a child process launches some, too
 *   status   it ends with 3 */
#include <signal.h>
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

enum { COUNT = 1 << 16, SIDE = 64, WIDE = 256, ROWS = 4096, IN_ROW = 7, BODIES = 1024, ROUNDS = 200, TINY = 400, REPEATS = 3 };

static ze_context_handle_t context;
static ze_device_handle_t device;
static ze_module_handle_t module;
static ze_command_list_handle_t list;

static void open_device(const char *path) {
    static unsigned char spirv[1 << 16];
    ze_driver_handle_t driver;
    ze_context_desc_t description = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_command_queue_desc_t queue = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
    uint32_t count = 1;
    FILE *file = fopen(path, "rb");
    size_t size = file != NULL ? fread(spirv, 1, sizeof spirv, file) : 0;
    ze_module_desc_t from = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                             .format = ZE_MODULE_FORMAT_IL_SPIRV,
                             .inputSize = size,
                             .pInputModule = spirv};
    if (file != NULL)
        fclose(file);
    CHECK(zeInit(0));
    CHECK(zeDriverGet(&count, &driver));
    count = 1;
    CHECK(zeDeviceGet(driver, &count, &device));
    CHECK(zeContextCreate(driver, &description, &context));
    CHECK(zeModuleCreate(context, device, &from, &module, NULL));
    CHECK(zeCommandListCreateImmediate(context, device, &queue, &list));
}

static void *allocate(size_t bytes) {
    ze_device_mem_alloc_desc_t of_device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t of_host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *memory;
    CHECK(zeMemAllocShared(context, &of_device, &of_host, bytes, 64, device, &memory));
    memset(memory, 0, bytes);
    return memory;
}

/* Each argument is a pointer, or 0 for the end. */
static void launch(const char *name, uint32_t groups_x, uint32_t groups_y, uint32_t size_x, uint32_t size_y, int repeats,
                   void *arguments[]) {
    ze_kernel_desc_t description = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
    ze_group_count_t groups = {groups_x, groups_y, 1};
    ze_kernel_handle_t kernel;
    CHECK(zeKernelCreate(module, &description, &kernel));
    CHECK(zeKernelSetGroupSize(kernel, size_x, size_y, 1));
    for (uint32_t each = 0; arguments[each] != NULL; each++)
        CHECK(zeKernelSetArgumentValue(kernel, each, sizeof(void *), &arguments[each]));
    if (strcmp(name, "branches") == 0)
        CHECK(zeKernelSetArgumentValue(kernel, 1, sizeof(int), &(int){ROUNDS}));
    for (int each = 0; each < repeats; each++)
        CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    CHECK(zeKernelDestroy(kernel));
}

static void launch_all(void) {
    float *a = allocate(8 * COUNT * sizeof *a), *b = allocate(COUNT * sizeof *b), *c = allocate(COUNT * sizeof *c);
    int *row = allocate((ROWS + 1) * sizeof *row), *col = allocate(ROWS * IN_ROW * sizeof *col), *bins = allocate(64 * sizeof *bins);
    for (int each = 0; each <= ROWS; each++)
        row[each] = each * IN_ROW;
    for (int each = 0; each < ROWS * IN_ROW; each++)
        col[each] = (int)((unsigned)each * 2654435761U % ROWS);
    launch("add", COUNT / 256, 1, 256, 1, REPEATS, (void *[]){a, b, c, NULL});
    launch("naive", SIDE / 8, SIDE / 8, 8, 8, REPEATS, (void *[]){a, b, c, NULL});
    launch("tiled", SIDE / 8, SIDE / 8, 8, 8, REPEATS, (void *[]){a, b, c, NULL});
    launch("bodies", BODIES / 64, 1, 64, 1, REPEATS, (void *[]){a, b, c, NULL});
    launch("spmv", ROWS / 32, 1, 32, 1, REPEATS, (void *[]){row, col, a, b, c, NULL});
    launch("transpose", WIDE / 16, WIDE / 16, 16, 16, REPEATS, (void *[]){a, b, NULL});
    launch("branches", COUNT / 256, 1, 256, 1, REPEATS, (void *[]){a, NULL});
    launch("histogram", COUNT / 256, 1, 256, 1, REPEATS, (void *[]){a, bins, NULL});
    launch("strided", COUNT / 256, 1, 256, 1, REPEATS, (void *[]){a, b, NULL});
    launch("tiny", 1, 1, 64, 1, TINY, (void *[]){bins, NULL});
    CHECK(zeCommandListAppendMemoryCopy(list, b, a, COUNT * sizeof *b, NULL, 0, NULL));
    CHECK(zeCommandListAppendMemoryFill(list, c, "1234", 4, COUNT * sizeof *c, NULL, 0, NULL));
}

int main(int count, char **words) {
    const char *word = count > 2 ? words[2] : "";
    open_device(words[1]);
    launch_all();
    if (strcmp(word, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(word, "fork") == 0) {
        pid_t child = fork();
        if (child == 0) {
            int *bins = allocate(64 * sizeof *bins);
            launch("tiny", 1, 1, 64, 1, TINY, (void *[]){bins, NULL});
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    puts("done");
    return strcmp(word, "status") == 0 ? 3 : 0;
}
