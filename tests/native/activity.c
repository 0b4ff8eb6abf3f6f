/* The page of counters: children get one of their own, and what a process has published ends with it. */
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

THIS_TEST_FORKS

/* How many pages this process has published: its sockets with such a name. The list of all sockets in /proc/net/unix
 * is no snapshot: while others come and go, it may lack one or have it twice. */
static int published(void) {
    struct sockaddr_un name;
    char wanted[64];
    int count = 0;
    snprintf(wanted, sizeof wanted, "groundstate/activity/1/%d/", getpid());
    for (int fd = 0; fd < (int)sysconf(_SC_OPEN_MAX) && fd < 4096; fd++) {
        socklen_t size = sizeof name;
        memset(&name, 0, sizeof name);
        if (getsockname(fd, (struct sockaddr *)&name, &size) == 0 && name.sun_family == AF_UNIX)
            count += strncmp(name.sun_path + 1, wanted, strlen(wanted)) == 0;
    }
    return count;
}

/* Whether a process that has ended is still listed. */
static bool listed(pid_t pid) {
    char line[512], wanted[64];
    bool found = false;
    snprintf(wanted, sizeof wanted, "@groundstate/activity/1/%d/", pid);
    FILE *sockets = fopen("/proc/net/unix", "r");
    REQUIRE(sockets != NULL);
    while (fgets(line, sizeof line, sockets) != NULL)
        found = found || strstr(line, wanted) != NULL;
    fclose(sockets);
    return found;
}

/* Uses the device a little. Nothing of this needs a thread of the driver, which a child has not got. */
static void use_device(void) {
    ze_context_handle_t context = new_context();
    REQUIRE(published() == 1);
    void *memory;
    ze_device_mem_alloc_desc_t description = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    CHECK(zeMemAllocDevice(context, &description, 1 << 16, 0, on.device, &memory));
    CHECK(zeMemFree(context, memory));
    CHECK(zeContextDestroy(context));
}

static void end_in_some_way(int number) {
    use_device();
    if (number % 3 == 0)
        _exit(0);
    raise(number % 3 == 1 ? SIGKILL : SIGTERM);
}

int main(void) {
    enum { CHILDREN = 100 };
    pid_t children[CHILDREN];
    set_up();
    REQUIRE(published() == 1);
    for (int each = 0; each < CHILDREN; each++) {
        children[each] = fork();
        REQUIRE(children[each] >= 0);
        if (children[each] == 0)
            end_in_some_way(each);
    }
    for (int each = 0; each < CHILDREN; each++) {
        int status;
        REQUIRE(waitpid(children[each], &status, 0) == children[each]);
        REQUIRE(!WIFEXITED(status) || WEXITSTATUS(status) == 0);
        REQUIRE(!listed(children[each]));
    }
    REQUIRE(published() == 1);
    use_device();
    return 0;
}
