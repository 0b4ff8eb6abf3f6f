/* Finds the functions of Level Zero in the library that a program uses. */
#define _GNU_SOURCE
#include "dnnl/level_zero.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct known {
    struct known *next;
    char *library;
    gs_ze functions;
} known;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static known *all;

static bool look_up(gs_ze *to, void *from) {
    bool complete = true;
    *(void **)&to->zeCommandListHostSynchronize = dlsym(from, "zeCommandListHostSynchronize");
#define LOOK_UP(name, parameters)                                                                                    \
    *(void **)&to->name = dlsym(from, #name);                                                                        \
    complete &= to->name != NULL;
    GS_LEVEL_ZERO(LOOK_UP)
#undef LOOK_UP
    return complete;
}

static known *open_library(const char *library) {
    void *opened = dlopen(library, RTLD_NOW);
    known *fresh = opened != NULL ? calloc(1, sizeof *fresh) : NULL;
    if (fresh == NULL)
        return NULL;
    fresh->library = strdup(library);
    if (fresh->library == NULL || !look_up(&fresh->functions, opened)) {
        free(fresh->library);
        free(fresh);
        return NULL;
    }
    fresh->next = all;
    all = fresh;
    return fresh;
}

const gs_ze *gs_ze_open(const char *library) {
    pthread_mutex_lock(&lock);
    known *each = all;
    while (each != NULL && strcmp(each->library, library) != 0)
        each = each->next;
    if (each == NULL)
        each = open_library(library);
    pthread_mutex_unlock(&lock);
    return each != NULL ? &each->functions : NULL;
}

const char *gs_ze_of_program(void) {
    Dl_info found;
    void *function = dlsym(RTLD_DEFAULT, "zeCommandListAppendLaunchKernel");
    return function != NULL && dladdr(function, &found) != 0 ? found.dli_fname : NULL;
}
