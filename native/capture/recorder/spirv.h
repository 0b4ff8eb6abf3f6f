/* The parameters of a SPIR-V module's kernels: how many, and how large. */
#ifndef GC_RECORDER_SPIRV_H
#define GC_RECORDER_SPIRV_H

#include <stddef.h>
#include <stdint.h>

/* A kernel of a module. */
typedef struct gc_signature {
    struct gc_signature *next;
    char *name;
    uint32_t count;
    uint32_t sizes[]; /* what a caller passes for each argument; 0: not known */
} gc_signature;

/* The kernels of a module, to be freed one by one; none if the bytes are no SPIR-V. */
gc_signature *gc_spirv_signatures(const void *module, size_t size);

#endif
