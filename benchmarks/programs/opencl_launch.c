/* How long an empty kernel takes an OpenCL runtime: enqueue and clFinish, and enqueue and wait for its event.
 * Usage: opencl_launch ICD_LOADER SOURCE_FILE ROUNDS LAUNCHES_PER_ROUND */
#include "opencl.h"

static void *queue, *kernel;
static const size_t items = 64;

static void enqueue(void **event) {
    REQUIRE(cl.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &items, 0, NULL, event) == 0);
}

static void finish(void) {
    enqueue(NULL);
    REQUIRE(cl.clFinish(queue) == 0);
}

static void wait_for_event(void) {
    void *event = NULL;
    enqueue(&event);
    REQUIRE(cl.clWaitForEvents(1, &event) == 0);
    REQUIRE(cl.clReleaseEvent(event) == 0);
}

static void prepare(const char *path) {
    void *context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    REQUIRE(context != NULL);
    queue = cl.clCreateCommandQueue(context, device, 0, NULL);
    REQUIRE(queue != NULL);
    size_t size = 0;
    const char *source = (const char *)read_file(path, &size);
    void *program = cl.clCreateProgramWithSource(context, 1, &source, &size, NULL);
    REQUIRE(program != NULL);
    REQUIRE(cl.clBuildProgram(program, 1, &device, "", NULL, NULL) == 0);
    kernel = cl.clCreateKernel(program, "empty", NULL);
    REQUIRE(kernel != NULL);
    void *buffer = cl.clCreateBuffer(context, 1, 4096, NULL, NULL);
    REQUIRE(buffer != NULL);
    REQUIRE(cl.clSetKernelArg(kernel, 0, sizeof buffer, &buffer) == 0);
}

static void measure(const char *name, void (*once)(void), uint64_t launches) {
    uint64_t start = now();
    for (uint64_t each = 0; each < launches; each++)
        once();
    print_sample(name, now() - start, launches);
}

int main(int count, char **arguments) {
    REQUIRE(count == 5);
    uint64_t rounds = number(arguments[3]), launches = number(arguments[4]);
    open_opencl(arguments[1]);
    find_platform();
    find_device();
    prepare(arguments[2]);
    finish();
    for (uint64_t round = 0; round < rounds; round++) {
        measure("finish", finish, launches);
        measure("event", wait_for_event, launches);
    }
    return 0;
}
