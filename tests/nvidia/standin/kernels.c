/* The kernels that the stand-in knows, as C. Their parameters lie as tests/nvidia/ptx_double.py says: arguments one after the
 * other at multiples of their sizes, then what is implicit, all of it: global offset, global size, enqueued local size,
 * dimensions, print buffer. */
#include "standin.h"

#include <string.h>
#include <unistd.h>

typedef struct implicit {
    uint64_t global_offset[3], global_size[3];
    uint32_t local_size[3], dimensions;
    uint64_t print_buffer;
} implicit;

static implicit implicit_of(const operation *launch) {
    implicit found;
    memcpy(&found, launch->parameters + launch->parameter_bytes - sizeof found, sizeof found);
    return found;
}

static uint64_t word(const operation *launch, size_t offset) {
    uint64_t value;
    memcpy(&value, launch->parameters + offset, sizeof value);
    return value;
}

static uint64_t items(const operation *launch) {
    uint64_t product = 1;
    for (int axis = 0; axis < 3; axis++)
        product *= (uint64_t)launch->groups[axis] * launch->group_size[axis];
    return product;
}

/* kernel void add(global const float *a, global const float *b, global float *out) */
static int add(const operation *launch) {
    uint64_t count = items(launch), bytes = count * sizeof(float);
    const float *a = (const float *)standin_find(word(launch, 0), bytes), *b = (const float *)standin_find(word(launch, 8), bytes);
    float *out = (float *)standin_find(word(launch, 16), bytes);
    if (a == NULL || b == NULL || out == NULL)
        return ILLEGAL_ADDRESS;
    for (uint64_t each = 0; each < count; each++)
        out[each] = a[each] + b[each];
    return SUCCESS;
}

/* kernel void shape(global ulong *out): what a work-item may ask of its range */
static int shape(const operation *launch) {
    uint64_t *out = (uint64_t *)standin_find(word(launch, 0), 16 * sizeof *out);
    implicit given = implicit_of(launch);
    if (out == NULL)
        return ILLEGAL_ADDRESS;
    for (int axis = 0; axis < 3; axis++) {
        out[axis] = given.global_offset[axis];
        out[3 + axis] = given.global_size[axis];
        out[6 + axis] = given.local_size[axis];
        out[9 + axis] = launch->groups[axis];
        out[12 + axis] = launch->group_size[axis];
    }
    out[15] = given.dimensions;
    return SUCCESS;
}

/* kernel void values(global ulong *out, char c, int i, local int *first, double d, local int *second) */
static int values(const operation *launch) {
    uint64_t *out = (uint64_t *)standin_find(word(launch, 0), 6 * sizeof *out);
    int32_t i;
    uint32_t first, second;
    if (out == NULL)
        return ILLEGAL_ADDRESS;
    memcpy(&i, launch->parameters + 12, sizeof i);
    memcpy(&first, launch->parameters + 16, sizeof first);
    memcpy(&second, launch->parameters + 32, sizeof second);
    out[0] = (uint64_t)(int8_t)launch->parameters[8];
    out[1] = (uint64_t)i;
    out[2] = first;
    out[3] = word(launch, 24);
    out[4] = second;
    out[5] = launch->shared_bytes;
    return SUCCESS;
}

/* kernel void increase(global uint *out): one more, after a while */
static int increase(const operation *launch) {
    uint32_t *out = (uint32_t *)standin_find(word(launch, 0), sizeof *out);
    if (out == NULL)
        return ILLEGAL_ADDRESS;
    usleep(1000);
    ++*out;
    return SUCCESS;
}

/* kernel void fault(global int *anywhere) */
static int fault(const operation *launch) {
    (void)launch;
    return ILLEGAL_ADDRESS;
}

/* kernel void empty(global int *unused), which benchmarks/programs/ launch */
static int empty(const operation *launch) {
    (void)launch;
    return SUCCESS;
}

/* kernel void say(int number) { printf("number %d\n", number); }, the first format of its module */
static int say(const operation *launch) {
    implicit given = implicit_of(launch);
    struct {
        uint64_t used, capacity;
        struct {
            uint32_t bytes, format;
            uint64_t number;
        } first;
    } *buffer = (void *)standin_find(given.print_buffer, sizeof *buffer);
    int32_t number;
    memcpy(&number, launch->parameters, sizeof number);
    if (buffer == NULL)
        return ILLEGAL_ADDRESS;
    buffer->first.bytes = sizeof buffer->first;
    buffer->first.format = 0;
    buffer->first.number = (uint64_t)number;
    buffer->used = sizeof buffer->first;
    return SUCCESS;
}

/* kernel void tell(global const char *text) { printf("text %s\n", text); }, the second format of its module */
static int tell(const operation *launch) {
    implicit given = implicit_of(launch);
    struct {
        uint64_t used, capacity;
        uint32_t bytes, format;
        uint64_t text;
    } *buffer = (void *)standin_find(given.print_buffer, sizeof *buffer);
    if (buffer == NULL)
        return ILLEGAL_ADDRESS;
    buffer->bytes = buffer->used = 16;
    buffer->format = 1;
    buffer->text = word(launch, 0);
    return SUCCESS;
}

/* kernel void look(read_only image2d_t image, sampler_t sampler, global ulong *out): the view, its first texel, and the sampler.
 * The view has to lie in the GPU's memory, and so have the texels. */
static int look(const operation *launch) {
    enum { VIEW_BYTES = 104, TEXEL_BYTES_AT = 40 };
    uint64_t image = word(launch, 0), *out = (uint64_t *)standin_find(word(launch, 16), 6 * sizeof *out);
    const char *view = standin_find(image, VIEW_BYTES);
    if (out == NULL || !standin_is_device(image) || view == NULL)
        return ILLEGAL_ADDRESS;
    uint64_t texels;
    uint32_t size[2], texel_bytes;
    memcpy(&texels, view, sizeof texels);
    memcpy(size, view + sizeof texels, sizeof size);
    memcpy(&texel_bytes, view + TEXEL_BYTES_AT, sizeof texel_bytes);
    const char *first = standin_find(texels, texel_bytes);
    if (!standin_is_device(texels) || first == NULL || texel_bytes > sizeof *out)
        return ILLEGAL_ADDRESS;
    out[0] = size[0];
    out[1] = size[1];
    out[2] = texel_bytes;
    out[3] = 0;
    memcpy(&out[3], first, texel_bytes);
    out[4] = word(launch, 8);
    return SUCCESS;
}

const kernel *standin_kernel(const char *name) {
    static const kernel known[] = {
        {"add", add, 0, 1024},     {"shape", shape, 0, 1024}, {"values", values, 100, 256}, {"increase", increase, 0, 1024},
        {"fault", fault, 0, 1024}, {"say", say, 0, 1024},       {"empty", empty, 0, 1024},
        {"look", look, 0, 1024},   {"tell", tell, 0, 1024},
    };
    for (size_t each = 0; each < sizeof known / sizeof *known; each++)
        if (strcmp(known[each].name, name) == 0)
            return &known[each];
    return NULL;
}
