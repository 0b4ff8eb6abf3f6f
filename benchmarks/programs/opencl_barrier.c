/* How long an empty barrier takes an OpenCL runtime: enqueue and clFinish, and enqueue and wait for its event.
 * Usage: opencl_barrier ICD_LOADER ROUNDS BARRIERS_PER_ROUND */
#include "opencl.h"

static void *queue;

static void finish(void) {
    REQUIRE(cl.clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL) == 0);
    REQUIRE(cl.clFinish(queue) == 0);
}

static void wait_for_event(void) {
    void *event = NULL;
    REQUIRE(cl.clEnqueueBarrierWithWaitList(queue, 0, NULL, &event) == 0);
    REQUIRE(cl.clWaitForEvents(1, &event) == 0);
    REQUIRE(cl.clReleaseEvent(event) == 0);
}

static void measure(const char *name, void (*once)(void), uint64_t barriers) {
    uint64_t start = now();
    for (uint64_t each = 0; each < barriers; each++)
        once();
    print_sample(name, now() - start, barriers);
}

int main(int count, char **arguments) {
    REQUIRE(count == 4);
    uint64_t rounds = number(arguments[2]), barriers = number(arguments[3]);
    open_opencl(arguments[1]);
    find_platform();
    find_device();
    void *context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    REQUIRE(context != NULL);
    queue = cl.clCreateCommandQueue(context, device, 0, NULL);
    REQUIRE(queue != NULL);
    for (uint64_t round = 0; round < rounds; round++) {
        measure("finish", finish, barriers);
        measure("event", wait_for_event, barriers);
    }
    return 0;
}
