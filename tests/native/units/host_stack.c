/* Stacks of the program: whose calls they name, when two are one, and what is said of them. */
#include "check.h"

#include "check/host_stack.c"

/* --- The parts of the driver that are not tested here ----------------------------------------------------- */

_Atomic bool gs_checks_waits;
void gs_mutex_open(gs_mutex *mutex, gs_lock_kind kind) { (void)mutex, (void)kind; }
void gs_check_lock(const gs_mutex *mutex) { (void)mutex; }
void gs_check_unlock(const gs_mutex *mutex) { (void)mutex; }

static const char *python_frames = "";
size_t gs_python_host_frames(char *text, size_t size) {
    snprintf(text, size, "%s", python_frames);
    return strlen(text);
}

/* --- A program ------------------------------------------------------------------------------------------ */

static void enable(void) {
    gs_host_stacks_enable(true);
    own_start = own_end = 0; /* here the driver is in the program, which is not to be left out */
}

/* What stands behind a call keeps it from becoming a jump. */
static volatile int calls_made;

/* No function is longer, with sanitizers either, and each has so much room for itself. */
enum { ROOM = 4096 };
#define FUNCTION __attribute__((noinline, aligned(ROOM)))

FUNCTION static const gs_host_stack *make_object(void) {
    const gs_host_stack *taken = gs_host_stack_take();
    calls_made++;
    return taken;
}

FUNCTION static const gs_host_stack *one_way(void) {
    const gs_host_stack *taken = make_object();
    calls_made++;
    return taken;
}

FUNCTION static const gs_host_stack *other_way(void) {
    const gs_host_stack *taken = make_object();
    calls_made += 2;
    return taken;
}

/* The fields of one line of a description. */
typedef struct {
    char kind[16], object[PATH_MAX];
    unsigned long address;
} call_line;

static call_line line_of(const char *text, int number) {
    call_line found = {0};
    while (number-- > 0) {
        text = strchr(text, '\n');
        REQUIRE(text != NULL);
        text++;
    }
    REQUIRE(sscanf(text, "%15[^\t]\t%4095[^\t]\t%lx\t", found.kind, found.object, &found.address) == 3);
    return found;
}

static bool is_in(unsigned long address, const void *function) {
    Dl_info found;
    struct link_map *object;
    REQUIRE(dladdr1(function, &found, (void **)&object, RTLD_DL_LINKMAP) != 0);
    unsigned long start = (uintptr_t)function - object->l_addr;
    return address > start && address < start + ROOM;
}

/* --- Tests ---------------------------------------------------------------------------------------------- */

static void nothing_is_taken_unless_enabled(void) {
    gs_host_stacks_enable(false);
    REQUIRE(one_way() == NULL);
    char text[8] = "before";
    REQUIRE(gs_host_stack_describe(NULL, text, sizeof text) == 0 && text[0] == 0);
}

FUNCTION static void callers_are_named_innermost_first(void) {
    enable();
    char text[1 << 14], program[PATH_MAX];
    REQUIRE(gs_host_stack_describe(one_way(), text, sizeof text) == strlen(text));
    ssize_t length = readlink("/proc/self/exe", program, sizeof program);
    program[length] = 0;
    const void *expected[] = {make_object, one_way, callers_are_named_innermost_first};
    for (int each = 0; each < 3; each++) {
        call_line line = line_of(text, each);
        REQUIRE(strcmp(line.kind, "c") == 0);
        REQUIRE(strcmp(line.object, program) == 0);
        REQUIRE(is_in(line.address, expected[each]));
    }
}

static void equal_stacks_are_one(void) {
    enable();
    const gs_host_stack *first[2], *second[2];
    volatile int turns = 2; /* a loop that is unrolled would call from different places */
    for (int each = 0; each < turns; each++) {
        first[each] = one_way();
        second[each] = other_way();
    }
    REQUIRE(first[0] != NULL && first[0] == first[1]);
    REQUIRE(second[0] != NULL && second[0] == second[1]);
    REQUIRE(first[0] != second[0]);
}

static void calls_of_the_driver_are_left_out(void) {
    enable();
    own_start = (uintptr_t)make_object; /* the driver is this function */
    own_end = own_start + ROOM;
    char text[1 << 14];
    gs_host_stack_describe(one_way(), text, sizeof text);
    REQUIRE(is_in(line_of(text, 0).address, one_way));
}

static void own_addresses_are_those_of_the_library(void) {
    gs_host_stacks_enable(true);
    REQUIRE(is_own((void *)make_object) && is_own(&are_taken));
    REQUIRE(!is_own(stdout));
    REQUIRE(one_way() == NULL || !is_own((void *)*(uintptr_t *)one_way()->content));
}

static void loader_and_layers_are_left_out(void) {
    REQUIRE(is_between("/usr/lib/x86_64-linux-gnu/libze_loader.so.1"));
    REQUIRE(is_between("libze_capture.so") && is_between("/a/libze_validation_layer.so.1"));
    REQUIRE(!is_between("/libze_files/app") && !is_between("/usr/bin/app"));
}

static void short_room_cuts_the_text(void) {
    enable();
    const gs_host_stack *stack = one_way();
    char whole[1 << 14], part[20];
    size_t length = gs_host_stack_describe(stack, whole, sizeof whole);
    REQUIRE(gs_host_stack_describe(stack, part, sizeof part) == length);
    REQUIRE(strlen(part) == sizeof part - 1 && strncmp(part, whole, sizeof part - 1) == 0);
    REQUIRE(gs_host_stack_describe(stack, NULL, 0) == length);
}

static void frames_of_python_are_preferred(void) {
    enable();
    python_frames = "python\tapp.py\t7\tmain\n";
    char text[1 << 14];
    const gs_host_stack *stack = one_way();
    size_t length = gs_host_stack_describe(stack, text, sizeof text);
    REQUIRE(length > strlen(python_frames) && strcmp(text + length - strlen(python_frames), python_frames) == 0);
    REQUIRE(strncmp(text, "c\t", 2) == 0 && strchr(text, '\n') + 1 == text + length - strlen(python_frames));
    REQUIRE(other_way() == stack);
    python_frames = "";
}

static void different_stacks_have_an_end(void) {
    enable();
    char frames[64];
    python_frames = frames;
    const gs_host_stack *last = NULL;
    for (int each = 0; each < MOST_STACKS + 2; each++) {
        snprintf(frames, sizeof frames, "python\tapp.py\t%d\tmain\n", each);
        last = one_way();
        REQUIRE((last != NULL) == (stack_count < MOST_STACKS) || stack_count == MOST_STACKS);
    }
    REQUIRE(last == NULL && stack_count == MOST_STACKS);
    python_frames = "python\tapp.py\t0\tmain\n";
    REQUIRE(one_way() != NULL); /* which is known */
    python_frames = "";
}

int main(void) {
    nothing_is_taken_unless_enabled();
    callers_are_named_innermost_first();
    equal_stacks_are_one();
    calls_of_the_driver_are_left_out();
    own_addresses_are_those_of_the_library();
    loader_and_layers_are_left_out();
    short_room_cuts_the_text();
    frames_of_python_are_preferred();
    different_stacks_have_an_end();
    return 0;
}
