/* Uses the driver, then forks and becomes itself again in the child, which uses it too; and so does the
 * parent, before and after. A child that only forks is left alone by the API: it calls _exit. */
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

static void copy_something(setup on) {
    ze_command_queue_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                           .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
    ze_command_list_handle_t list = NULL;
    CHECK(zeCommandListCreateImmediate(on.context, on.device, &description, &list));
    uint8_t *from = host_memory(on, 4096), *to = host_memory(on, 4096);
    memset(from, 0x5a, 4096);
    memset(to, 0, 4096);
    CHECK(zeCommandListAppendMemoryCopy(list, to, from, 4096, NULL, 0, NULL));
    REQUIRE(memcmp(from, to, 4096) == 0);
    CHECK(zeCommandListDestroy(list));
    CHECK(zeMemFree(on.context, from));
    CHECK(zeMemFree(on.context, to));
}

static void wait_for(pid_t child) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int count, char **arguments) {
    setup on = first_device();
    copy_something(on);
    if (count > 1) {
        puts("child ok");
        return 0;
    }
    pid_t forked = fork();
    if (forked == 0)
        _exit(0);
    wait_for(forked);

    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", arguments[0], "child", (char *)NULL);
        _exit(127);
    }
    wait_for(child);
    copy_something(on);
    CHECK(zeContextDestroy(on.context));
    puts("parent ok");
    return 0;
}
