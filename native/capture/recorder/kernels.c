/* Which kernel a handle stands for, and how large its arguments are: calls that take all arguments at once do not say. */
#include <pthread.h>
#include <stdlib.h>

#include "capture/memory/pages.h"
#include "capture/recorder/handles.h"
#include "capture/recorder/hooks.h"
#include "capture/recorder/slots.h"
#include "capture/recorder/spirv.h"

enum { GENEROUS_SIZE = 64, COUNT_LIMIT = 4096, CHAIN_LIMIT = 256 };

/* The kernels of a module, which live as long as it or a kernel of it. */
typedef struct kernels {
    unsigned users;
    gc_signature *all;
} kernels;

typedef struct kernel {
    kernels *of;
    const gc_signature *signature; /* null: not known */
} kernel;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static gc_handles modules, kernel_handles;

static void release(kernels *of) {
    if (of == NULL || --of->users > 0)
        return;
    for (gc_signature *each = of->all, *next; each != NULL; each = next) {
        next = each->next;
        free(each->name);
        free(each);
    }
    free(of);
}

static void forget_kernel(kernel *known) {
    if (known != NULL)
        release(known->of);
    free(known);
}

static void add_module(kernels *to, const uint8_t *bytes, size_t size) {
    gc_signature *found = bytes != NULL ? gc_spirv_signatures(bytes, size) : NULL;
    while (found != NULL) {
        gc_signature *next = found->next;
        found->next = to->all;
        to->all = found;
        found = next;
    }
}

void gc_made_module(ze_result_t result, const ze_module_desc_t *desc, const ze_module_handle_t *found) {
    kernels *made = result == ZE_RESULT_SUCCESS ? calloc(1, sizeof *made) : NULL;
    if (made == NULL)
        return;
    made->users = 1;
    add_module(made, desc->pInputModule, desc->inputSize);
    const ze_base_desc_t *link = desc->pNext;
    for (int links = 0; link != NULL && links < CHAIN_LIMIT; link = link->pNext, links++) {
        const ze_module_program_exp_desc_t *several = (const void *)link;
        if (link->stype != ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC)
            continue;
        for (uint32_t each = 0; each < several->count; each++)
            add_module(made, several->pInputModules[each], several->inputSizes[each]);
    }
    pthread_mutex_lock(&lock);
    release(gc_handles_put(&modules, *found, made));
    pthread_mutex_unlock(&lock);
}

void gc_unmade_module(ze_result_t result, ze_module_handle_t module) {
    if (result != ZE_RESULT_SUCCESS)
        return;
    pthread_mutex_lock(&lock);
    release(gc_handles_take(&modules, module));
    pthread_mutex_unlock(&lock);
}

void gc_made_kernel(ze_result_t result, ze_module_handle_t module, const ze_kernel_desc_t *desc,
                    const ze_kernel_handle_t *found) {
    kernel *made = result == ZE_RESULT_SUCCESS ? calloc(1, sizeof *made) : NULL;
    if (made == NULL)
        return;
    pthread_mutex_lock(&lock);
    made->of = gc_handles_get(&modules, module);
    if (made->of != NULL) {
        made->of->users++;
        for (const gc_signature *each = made->of->all; each != NULL; each = each->next)
            if (strcmp(each->name, desc->pKernelName) == 0)
                made->signature = each;
    }
    forget_kernel(gc_handles_put(&kernel_handles, *found, made));
    pthread_mutex_unlock(&lock);
}

void gc_unmade_kernel(ze_result_t result, ze_kernel_handle_t handle) {
    if (result != ZE_RESULT_SUCCESS)
        return;
    pthread_mutex_lock(&lock);
    forget_kernel(gc_handles_take(&kernel_handles, handle));
    pthread_mutex_unlock(&lock);
}

/* What is there of a value whose size nobody knows; at most to the end of its page. */
static void copy_generously(gc_call *call, const void *value) {
    uint8_t probe[GENEROUS_SIZE];
    size_t wanted = gc_smaller(sizeof probe, GC_PAGE - (uintptr_t)value % GC_PAGE);
    gc_copy(call, value, gc_pages_read(probe, (uintptr_t)value, wanted), GC_BEFORE);
}

/* The driver knows how many arguments there are, if the module is none that can be read. */
static uint32_t count_by_driver(ze_kernel_handle_t handle) {
    ze_kernel_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES};
    ze_pfnKernelGetProperties_t ask = (ze_pfnKernelGetProperties_t)gc_next[GS_FN_zeKernelGetProperties];
    ze_result_t result = ask(handle, &properties);
    return result == ZE_RESULT_SUCCESS && properties.numKernelArgs <= COUNT_LIMIT ? properties.numKernelArgs : 0;
}

void gc_passes_arguments(gc_call *call, ze_kernel_handle_t handle, void *const *values) {
    if (values == NULL || handle == NULL)
        return;
    pthread_mutex_lock(&lock);
    const kernel *known = gc_handles_get(&kernel_handles, handle);
    const gc_signature *signature = known != NULL ? known->signature : NULL;
    pthread_mutex_unlock(&lock); /* the kernel, and so its signature, lives as long as this call of it */
    uint32_t count = signature != NULL ? signature->count : count_by_driver(handle);
    gc_copy(call, values, count * sizeof *values, GC_BEFORE);
    if (!gc_readable(values, count * sizeof *values))
        return;
    for (uint32_t each = 0; each < count; each++) {
        uint32_t size = signature != NULL ? signature->sizes[each] : 0;
        if (values[each] == NULL)
            continue;
        if (size != 0)
            gc_copy(call, values[each], size, GC_BEFORE);
        else
            copy_generously(call, values[each]);
    }
}
