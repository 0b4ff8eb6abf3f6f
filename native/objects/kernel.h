/* Modules and kernels as launches need them. What they were compiled from, and how, is known to Python. */
#ifndef GS_OBJECTS_KERNEL_H
#define GS_OBJECTS_KERNEL_H

#include "generated/shared.h"
#include "objects/device.h"
#include "runtime/schedule.h"
#include "threads/lock.h"

static inline uint64_t gs_align_local(uint64_t bytes) {
    return (bytes + GS_LOCAL_ALIGNMENT - 1) & ~(uint64_t)(GS_LOCAL_ALIGNMENT - 1);
}

enum { GS_MOST_VARIANTS = 4, GS_KEPT_COMPARISONS = 16, GS_PROFILE_SIZES = 4 };

/* One way to run a kernel: as vectors of so many work-items, or one work-item after the other. All compute the same.
 * The comparisons are the last ones with the preferred variant: runtime/variants.c knows what is in them. */
typedef struct gs_variant {
    gs_run_groups run;
    uint64_t private_bytes, saved_bytes;
    const gs_source_lines *lines; /* NULL: they are not known */
    bool refills;                 /* free lanes take the next work-items: the last ones of a part leave most lanes free */
    _Atomic uint32_t trials;
    _Atomic uint64_t comparisons[GS_KEPT_COMPARISONS];
} gs_variant;

/* A kernel compiled for one group size. */
typedef struct gs_code {
    struct gs_code *next;
    const char *name; /* of the kernel */
    uint32_t group_size[3];
    uint64_t local_bytes;
    gs_variant variants[GS_MOST_VARIANTS]; /* only ever added to; runtime/variants.c chooses */
    _Atomic uint32_t variant_count, preferred;
    _Atomic uint32_t variants_to_come; /* that can still be compiled */
    bool variants_are_cached;          /* then they only have to be loaded */
    _Atomic uint32_t remembered;       /* the variant that the next process would begin with */
    _Atomic uint32_t times_remembered;
    _Atomic uint64_t busy_nanoseconds, trial_nanoseconds; /* of all launches so far */
    _Atomic uint32_t turns;                               /* of trials begun */
    _Atomic uint32_t half_variant;                        /* of a trial whose other half has not run */
    _Atomic uint64_t half_nanoseconds;                    /* 0: there is none */
    struct gs_module *module;
    struct gs_entry_point *entry_point;
    struct gs_code *next_request; /* runtime/variant_requests.c */
    _Atomic uint32_t wishes;      /* that were asked for */
    bool has_loops;
    bool writes_back; /* atomic operations that wait in a table until the end of a range of groups */
    bool may_wait; /* for what another thread does: then it must not run on a thread of the program */
    uint32_t format_count;
    char **formats; /* of its printf calls */
    bool is_counting;    /* for metrics: it is for launches that count their instructions (metrics/instructions.h) */
    uint32_t block_count, lanes;
    uint64_t *block_costs;
    uint32_t site_count; /* where checkers may report something (check/launch_check.c) */
    bool needs_memory;   /* it asks which memory there is */
    gs_shared_accesses accesses;
    gs_shadow_accesses shadow_accesses;
    gs_gpu_code *gpu; /* NULL: it is code of the CPU */
    _Atomic uint64_t group_picoseconds; /* what a group took in the last launch; 0: not known yet */
    gs_cost_profile profile;            /* and how the groups differed */
    /* For profiles (profile/commands.c): its number in one; the code that counts, and group counts that it has counted. */
    _Atomic uint64_t profile_number, counted_sizes[GS_PROFILE_SIZES];
    struct gs_code *_Atomic counting;
    _Atomic bool was_asked_to_count;
} gs_code;

/* What a module knows of one of its kernels. */
typedef struct gs_entry_point {
    struct gs_entry_point *next;
    char *name;
    gs_argument *arguments;
    uint32_t argument_count, local_argument_count;
    uint64_t block_bytes;
    uint32_t default_size[3]; /* for a kernel that is launched without a group size */
    bool size_is_required;    /* the default is the only one allowed */
    uint32_t most_items;      /* in a group */
    uint32_t subgroup_size;
    bool suits_large_groups; /* of a long line of work-items */
    uint64_t most_local_bytes;
    gs_code *_Atomic codes; /* only ever added to */
} gs_entry_point;

/* The program-scope variables of a module, or of several that were linked. */
typedef struct gs_globals {
    _Atomic uint32_t references;
    gs_context *context;
    char *base;
} gs_globals;

typedef struct gs_module {
    gs_object object;
    gs_context *context;
    gs_device *device;
    struct gs_reap_entry *reap_entry; /* tells Python when the last user of the code is gone */
    gs_globals *globals;            /* NULL: none, or not needed so far */
    gs_entry_point *entry_points;
    gs_mutex lock;
} gs_module;

typedef struct gs_kernel {
    gs_object object;
    gs_module *module; /* held */
    gs_entry_point *entry_point;
    uint32_t group_size[3]; /* as it was set; zeros: the default of the entry point */
    gs_code *code;     /* for that group size; NULL: it is found or compiled at the next launch */
    uint64_t global_offset[3];
    char *block;       /* the arguments; for a local one its size */
    bool *is_set;      /* each argument */
    uint32_t unset;    /* arguments that were not set so far */
    ze_kernel_indirect_access_flags_t indirect_access;
} gs_kernel;

/* Asks the Python half for code: compiles an entry point for a group size that is allowed for it, and adds the code to the
 * entry point (gs_code_add). `function` is what the program waits for. Defined in python/handlers.c. */
ze_result_t gs_compile_entry_point(enum gs_function function, gs_entry_point *entry_point, const uint32_t group_size[3]);

/* The same for code that counts its instructions. */
ze_result_t gs_compile_counting(enum gs_function function, gs_entry_point *entry_point, const uint32_t group_size[3]);

/* Has the Python half add another variant to code that is there (gs_variant_add). What goes wrong is forgotten. */
void gs_compile_variant(const gs_code *code);

/* Has it write down that a variant is to come first in the next process. */
void gs_remember_variant(const gs_code *code, uint32_t variant);

/* The code of a kernel for a group size, or NULL. */
gs_code *gs_find_code(const gs_entry_point *entry_point, const uint32_t size[3]);

/* Makes sure that the kernel has code for its group size. It is compiled at the first launch, not when the
 * size is set: programs try sizes that they never launch. */
ze_result_t gs_kernel_prepare(enum gs_function function, gs_kernel *kernel, gs_code **code);

/* The same for a launch that is to count its instructions. */
ze_result_t gs_kernel_prepare_counting(enum gs_function function, gs_kernel *kernel, gs_code **code);

/* Each sets one thing, or says what is wrong with it and changes nothing. */
ze_result_t gs_kernel_set_argument(enum gs_function function, gs_kernel *kernel, uint32_t index, size_t size,
                                   const void *value);
ze_result_t gs_kernel_set_group_size(enum gs_function function, gs_kernel *kernel, uint32_t x, uint32_t y, uint32_t z);

/* A kernel of the driver's own, which is no object of the API, or NULL if memory ran out. */
gs_kernel *gs_kernel_copy(const gs_kernel *kernel);
void gs_kernel_free_copy(gs_kernel *copy);

/* --- What the Python half calls (native_kernel.py), and the tests in C ------------------------------- */

/* module.c: the key comes back from gs_module_reap when nothing refers to the module any more. */
void *gs_module_new(gs_context *context, gs_device *device, uint64_t key);
uint64_t gs_module_reap(void);

/* Where the program-scope variables are, or NULL. */
char *gs_module_globals(gs_module *module);

/* Runs code without arguments for one work-item, now. False: the context is lost, by this or another. */
bool gs_module_run_once(gs_context *context, gs_run_groups run, const gs_dispatch *dispatch, char *local,
                        const char *name);

void *gs_entry_point_add(gs_module *module, const gs_entry_point_description *from);

bool gs_code_add(gs_module *module, gs_entry_point *entry_point, const gs_code_description *from);
void gs_variant_add(gs_entry_point *entry_point, const gs_code_description *from);

/* For the tests: how many variants there are, and which one is preferred. */
uint32_t gs_variant_count(const gs_entry_point *entry_point, const uint32_t size[3]);
uint32_t gs_variant_preferred(const gs_entry_point *entry_point, const uint32_t size[3]);

void *gs_kernel_new(gs_module *module, gs_entry_point *entry_point);

/* --- Printing ---------------------------------------------------------------------------------------- */

/* print.c: where a launch prints to, and turning that into text on standard output when it has ended. */
enum { GS_PRINT_BYTES = 4 << 20 }; /* printfBufferSize of the device's module properties */
void *gs_print_begin(void);
void gs_print_end(void *buffer, const gs_code *code, gs_device *device); /* `device`: where strings are, NULL: here */

#endif
