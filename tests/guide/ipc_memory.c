/* Two processes and one piece of memory. The program starts itself again as the receiver. */
#include "guide.h"

enum { SIZE = 4096 };

static void put(place at, void *memory, const char *text) {
    ze_command_list_handle_t commands = new_synchronous_list(at);
    CHECK(zeCommandListAppendMemoryCopy(commands, memory, text, strlen(text) + 1, NULL, 0, NULL));
    CHECK(zeCommandListDestroy(commands));
}

static void show(place at, const char *who, const void *memory) {
    ze_command_list_handle_t commands = new_synchronous_list(at);
    char *text = host_memory(at, SIZE);
    CHECK(zeCommandListAppendMemoryCopy(commands, text, memory, SIZE, NULL, 0, NULL));
    printf("the %s reads: %s\n", who, text);
    fflush(stdout);
    CHECK(zeMemFree(at.context, text));
    CHECK(zeCommandListDestroy(commands));
}

/* How a handle travels is the program's business: here, through a pipe. */
static int receive(void) {
    place at = begin();
    ze_ipc_mem_handle_t handle;
    REQUIRE(fread(&handle, sizeof handle, 1, stdin) == 1);
    void *memory = NULL;
    CHECK(zeMemOpenIpcHandle(at.context, at.device, handle, 0, &memory));
    show(at, "receiver", memory);
    put(at, memory, "received with thanks");
    CHECK(zeMemCloseIpcHandle(at.context, memory));
    return end(at);
}

int main(int count, char **arguments) {
    if (count > 2)
        return receive();
    place at = begin();
    void *memory = device_memory(at, SIZE);
    put(at, memory, "greetings");
    ze_ipc_mem_handle_t handle;
    CHECK(zeMemGetIpcHandle(at.context, memory, &handle));

    char command[4096];
    snprintf(command, sizeof command, "exec '%s' '%s' receive", arguments[0], arguments[1]);
    FILE *receiver = popen(command, "w");
    REQUIRE(receiver != NULL && fwrite(&handle, sizeof handle, 1, receiver) == 1);
    REQUIRE(pclose(receiver) == 0); /* waits until it has ended */

    show(at, "sender", memory);
    CHECK(zeMemFree(at.context, memory));
    return end(at);
}
