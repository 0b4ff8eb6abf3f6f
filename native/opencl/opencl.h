/* An OpenCL driver that compiles and runs nothing: for libraries whose kernels for Level Zero are texts of OpenCL C
 * which they have compiled by the OpenCL driver of the same GPU (oneMKL's Fourier transforms).
 *
 * The names and numbers are those of OpenCL; only what is used here is declared. */
#ifndef GS_OPENCL_OPENCL_H
#define GS_OPENCL_OPENCL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GS_EXPORT __attribute__((visibility("default")))

enum {
    CL_SUCCESS = 0,
    CL_DEVICE_NOT_FOUND = -1,
    CL_OUT_OF_HOST_MEMORY = -6,
    CL_BUILD_PROGRAM_FAILURE = -11,
    CL_INVALID_VALUE = -30,
    CL_INVALID_DEVICE = -33,
    CL_INVALID_CONTEXT = -34,
    CL_INVALID_PROGRAM = -44,
    CL_INVALID_PROGRAM_EXECUTABLE = -45,
    CL_INVALID_OPERATION = -59,
};

/* Loaders and programs call through the pointer that every object begins with. */
typedef struct gs_cl_object {
    void *const *dispatch;
    atomic_int references;
} gs_cl_object;

typedef struct gs_cl_program {
    gs_cl_object object;
    gs_cl_object *context;
    char *source;
    pthread_mutex_t lock; /* of what follows: a program may be built anew while others ask for its log */
    char *options, *log;
    void *binary;
    size_t binary_size;
    int status; /* 0: built, -1: not yet, -2: it failed */
} gs_cl_program;

extern gs_cl_object gs_cl_platform, gs_cl_device;
extern void *gs_cl_dispatch[];

/* Answers a question with `size` bytes at `value`, as all clGet...Info do. */
int gs_cl_answer(const void *value, size_t size, size_t capacity, void *to, size_t *needed);
int gs_cl_answer_text(const char *text, size_t capacity, void *to, size_t *needed);

/* driver.c: what the Level Zero device says of itself, and its compiler. */
typedef struct gs_cl_facts {
    char name[256];
    uint32_t vendor, clock, units;
} gs_cl_facts;
const gs_cl_facts *gs_cl_find_device(void); /* NULL if there is none */
bool gs_cl_compile(gs_cl_program *program);

/* program.c */
void *gs_cl_create_program(gs_cl_object *context, unsigned count, const char **texts, const size_t *lengths,
                           int *status);
int gs_cl_retain_program(gs_cl_program *program);
int gs_cl_release_program(gs_cl_program *program);
int gs_cl_build_program(gs_cl_program *program, unsigned count, void *const *devices, const char *options,
                        void (*notify)(void *, void *), void *data);
int gs_cl_program_info(gs_cl_program *program, unsigned what, size_t capacity, void *to, size_t *needed);
int gs_cl_build_info(gs_cl_program *program, void *device, unsigned what, size_t capacity, void *to, size_t *needed);

/* icd.c */
int gs_cl_release_context(gs_cl_object *context);

#endif
