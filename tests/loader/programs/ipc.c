/* Memory and events between processes, as an MPI library or a video player would use them: the handles go over
 * sockets to programs that were started anew, several of which work at once. One of them is killed at it. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

enum { CHILDREN = 3, PART = 1 << 16, GO = 0, DONE = 1 };

typedef struct message {
    uint32_t index;
    ze_ipc_mem_handle_t memory;
    ze_ipc_event_pool_handle_t pool;
} message;

static ze_command_list_handle_t immediate_list(setup on) {
    ze_command_queue_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                           .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    ze_command_list_handle_t list = NULL;
    CHECK(zeCommandListCreateImmediate(on.context, on.device, &description, &list));
    return list;
}

/* The receiving process: its device waits for the sender's event, fills its part, and signals its own event. */
static int receive(int socket) {
    message received;
    REQUIRE(read(socket, &received, sizeof received) == sizeof received);
    setup on = first_device();
    void *memory = NULL;
    ze_event_pool_handle_t pool = NULL;
    CHECK(zeMemOpenIpcHandle(on.context, on.device, received.memory, 0, &memory));
    CHECK(zeEventPoolOpenIpcHandle(on.context, received.pool, &pool));
    ze_event_handle_t go = new_event(pool, GO), done = new_event(pool, DONE + received.index);
    ze_command_list_handle_t list = immediate_list(on);
    const uint8_t value = (uint8_t)(received.index + 1);
    CHECK(zeCommandListAppendMemoryFill(list, (char *)memory + received.index * PART, &value, 1, PART, done, 1, &go));
    REQUIRE(write(socket, "r", 1) == 1);
    CHECK(zeEventHostSynchronize(done, UINT64_MAX));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeEventDestroy(go));
    CHECK(zeEventDestroy(done));
    CHECK(zeEventPoolCloseIpcHandle(pool));
    CHECK(zeMemCloseIpcHandle(on.context, memory));
    CHECK(zeContextDestroy(on.context));
    return 0;
}

/* Starts a receiver and waits until its device waits. */
static pid_t start(const char *name, const message *sent) {
    int ends[2];
    char number[16], ready = 0;
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    REQUIRE(fcntl(ends[0], F_SETFD, FD_CLOEXEC) == 0);
    snprintf(number, sizeof number, "%d", ends[1]);
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", name, number, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    REQUIRE(write(ends[0], sent, sizeof *sent) == sizeof *sent);
    REQUIRE(read(ends[0], &ready, 1) == 1 && ready == 'r');
    close(ends[0]);
    return child;
}

static void share_with_children(setup on, const char *name) {
    uint8_t *memory = device_memory(on, (CHILDREN + 1) * PART), *copy = host_memory(on, (CHILDREN + 1) * PART);
    ze_event_pool_handle_t pool = new_pool(on, CHILDREN + 2, ZE_EVENT_POOL_FLAG_IPC);
    ze_event_handle_t go = new_event(pool, GO), done[CHILDREN];
    message sent = {0};
    CHECK(zeMemGetIpcHandle(on.context, memory, &sent.memory));
    CHECK(zeEventPoolGetIpcHandle(pool, &sent.pool));
    pid_t children[CHILDREN + 1];
    for (; sent.index <= CHILDREN; sent.index++)
        children[sent.index] = start(name, &sent);
    REQUIRE(kill(children[CHILDREN], SIGKILL) == 0);
    REQUIRE(waitpid(children[CHILDREN], NULL, 0) == children[CHILDREN]);
    CHECK(zeEventHostSignal(go));
    for (uint32_t each = 0; each < CHILDREN; each++) {
        done[each] = new_event(pool, DONE + each);
        CHECK(zeEventHostSynchronize(done[each], UINT64_MAX));
        int status = -1;
        REQUIRE(waitpid(children[each], &status, 0) == children[each] && status == 0);
        CHECK(zeEventDestroy(done[each]));
    }
    ze_command_list_handle_t list = immediate_list(on);
    CHECK(zeCommandListAppendMemoryCopy(list, copy, memory, CHILDREN * PART, done[0] = new_event(pool, DONE), 0, NULL));
    CHECK(zeEventHostSynchronize(done[0], UINT64_MAX));
    for (uint32_t byte = 0; byte < CHILDREN * PART; byte++)
        REQUIRE(copy[byte] == byte / PART + 1);
    CHECK(zeEventDestroy(done[0]));
    CHECK(zeEventDestroy(go));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeEventPoolDestroy(pool));
    CHECK(zeMemFree(on.context, memory));
    CHECK(zeMemFree(on.context, copy));
}

/* What was freed cannot be opened any more, by anybody. */
static void refuse_what_is_gone(setup on) {
    void *memory = device_memory(on, PART), *opened = NULL;
    ze_ipc_mem_handle_t handle;
    CHECK(zeMemGetIpcHandle(on.context, memory, &handle));
    CHECK(zeMemFree(on.context, memory));
    REQUIRE(zeMemOpenIpcHandle(on.context, on.device, handle, 0, &opened) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
    memset(&handle, 0x5a, sizeof handle);
    REQUIRE(zeMemOpenIpcHandle(on.context, on.device, handle, 0, &opened) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
    REQUIRE(opened == NULL);
}

/* An allocation as a descriptor, mapped without the API, and imported again. */
static void export_and_import(setup on) {
    ze_external_memory_export_desc_t wish = {.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC,
                                             .flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF};
    ze_device_mem_alloc_desc_t description = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, .pNext = &wish};
    void *memory = NULL, *again = NULL;
    CHECK(zeMemAllocDevice(on.context, &description, PART, 0, on.device, &memory));
    ze_external_memory_export_fd_t export = {.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD,
                                             .flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF,
                                             .fd = -1};
    ze_memory_allocation_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES,
                                                    .pNext = &export};
    CHECK(zeMemGetAllocProperties(on.context, memory, &properties, NULL));
    uint8_t *mapped = mmap(NULL, PART, PROT_READ | PROT_WRITE, MAP_SHARED, export.fd, 0);
    REQUIRE(mapped != MAP_FAILED);
    ze_external_memory_import_fd_t import = {.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD,
                                             .flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF,
                                             .fd = export.fd};
    description.pNext = &import;
    CHECK(zeMemAllocDevice(on.context, &description, PART, 0, on.device, &again));
    close(export.fd);
    ze_event_pool_handle_t pool = new_pool(on, 1, 0);
    ze_event_handle_t done = new_event(pool, 0);
    ze_command_list_handle_t list = immediate_list(on);
    const uint8_t value = 0x42;
    CHECK(zeCommandListAppendMemoryFill(list, again, &value, 1, PART, done, 0, NULL));
    CHECK(zeEventHostSynchronize(done, UINT64_MAX));
    for (uint32_t byte = 0; byte < PART; byte++)
        REQUIRE(mapped[byte] == value);
    munmap(mapped, PART);
    CHECK(zeCommandListDestroy(list));
    CHECK(zeEventDestroy(done));
    CHECK(zeEventPoolDestroy(pool));
    CHECK(zeMemFree(on.context, again));
    CHECK(zeMemFree(on.context, memory));
}

int main(int count, char **arguments) {
    if (count > 1)
        return receive(atoi(arguments[1]));
    setup on = first_device();
    share_with_children(on, arguments[0]);
    refuse_what_is_gone(on);
    export_and_import(on);
    CHECK(zeContextDestroy(on.context));
    puts("ipc ok");
    return 0;
}
