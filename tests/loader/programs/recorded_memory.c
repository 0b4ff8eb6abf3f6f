/* Writes memory of each kind, and says what work will find there: recorded.h. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorded.h"

/* --- Parts ------------------------------------------------------------------------------------------------ */

/* Host and shared memory, written here and there between submissions; freed, and allocated again with old contents. */
static void allocations(void) {
    ze_command_list_handle_t list = immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    unsigned char *device = device_memory(on, SIZE), *shared = shared_memory(SIZE), *host = new_host_memory(SIZE);
    scribble(host + 5000, 9000);
    expect(host, SIZE);
    copy(list, device, host, SIZE);
    copy(list, shared, device, SIZE);
    scribble(shared + 3 * PAGE + 7, 1);
    scribble(host + 10 * PAGE, 20);
    expect(shared + 3 * PAGE + 7, 1);
    expect(host, SIZE);
    copy(list, device, shared, SIZE);
    CHECK(zeMemFree(on.context, host));
    unsigned char *again = new_host_memory(SIZE);
    again[2 * PAGE]++;
    expect(again, SIZE);
    copy(list, device, again, SIZE);
    REQUIRE(read(open("/dev/zero", 0), again + PAGE, 2 * PAGE) == 2 * PAGE);
    expect(again, SIZE);
    copy(list, device, again, SIZE);
    copy(list, device, again, SIZE);
}

/* The program's own memory as the source of copies: what is in it when lists run, not when they are made. */
static void sources(void) {
    ze_command_list_handle_t list = new_list(on), immediate = immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    ze_command_queue_handle_t queue = new_queue(on);
    unsigned char *device = device_memory(on, SIZE), *own = malloc(SIZE), *pitched = malloc(64 * 200);
    ze_copy_region_t region = {3, 5, 0, 50, 40, 1};
    scribble(own, SIZE);
    scribble(pitched, 64 * 200);
    CHECK(zeCommandListAppendMemoryCopy(list, device, own, SIZE, NULL, 0, NULL));
    CHECK(zeCommandListAppendMemoryCopyRegion(list, device, &region, 200, 0, pitched, &region, 200, 0, NULL, 0, NULL));
    CHECK(zeCommandListClose(list));
    for (int turn = 0; turn < 3; turn++) {
        scribble(own + turn * 100, 50);
        expect(own, SIZE);
        for (int row = 5; row < 45; row++)
            expect(pitched + row * 200 + 3, 50);
        submission_follows();
        CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
        CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    }
    scribble(own, 99);
    expect(own + 1, 98);
    copy(immediate, device, own + 1, 98);
}

static ze_image_handle_t new_image(uint32_t width, uint32_t height) {
    ze_image_desc_t description = {.stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
                                   .type = ZE_IMAGE_TYPE_2D,
                                   .format = {.layout = ZE_IMAGE_FORMAT_LAYOUT_16_16,
                                              .type = ZE_IMAGE_FORMAT_TYPE_UINT},
                                   .width = width,
                                   .height = height,
                                   .depth = 1};
    ze_image_handle_t image;
    CHECK(zeImageCreate(on.context, on.device, &description, &image));
    return image;
}

static void images(void) {
    ze_command_list_handle_t list = immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    ze_image_handle_t image = new_image(30, 20);
    ze_image_region_t part = {1, 2, 0, 10, 6, 1};
    unsigned char *own = malloc(SIZE);
    scribble(own, SIZE);
    expect(own, 30 * 20 * 4);
    submission_follows();
    CHECK(zeCommandListAppendImageCopyFromMemory(list, image, own, NULL, NULL, 0, NULL));
    scribble(own, SIZE);
    for (int row = 0; row < 6; row++)
        expect(own + row * 64, 40);
    submission_follows();
    CHECK(zeCommandListAppendImageCopyFromMemoryExt(list, image, own, &part, 64, 0, NULL, 0, NULL));
}

/* Work that waits for the host: the submission returns, and what the host writes before its signal is there. */
static void waiting(void) {
    ze_command_list_handle_t list = immediate_list(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    ze_event_handle_t event = new_event(new_pool(on, 1, 0), 0);
    unsigned char *device = device_memory(on, SIZE), *host = new_host_memory(SIZE);
    scribble(host, PAGE);
    expect(host, PAGE);
    submission_follows();
    CHECK(zeCommandListAppendMemoryCopy(list, device, host, SIZE, NULL, 1, &event));
    scribble(host + 4 * PAGE, PAGE);
    expect(host, SIZE);
    submission_follows();
    CHECK(zeEventHostSignal(event));
    CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
    scribble(host, PAGE);
    expect(host, SIZE);
    copy(list, device, host, SIZE);
    CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
}

/* Pages that move into a file under the same address when another process is to see them. */
static void sharing(void) {
    ze_command_list_handle_t list = immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    unsigned char *device = device_memory(on, SIZE), *host = new_host_memory(SIZE);
    ze_ipc_mem_handle_t handle;
    scribble(host, SIZE);
    expect(host, SIZE);
    copy(list, device, host, SIZE);
    scribble(host + PAGE, PAGE);
    CHECK(zeMemGetIpcHandle(on.context, host, &handle));
    scribble(host + 5 * PAGE, PAGE);
    memset(host + 2 * PAGE, 0, PAGE);
    expect(host, SIZE);
    copy(list, device, host, SIZE);
    scribble(host + 9 * PAGE, PAGE);
    expect(host, SIZE);
    copy(list, device, host, SIZE);
    /* The same memory as another process has it. */
    unsigned char *opened;
    CHECK(zeMemOpenIpcHandle(on.context, on.device, handle, 0, (void **)&opened));
    expect(opened, SIZE);
    copy(list, device, opened, SIZE);
    scribble(host, PAGE);
    expect(opened, SIZE);
    copy(list, device, opened, SIZE);
    CHECK(zeMemCloseIpcHandle(on.context, opened));
    CHECK(zeMemPutIpcHandle(on.context, handle));
    CHECK(zeMemFree(on.context, host));
}

/* Physical memory of the host in two places, moved to another one. */
static void mapped(void) {
    ze_command_list_handle_t list = immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    ze_physical_mem_desc_t description = {.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC,
                                          .flags = ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST};
    ze_physical_mem_handle_t memory;
    unsigned char *device = device_memory(on, SIZE), *first, *second;
    size_t page;
    CHECK(zeVirtualMemQueryPageSize(on.context, on.device, SIZE, &page));
    size_t size = (SIZE + page - 1) / page * page;
    description.size = size;
    CHECK(zePhysicalMemCreate(on.context, on.device, &description, &memory));
    CHECK(zeVirtualMemReserve(on.context, NULL, size, (void **)&first));
    CHECK(zeVirtualMemReserve(on.context, NULL, size, (void **)&second));
    CHECK(zeVirtualMemMap(on.context, first, size, memory, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    scribble(first + PAGE, 2 * PAGE);
    expect(first, SIZE);
    copy(list, device, first, SIZE);
    scribble(first, 1);
    CHECK(zeVirtualMemMap(on.context, second, size, memory, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    expect(second, SIZE);
    copy(list, device, second, SIZE);
    scribble(second + 4 * PAGE, 10);
    expect(second, SIZE);
    copy(list, device, second, SIZE);
    CHECK(zeVirtualMemUnmap(on.context, second, size));
    CHECK(zeVirtualMemUnmap(on.context, first, size));
    submission_follows();
    CHECK(zeCommandListAppendBarrier(list, NULL, 0, NULL));
}

/* The program's own memory as an allocation, and a memory file. */
static void imported(void) {
    ze_command_list_handle_t list = immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    unsigned char *device = device_memory(on, SIZE), *own, *filed, *alias;
    REQUIRE(posix_memalign((void **)&own, 1 << 16, 1 << 16) == 0);
    scribble(own, 1 << 16);
    ze_external_memmap_sysmem_ext_desc_t system = {.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC,
                                                   .pSystemMemory = own,
                                                   .size = 1 << 16};
    ze_host_mem_alloc_desc_t description = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, .pNext = &system};
    void *made;
    CHECK(zeMemAllocHost(on.context, &description, 1 << 16, 0, &made));
    REQUIRE(made == own);
    expect(own, SIZE);
    copy(list, device, own, SIZE);
    scribble(own + 7 * PAGE, 10);
    expect(own, SIZE);
    copy(list, device, own, SIZE);
    int file = memfd_create("recorded", MFD_CLOEXEC);
    REQUIRE(ftruncate(file, SIZE) == 0);
    alias = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    scribble(alias, SIZE);
    ze_external_memory_import_fd_t import = {.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD,
                                             .flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD,
                                             .fd = file};
    description.pNext = &import;
    CHECK(zeMemAllocHost(on.context, &description, SIZE, 0, (void **)&filed));
    expect(filed, SIZE);
    copy(list, device, filed, SIZE);
    scribble(alias + PAGE, 5); /* as another process would */
    expect(filed, SIZE);
    copy(list, device, filed, SIZE);
}

/* Copies on lists that an immediate list runs, and in a graph. */
static void nested(void) {
    ze_command_list_handle_t list = immediate_list(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS), inner = new_list(on);
    unsigned char *device = device_memory(on, SIZE), *own = malloc(SIZE), *other = malloc(SIZE);
    ze_graph_handle_t graph;
    ze_executable_graph_handle_t executable;
    CHECK(zeCommandListAppendMemoryCopy(inner, device, own, SIZE, NULL, 0, NULL));
    CHECK(zeCommandListClose(inner));
    scribble(own, SIZE);
    expect(own, SIZE);
    submission_follows();
    CHECK(zeCommandListImmediateAppendCommandListsExp(list, 1, &inner, NULL, 0, NULL));
    CHECK(zeCommandListBeginGraphCaptureExt(list, NULL));
    submission_follows(); /* not really: the command goes into the graph */
    CHECK(zeCommandListAppendMemoryCopy(list, device, other, SIZE, NULL, 0, NULL));
    CHECK(zeCommandListEndGraphCaptureExt(list, NULL, &graph));
    CHECK(zeGraphInstantiateExt(graph, NULL, &executable));
    for (int turn = 0; turn < 2; turn++) {
        scribble(other, SIZE);
        expect(other, SIZE);
        submission_follows();
        CHECK(zeCommandListAppendGraphExt(list, executable, NULL, NULL, 0, NULL));
    }
    CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
}

/* A child that goes on without starting another program, and writes to its copy of the memory. */
static void forks(void) {
    ze_command_list_handle_t list = immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    unsigned char *device = device_memory(on, SIZE), *host = new_host_memory(SIZE);
    for (int turn = 0; turn < 3; turn++) {
        scribble(host + turn * PAGE, PAGE);
        expect(host, SIZE);
        copy(list, device, host, SIZE);
        pid_t child = fork();
        if (child == 0) {
            scribble(host, SIZE);
            _exit(0);
        }
        int status;
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    }
}

/* Until somebody ends it. Each time the first word of each page is the number of the submission. */
static void endless(void) {
    ze_command_list_handle_t list = immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    unsigned char *device = device_memory(on, SIZE), *host = new_host_memory(SIZE);
    for (uint64_t turn = 1;; turn++) {
        scribble(host, SIZE);
        for (size_t page = 0; page < SIZE; page += PAGE)
            memcpy(host + page, &turn, sizeof turn);
        CHECK(zeCommandListAppendMemoryCopy(list, device, host, SIZE, NULL, 0, NULL));
    }
}

static void write_as_host(void *memory) {
    scribble(memory, PAGE);
}

/* A function of the program among the commands: nobody can call it again, so what it writes has to be there. */
static void host_function(void) {
    ze_command_list_handle_t list = immediate_list(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    unsigned char *device = device_memory(on, SIZE), *host = new_host_memory(SIZE);
    for (int turn = 0; turn < 2; turn++) {
        submission_follows();
        CHECK(zeCommandListAppendHostFunction(list, write_as_host, host + turn * PAGE, NULL, NULL, 0, NULL));
        CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
        expect(host, SIZE);
        copy(list, device, host, SIZE);
        CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
    }
}

/* What the device writes: into whole pages of shared memory, and into the program's own. What is said here is what is there
 * afterwards. */
static void results(void) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 16 * page;
    ze_command_list_handle_t list = immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS), regular = new_list(on);
    ze_command_queue_handle_t queue = new_queue(on);
    unsigned char *device = device_memory(on, size), *shared = shared_memory(size), *own = malloc(size);
    scribble(shared, size);
    CHECK(zeCommandListAppendMemoryFill(list, device, "gs", 2, size, NULL, 0, NULL));
    submission_follows();
    CHECK(zeCommandListAppendMemoryCopy(list, shared + page, device, 3 * page, NULL, 0, NULL));
    expect(shared + page, 3 * page);
    submission_follows();
    CHECK(zeCommandListAppendMemoryCopy(regular, own + 100, device, 5000, NULL, 0, NULL));
    CHECK(zeCommandListClose(regular));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &regular, NULL));
    CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    expect(own + 100, 5000);
    submission_follows();
}

int main(int count, char **arguments) {
    static const part parts[] = {
        {"allocations", allocations}, {"sources", sources}, {"images", images},   {"waiting", waiting},
        {"sharing", sharing},         {"mapped", mapped},   {"imported", imported}, {"nested", nested},
        {"results", results},         {"forks", forks},     {"endless", endless}, {"host_function", host_function},
    };
    return run_part(count, arguments, parts, sizeof parts / sizeof *parts);
}
