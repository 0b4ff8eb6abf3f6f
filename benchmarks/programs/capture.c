/* What a program does that is recorded: many empty launches, questions, memory that is rewritten, equal uploads.
 * Usage: capture LIBRARY launches|tracked|questions|rewrites|uploads SPIRV_FILE ROUNDS OPERATIONS_PER_ROUND */
#include "level_zero.h"

enum { PAGE = 4096, TRACKED = 16 << 20, UPLOAD = 16 << 20, EVERY = 100 };
static const size_t REWRITTEN = (size_t)1 << 30;

static ze_command_list_handle_t list;
static ze_kernel_handle_t kernel;
static uint64_t noise = 88172645463325252u;

static void launch(void) {
    CHECK(ze.zeCommandListAppendLaunchKernel(list, kernel, &(ze_group_count_t){1, 1, 1}, NULL, 0, NULL));
}

static void finish(void) { CHECK(ze.zeCommandListHostSynchronize(list, UINT64_MAX)); }

static void launches(uint64_t rounds, uint64_t count) {
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t began = now();
        for (uint64_t each = 0; each < count; each++)
            launch();
        finish();
        print_sample("operation", now() - began, count);
    }
}

/* The same beside memory that the host could have written, and has not. */
static void tracked(uint64_t rounds, uint64_t count) {
    memset(host_memory(TRACKED), 1, TRACKED);
    launch();
    finish();
    launches(rounds, count);
}

static void questions(uint64_t rounds, uint64_t count) {
    ze_event_handle_t event = new_event(event_pool(), 0);
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t began = now();
        for (uint64_t each = 0; each < count; each++)
            ze.zeEventQueryStatus(event);
        print_sample("operation", now() - began, count);
    }
}

/* Fills memory with what nobody can compress. */
static void fill(uint64_t *to, size_t size) {
    for (size_t each = 0; each < size / 8; each++) {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        to[each] = noise;
    }
}

/* One page in a hundred before each submission; a sample is one turn. */
static void rewrites(uint64_t rounds, uint64_t count) {
    char *memory = shared_memory(REWRITTEN);
    memset(memory, 0, REWRITTEN);
    launch();
    finish();
    for (uint64_t round = 0; round < rounds * count; round++) {
        uint64_t began = now();
        for (size_t at = round % EVERY * PAGE; at < REWRITTEN; at += EVERY * PAGE)
            fill((uint64_t *)(memory + at), PAGE);
        launch();
        finish();
        print_sample("operation", now() - began, 1);
    }
}

static void uploads(uint64_t rounds, uint64_t count) {
    uint64_t *own = malloc(UPLOAD);
    void *memory = device_memory(UPLOAD);
    fill(own, UPLOAD);
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t began = now();
        for (uint64_t each = 0; each < count; each++)
            CHECK(ze.zeCommandListAppendMemoryCopy(list, memory, own, UPLOAD, NULL, 0, NULL));
        finish();
        print_sample("operation", now() - began, count);
    }
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*run)(uint64_t rounds, uint64_t count);
    } cases[] = {{"launches", launches}, {"tracked", tracked}, {"questions", questions},
                 {"rewrites", rewrites}, {"uploads", uploads}};
    REQUIRE(count == 6);
    start_level_zero(arguments[1]);
    list = immediate_list(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    kernel = empty_kernel(arguments[3]);
    launch();
    finish();
    for (size_t each = 0; each < sizeof cases / sizeof *cases; each++)
        if (strcmp(cases[each].name, arguments[2]) == 0)
            cases[each].run(number(arguments[4]), number(arguments[5]));
    return 0;
}
