/* Programs: a text, and the native binary of the Level Zero driver that it becomes. */
#include <stdlib.h>
#include <string.h>

#include "opencl/opencl.h"

enum {
    PROGRAM_REFERENCES = 0x1160,
    PROGRAM_CONTEXT,
    PROGRAM_DEVICE_COUNT,
    PROGRAM_DEVICES,
    PROGRAM_SOURCE,
    PROGRAM_BINARY_SIZES,
    PROGRAM_BINARIES,
};
enum { BUILD_STATUS = 0x1181, BUILD_OPTIONS, BUILD_LOG, BUILD_BINARY_TYPE };
enum { NOT_BUILT = -1, FAILED = -2 };

/* The pieces of a source as one text; a length of 0 stands for a text that ends with a zero. */
static char *joined(unsigned count, const char **texts, const size_t *lengths) {
    size_t size = 1;
    for (unsigned i = 0; i < count; i++)
        size += lengths != NULL && lengths[i] != 0 ? lengths[i] : strlen(texts[i]);
    char *whole = malloc(size), *end = whole;
    for (unsigned i = 0; i < count && whole != NULL; i++) {
        size_t length = lengths != NULL && lengths[i] != 0 ? lengths[i] : strlen(texts[i]);
        end = mempcpy(end, texts[i], length);
    }
    if (whole != NULL)
        *end = '\0';
    return whole;
}

static int check_texts(gs_cl_object *context, unsigned count, const char **texts) {
    if (context == NULL)
        return CL_INVALID_CONTEXT;
    if (count == 0 || texts == NULL)
        return CL_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++)
        if (texts[i] == NULL)
            return CL_INVALID_VALUE;
    return CL_SUCCESS;
}

void *gs_cl_create_program(gs_cl_object *context, unsigned count, const char **texts, const size_t *lengths,
                           int *status) {
    gs_cl_program *program = NULL;
    int result = check_texts(context, count, texts);
    if (result == CL_SUCCESS) {
        program = calloc(1, sizeof *program);
        char *source = joined(count, texts, lengths);
        if (program == NULL || source == NULL) {
            free(program);
            free(source);
            program = NULL;
            result = CL_OUT_OF_HOST_MEMORY;
        } else {
            *program = (gs_cl_program){
                .context = context,
                .source = source,
                .lock = PTHREAD_MUTEX_INITIALIZER,
                .status = NOT_BUILT,
            };
            program->object.dispatch = gs_cl_dispatch;
            program->object.references = 1;
            context->references++;
        }
    }
    if (status != NULL)
        *status = result;
    return program;
}

int gs_cl_retain_program(gs_cl_program *program) {
    if (program == NULL)
        return CL_INVALID_PROGRAM;
    program->object.references++;
    return CL_SUCCESS;
}

int gs_cl_release_program(gs_cl_program *program) {
    if (program == NULL)
        return CL_INVALID_PROGRAM;
    if (--program->object.references > 0)
        return CL_SUCCESS;
    gs_cl_release_context(program->context);
    free(program->source);
    free(program->options);
    free(program->log);
    free(program->binary);
    free(program);
    return CL_SUCCESS;
}

static int check_devices(unsigned count, void *const *devices) {
    if ((count == 0) != (devices == NULL))
        return CL_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++)
        if (devices[i] != &gs_cl_device)
            return CL_INVALID_DEVICE;
    return CL_SUCCESS;
}

static int build(gs_cl_program *program, const char *options) {
    free(program->options);
    program->options = strdup(options);
    if (program->options == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    program->status = gs_cl_compile(program) ? CL_SUCCESS : FAILED;
    return program->status == CL_SUCCESS ? CL_SUCCESS : CL_BUILD_PROGRAM_FAILURE;
}

int gs_cl_build_program(gs_cl_program *program, unsigned count, void *const *devices, const char *options,
                        void (*notify)(void *, void *), void *data) {
    if (program == NULL)
        return CL_INVALID_PROGRAM;
    int result = check_devices(count, devices);
    if (result != CL_SUCCESS)
        return result;
    pthread_mutex_lock(&program->lock);
    result = build(program, options != NULL ? options : "");
    pthread_mutex_unlock(&program->lock);
    if (notify != NULL)
        notify(program, data);
    return result;
}

static int copy_binary(const gs_cl_program *program, size_t capacity, void *to, size_t *needed) {
    if (program->status != CL_SUCCESS)
        return CL_INVALID_PROGRAM_EXECUTABLE;
    if (needed != NULL)
        *needed = sizeof(void *);
    if (to == NULL)
        return CL_SUCCESS;
    if (capacity < sizeof(void *))
        return CL_INVALID_VALUE;
    void *place = *(void **)to;
    if (place != NULL)
        memcpy(place, program->binary, program->binary_size);
    return CL_SUCCESS;
}

static int answer(gs_cl_program *program, unsigned what, size_t capacity, void *to, size_t *needed) {
    unsigned references = (unsigned)program->object.references, one = 1;
    size_t size = program->status == CL_SUCCESS ? program->binary_size : 0;
    void *device = &gs_cl_device;
    switch (what) {
    case PROGRAM_REFERENCES:
        return gs_cl_answer(&references, sizeof references, capacity, to, needed);
    case PROGRAM_CONTEXT:
        return gs_cl_answer(&program->context, sizeof program->context, capacity, to, needed);
    case PROGRAM_DEVICE_COUNT:
        return gs_cl_answer(&one, sizeof one, capacity, to, needed);
    case PROGRAM_DEVICES:
        return gs_cl_answer(&device, sizeof device, capacity, to, needed);
    case PROGRAM_SOURCE:
        return gs_cl_answer_text(program->source, capacity, to, needed);
    case PROGRAM_BINARY_SIZES:
        return gs_cl_answer(&size, sizeof size, capacity, to, needed);
    case PROGRAM_BINARIES:
        return copy_binary(program, capacity, to, needed);
    default:
        return CL_INVALID_VALUE;
    }
}

int gs_cl_program_info(gs_cl_program *program, unsigned what, size_t capacity, void *to, size_t *needed) {
    if (program == NULL)
        return CL_INVALID_PROGRAM;
    pthread_mutex_lock(&program->lock);
    int result = answer(program, what, capacity, to, needed);
    pthread_mutex_unlock(&program->lock);
    return result;
}

static int answer_of_build(const gs_cl_program *program, unsigned what, size_t capacity, void *to, size_t *needed) {
    unsigned type = program->status == CL_SUCCESS ? 4 : 0; /* an executable, or nothing */
    switch (what) {
    case BUILD_STATUS:
        return gs_cl_answer(&program->status, sizeof program->status, capacity, to, needed);
    case BUILD_OPTIONS:
        return gs_cl_answer_text(program->options != NULL ? program->options : "", capacity, to, needed);
    case BUILD_LOG:
        return gs_cl_answer_text(program->log != NULL ? program->log : "", capacity, to, needed);
    case BUILD_BINARY_TYPE:
        return gs_cl_answer(&type, sizeof type, capacity, to, needed);
    default:
        return CL_INVALID_VALUE;
    }
}

int gs_cl_build_info(gs_cl_program *program, void *device, unsigned what, size_t capacity, void *to, size_t *needed) {
    if (program == NULL)
        return CL_INVALID_PROGRAM;
    if (device != &gs_cl_device)
        return CL_INVALID_DEVICE;
    pthread_mutex_lock(&program->lock);
    int result = answer_of_build(program, what, capacity, to, needed);
    pthread_mutex_unlock(&program->lock);
    return result;
}
