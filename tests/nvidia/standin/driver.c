/* Devices, contexts, modules and launches. */
#define _GNU_SOURCE
#include "standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLED(name)                      \
    int error = standin_called(name);     \
    if (error != SUCCESS)                 \
        return error;

enum { MOST_NAMES = 96 };
typedef struct call_count {
    char name[40];
    int calls;
} call_count;

static int count(call_count counts[MOST_NAMES], const char *name, int more) {
    for (call_count *each = counts; each < counts + MOST_NAMES; each++)
        if (each->name[0] == 0 || strcmp(each->name, name) == 0) {
            snprintf(each->name, sizeof each->name, "%s", name);
            return each->calls += more;
        }
    abort();
}

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static call_count of_all[MOST_NAMES];
static _Thread_local call_count of_thread[MOST_NAMES];

int standin_calls(const char *name) {
    pthread_mutex_lock(&counting);
    int number = count(of_all, name, 0);
    pthread_mutex_unlock(&counting);
    return number;
}
int standin_calls_here(const char *name) { return count(of_thread, name, 0); }

int standin_called(const char *name) {
    const char *plan = getenv("STANDIN_FAIL");
    int result = SUCCESS;
    count(of_thread, name, 1);
    pthread_mutex_lock(&counting);
    int number = count(of_all, name, 1);
    pthread_mutex_unlock(&counting);
    for (; plan != NULL && *plan != 0; plan = strchr(plan, ',') != NULL ? strchr(plan, ',') + 1 : "") {
        char wanted[40];
        int which, code;
        if (sscanf(plan, "%39[^:]:%d:%d", wanted, &which, &code) == 3 && strcmp(wanted, name) == 0 && which == number)
            result = code;
    }
    return result;
}

/* --- Devices ------------------------------------------------------------------------------------------------- */

int standin_device_count(void) {
    const char *text = getenv("STANDIN_DEVICES");
    return text != NULL ? atoi(text) : 1;
}

int cuInit(unsigned flags) {
    (void)flags;
    CALLED("cuInit")
    return SUCCESS;
}
int cuDriverGetVersion(int *version) {
    *version = 13000;
    return SUCCESS;
}
int cuDeviceGetCount(int *count) {
    CALLED("cuDeviceGetCount")
    *count = standin_device_count();
    return SUCCESS;
}
int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return ordinal < standin_device_count() ? SUCCESS : INVALID_VALUE;
}
int cuDeviceGetName(char *name, int capacity, int device) {
    snprintf(name, (size_t)capacity, "Stand-in GPU %d", device);
    return SUCCESS;
}
int cuDeviceGetUuid_v2(uint8_t *uuid, int device) {
    memcpy(uuid, "stand-in for gpu", 16);
    uuid[15] = (uint8_t)('0' + device);
    return SUCCESS;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    (void)device;
    const char *text = getenv("STANDIN_MEMORY");
    *bytes = text != NULL ? strtoull(text, NULL, 0) : (size_t)1 << 30;
    return SUCCESS;
}

/* Of an H200, but for the name and the amount of memory. */
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    static const struct {
        int attribute, value;
    } known[] = {{1, 1024},   {2, 1024},    {3, 1024},    {4, 64},       {5, 2147483647}, {6, 65535},  {7, 65535}, {8, 49152},
                 {10, 32},    {13, 1980000}, {16, 132},   {18, 0},       {32, 1},         {36, 3201000}, {37, 6144}, {38, 62914560},
                 {39, 2048},  {50, 0},      {75, 9},      {76, 0},       {83, 1},         {86, 0},     {88, 0},    {89, 1},
                 {97, 232448}, {34, 0}, {102, 1}, {103, 1}, {91, 1}};
    *value = attribute == 33 ? 6 + device : 0;
    for (size_t each = 0; each < sizeof known / sizeof *known; each++)
        if (known[each].attribute == attribute)
            *value = known[each].value;
    return SUCCESS;
}

/* STANDIN_PEERS: how devices reach each other's memory, 0 not at all, 1, or 2 with atomics. */
static int peers(int device, int other) {
    const char *text = getenv("STANDIN_PEERS");
    return device == other ? 0 : text != NULL ? atoi(text) : 1;
}
int cuDeviceCanAccessPeer(int *reaches, int device, int peer) {
    *reaches = peers(device, peer) > 0;
    return SUCCESS;
}
int cuDeviceGetP2PAttribute(int *value, int attribute, int device, int peer) {
    enum { ATOMICS = 3 };
    *value = attribute == ATOMICS && peers(device, peer) > 1;
    return device != peer ? SUCCESS : INVALID_VALUE;
}

/* --- Contexts ------------------------------------------------------------------------------------------------ */

typedef struct context {
    int device;
} context;

_Thread_local int standin_device;
static _Thread_local int depth;
static _Thread_local const context *stack[16];
static _Atomic int contexts, primary_users;
static context primary[MOST_DEVICES];

static void push(const context *pushed) {
    stack[depth++] = pushed;
    standin_device = pushed->device;
}

/* As CUDA does it: an error stays until the last context is gone, and in a process for which NVIDIA's documentation has it
 * so (STANDIN_STICKY) for ever. */
static void end_context(void) {
    if (--contexts > 0)
        return;
    standin_forget_memory();
    if (getenv("STANDIN_STICKY") == NULL)
        standin_error = SUCCESS;
}
static int begin_context(void) {
    if (standin_error == SUCCESS)
        contexts++;
    return standin_error;
}

int cuDevicePrimaryCtxRetain(context **made, int device) {
    CALLED("cuDevicePrimaryCtxRetain")
    primary[device].device = device;
    *made = &primary[device];
    if (primary_users == 0 && begin_context() != SUCCESS)
        return standin_error;
    primary_users++;
    return standin_error;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
    (void)device;
    CALLED("cuDevicePrimaryCtxRelease")
    if (primary_users == 0)
        return INVALID_VALUE;
    if (--primary_users == 0)
        end_context();
    return SUCCESS;
}
int cuCtxCreate_v2(context **made, unsigned flags, int device) {
    (void)flags;
    CALLED("cuCtxCreate")
    if (begin_context() != SUCCESS)
        return standin_error;
    *made = malloc(sizeof **made);
    (*made)->device = device;
    push(*made);
    return SUCCESS;
}
int cuCtxDestroy_v2(context *given) {
    CALLED("cuCtxDestroy")
    free(given);
    end_context();
    return SUCCESS;
}
int cuCtxPushCurrent_v2(const context *given) {
    CALLED("cuCtxPushCurrent")
    if (given == NULL)
        return INVALID_VALUE;
    push(given);
    return SUCCESS;
}
int cuCtxPopCurrent_v2(const context **popped) {
    CALLED("cuCtxPopCurrent")
    if (depth == 0)
        return INVALID_VALUE;
    *popped = stack[--depth];
    if (depth > 0)
        standin_device = stack[depth - 1]->device;
    return SUCCESS;
}

/* --- Modules ------------------------------------------------------------------------------------------------- */

enum { ERROR_LOG = 5, ERROR_LOG_SIZE = 6 };

int cuModuleLoadDataEx(char **module, const void *image, unsigned count, const int *options, void **values) {
    CALLED("cuModuleLoadDataEx")
    char *log = NULL;
    size_t room = 0;
    for (unsigned each = 0; each < count; each++) {
        log = options[each] == ERROR_LOG ? values[each] : log;
        room = options[each] == ERROR_LOG_SIZE ? (size_t)(uintptr_t)values[each] : room;
    }
    if (strstr(image, ".version") == NULL) {
        if (log != NULL)
            snprintf(log, room, "stand-in: line 1: no .version");
        return INVALID_PTX;
    }
    *module = strdup(image);
    return SUCCESS;
}
int cuModuleUnload(char *module) {
    CALLED("cuModuleUnload")
    free(module);
    return SUCCESS;
}
int cuModuleGetFunction(const kernel **function, const char *module, const char *name) {
    char entry[200];
    CALLED("cuModuleGetFunction")
    snprintf(entry, sizeof entry, ".entry %s(", name);
    *function = standin_kernel(name);
    return strstr(module, entry) != NULL && *function != NULL ? SUCCESS : NOT_FOUND;
}
int cuModuleGetGlobal_v2(uint64_t *pointer, size_t *bytes, const char *module, const char *name) {
    CALLED("cuModuleGetGlobal")
    char line[200];
    snprintf(line, sizeof line, ".global %s ", name);
    const char *found = strstr(module, line);
    if (found == NULL)
        return NOT_FOUND;
    *bytes = strtoull(found + strlen(line), NULL, 0);
    *pointer = standin_variable(name, *bytes);
    return SUCCESS;
}
int cuFuncGetAttribute(int *value, int attribute, const kernel *function) {
    enum { MOST_THREADS = 0, STATIC_SHARED = 1, REGISTERS = 4 };
    *value = attribute == MOST_THREADS ? function->most_threads : attribute == STATIC_SHARED ? function->static_shared : 0;
    if (attribute == REGISTERS)
        *value = 32;
    return SUCCESS;
}
int cuFuncSetAttribute(const kernel *function, int attribute, int value) {
    (void)function, (void)attribute;
    return value >= 0 ? SUCCESS : INVALID_VALUE;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const kernel *function, int size, size_t shared) {
    (void)function;
    *blocks = 2048 / size;
    return shared <= 232448 ? SUCCESS : INVALID_VALUE;
}

/* --- Launches ------------------------------------------------------------------------------------------------ */

_Thread_local bool standin_is_kernel;

static int run(operation *self) {
    standin_is_kernel = true;
    int result = self->kernel->run(self);
    standin_is_kernel = false;
    return result;
}

static int launch(const kernel *function, const uint32_t groups[3], const uint32_t size[3], uint32_t shared, void *stream,
                  void **extra) {
    operation described = {.run = run, .kernel = function, .shared_bytes = shared};
    memcpy(described.groups, groups, sizeof described.groups);
    memcpy(described.group_size, size, sizeof described.group_size);
    uint64_t threads = (uint64_t)size[0] * size[1] * size[2];
    if (threads == 0 || threads > (uint64_t)function->most_threads || groups[0] == 0 || groups[1] == 0 || groups[2] == 0 ||
        groups[1] > 65535 || groups[2] > 65535 || shared + (uint32_t)function->static_shared > 232448)
        return INVALID_VALUE;
    const void *from = NULL;
    for (; extra != NULL && *extra != NULL; extra += 2) {
        if (extra[0] == (void *)1)
            from = extra[1];
        else
            described.parameter_bytes = *(size_t *)extra[1];
    }
    if (described.parameter_bytes > sizeof described.parameters)
        return INVALID_VALUE;
    if (from != NULL)
        memcpy(described.parameters, from, described.parameter_bytes);
    return standin_enqueue(stream, &described);
}

int cuLaunchKernel(const kernel *function, unsigned x, unsigned y, unsigned z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra) {
    (void)parameters;
    CALLED("cuLaunchKernel")
    return launch(function, (uint32_t[]){x, y, z}, (uint32_t[]){block_x, block_y, block_z}, shared, stream, extra);
}

typedef struct launch_config {
    uint32_t groups[3], group_size[3], shared_bytes;
    void *stream;
    const struct {
        uint32_t id, padding;
        char value[64];
    } *attributes;
    uint32_t attribute_count;
} launch_config;

int cuLaunchKernelEx(const launch_config *config, const kernel *function, void **parameters, void **extra) {
    (void)parameters;
    CALLED("cuLaunchKernelEx")
    if (config->attribute_count != 1 || config->attributes[0].id != 2)
        return INVALID_VALUE;
    return launch(function, config->groups, config->group_size, config->shared_bytes, config->stream, extra);
}

/* --- Errors -------------------------------------------------------------------------------------------------- */

int cuGetErrorName(int code, const char **name) {
    *name = code == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : code == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
            : code == INVALID_PTX   ? "CUDA_ERROR_INVALID_PTX"
                                    : "CUDA_ERROR_OF_THE_STAND_IN";
    return SUCCESS;
}
int cuGetErrorString(int code, const char **sentence) {
    *sentence = code == ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "the stand-in says so";
    return SUCCESS;
}
