/* Modules: what launches share. Compiled code is kept by Python, which learns from a reap_entry that no
 * handle and no command refers to a module any more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/host/device_memory.h"
#include "faults/fault.h"
#include "faults/watchdog.h"
#include "memory/memory.h"
#include "objects/kernel.h"
#include "threads/lock.h"

/* Made with the module, so that its end needs no memory. */
typedef struct gs_reap_entry {
    struct gs_reap_entry *next;
    uint64_t key; /* Python's name for the module */
} gs_reap_entry;

static gs_reap_entry *reapable;
GS_STATIC_LOCK(reapable_lock, GS_SHORT_LOCK)

/* --- Program-scope variables ------------------------------------------------------------------------ */

GS_EXPORT ze_result_t gs_globals_new(gs_context *context, gs_device *device, const void *image, uint64_t size,
                                     gs_globals **created) {
    const ze_device_mem_alloc_desc_t description = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    gs_globals *globals = calloc(1, sizeof *globals);
    if (globals == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for the module's variables");
    ze_result_t result = gs_zeMemAllocDevice((ze_context_handle_t)context, &description, size, 0,
                                             (ze_device_handle_t)device, (void **)&globals->base);
    if (result != ZE_RESULT_SUCCESS) {
        free(globals);
        return result;
    }
    if (gs_device_memory_is_checked())
        gs_device_memory_open();
    memcpy(globals->base, image, size);
    if (gs_device_memory_is_checked())
        gs_device_memory_close();
    globals->references = 1;
    globals->context = context;
    gs_object_hold(context);
    *created = globals;
    return ZE_RESULT_SUCCESS;
}

GS_EXPORT void *gs_globals_base(const gs_globals *globals) { return globals->base; }

GS_EXPORT void gs_globals_drop(gs_globals *globals) {
    if (globals == NULL || atomic_fetch_sub(&globals->references, 1) != 1)
        return;
    gs_zeMemFree((ze_context_handle_t)globals->context, globals->base);
    gs_object_drop(globals->context);
    free(globals);
}

/* Gives a module its variables, or those it shares with what it was linked with. */
GS_EXPORT void gs_module_set_globals(gs_module *module, gs_globals *globals) {
    globals->references++;
    gs_lock(&module->lock);
    gs_globals *before = module->globals;
    __atomic_store_n(&module->globals, globals, __ATOMIC_RELAXED);
    gs_unlock(&module->lock);
    gs_globals_drop(before);
}

/* With the lock, since another thread may link the module; nearly no module has any. */
char *gs_module_globals(gs_module *module) {
    if (__atomic_load_n(&module->globals, __ATOMIC_RELAXED) == NULL)
        return NULL;
    gs_lock(&module->lock);
    char *base = module->globals->base;
    gs_unlock(&module->lock);
    return base;
}

/* --- Life ------------------------------------------------------------------------------------------- */

static void free_code(gs_code *code) {
    for (uint32_t each = 0; each < code->format_count; each++)
        free(code->formats[each]);
    free(code->formats);
    free(code->gpu);
    free(code->block_costs);
    free(code);
}

static void free_entry_point(gs_entry_point *entry_point) {
    for (gs_code *each = entry_point->codes, *next; each != NULL; each = next) {
        next = each->next;
        free_code(each);
    }
    free(entry_point->arguments);
    free(entry_point->name);
    free(entry_point);
}

static void add_reapable(gs_reap_entry *reap_entry) {
    gs_lock(&reapable_lock);
    reap_entry->next = reapable;
    reapable = reap_entry;
    gs_unlock(&reapable_lock);
}

static void release_module(gs_object *object) {
    gs_module *module = (gs_module *)object;
    for (gs_entry_point *each = module->entry_points, *next; each != NULL; each = next) {
        next = each->next;
        free_entry_point(each);
    }
    gs_globals_drop(module->globals);
    gs_object_drop(module->context);
    gs_mutex_close(&module->lock);
    add_reapable(module->reap_entry);
}

GS_EXPORT void *gs_module_new(gs_context *context, gs_device *device, uint64_t key) {
    gs_reap_entry *reap_entry = calloc(1, sizeof *reap_entry);
    if (reap_entry == NULL)
        return NULL;
    reap_entry->key = key;
    gs_module *module = gs_object_new(GS_KIND_MODULE, release_module);
    if (module == NULL) {
        free(reap_entry);
        return NULL;
    }
    module->reap_entry = reap_entry;
    module->context = context;
    module->device = device;
    gs_object_hold(context);
    gs_mutex_open(&module->lock, GS_SHORT_LOCK);
    gs_object_complete(module, context);
    return module;
}

/* --- Initializers and finalizers, which run in no queue ---------------------------------------------- */

typedef struct single {
    gs_run_groups run;
    const gs_dispatch *dispatch;
    char *local;
    const char *name;
} single;

static void run_single(void *argument, uint64_t number) {
    const single *work = argument;
    work->run(work->dispatch, number, 1, work->local);
}

static void describe_single(const void *subject, char *text, size_t capacity) {
    snprintf(text, capacity, "the initializer or finalizer '%.100s'", ((const single *)subject)->name);
}

GS_EXPORT bool gs_module_run_once(gs_context *context, gs_run_groups run, const gs_dispatch *dispatch, char *local,
                                  const char *name) {
    single work = {run, dispatch, local, name};
    const gs_fault_scope scope = {context, describe_single, &work};
    const gs_code code = {.name = name};
    const gs_fault_scope *before = gs_fault_scope_enter(&scope);
    gs_watched_launch limited;
    gs_watchdog_begin(&limited, &code);
    bool is_done = gs_guard(run_single, &work, 0, NULL);
    gs_watchdog_end(&limited);
    gs_fault_scope_enter(before);
    return is_done;
}

/* The key of a module that nothing refers to any more, each told once; 0 if there is none. */
GS_EXPORT uint64_t gs_module_reap(void) {
    gs_lock(&reapable_lock);
    gs_reap_entry *taken = reapable;
    if (taken != NULL)
        reapable = taken->next;
    gs_unlock(&reapable_lock);
    uint64_t key = taken != NULL ? taken->key : 0;
    free(taken);
    return key;
}

/* --- What a module contains -------------------------------------------------------------------------- */

GS_EXPORT void *gs_entry_point_add(gs_module *module, const gs_entry_point_description *from) {
    gs_entry_point *made = calloc(1, sizeof *made);
    gs_argument *arguments = calloc(from->argument_count + 1, sizeof *arguments);
    char *name = strdup(from->name != NULL ? from->name : "");
    if (made == NULL || arguments == NULL || name == NULL) {
        free(made);
        free(arguments);
        free(name);
        return NULL;
    }
    made->name = name;
    if (from->argument_count > 0)
        memcpy(arguments, from->arguments, from->argument_count * sizeof *arguments);
    made->arguments = arguments;
    made->argument_count = from->argument_count;
    for (uint32_t each = 0; each < from->argument_count; each++)
        made->local_argument_count += arguments[each].kind == GS_ARGUMENT_LOCAL;
    made->block_bytes = from->block_bytes;
    memcpy(made->default_size, from->default_size, sizeof made->default_size);
    made->size_is_required = from->size_is_required;
    made->most_items = from->most_items;
    made->most_local_bytes = from->most_local_bytes;
    made->subgroup_size = from->subgroup_size;
    made->suits_large_groups = from->suits_large_groups;
    gs_lock(&module->lock);
    made->next = module->entry_points;
    module->entry_points = made;
    gs_unlock(&module->lock);
    return made;
}

static bool copy_formats(gs_code *code, const gs_code_description *from) {
    code->formats = calloc(from->format_count + 1, sizeof *code->formats);
    if (code->formats == NULL)
        return false;
    for (; code->format_count < from->format_count; code->format_count++)
        if ((code->formats[code->format_count] = strdup(from->formats[code->format_count])) == NULL)
            return false;
    return true;
}

/* With its parameters behind it. */
static bool copy_gpu_code(gs_code *code, const gs_gpu_code *from) {
    if (from == NULL)
        return true;
    const size_t bytes = from->parameter_count * sizeof(gs_parameter);
    gs_gpu_code *copy = malloc(sizeof *copy + bytes);
    if (copy == NULL)
        return false;
    *copy = *from;
    if (bytes > 0)
        memcpy(copy + 1, from->parameters, bytes);
    copy->parameters = (const gs_parameter *)(copy + 1);
    code->gpu = copy;
    return true;
}

static bool copy_costs(gs_code *code, const gs_code_description *from) {
    const size_t bytes = from->block_count * GS_BLOCK_COSTS * sizeof(uint64_t);
    if (bytes == 0)
        return true;
    code->block_costs = malloc(bytes);
    if (code->block_costs != NULL)
        memcpy(code->block_costs, from->block_costs, bytes);
    return code->block_costs != NULL;
}

static gs_variant variant_of(const gs_code_description *from) {
    return (gs_variant){.run = from->run,
                        .private_bytes = from->private_bytes,
                        .saved_bytes = from->saved_bytes,
                        .lines = from->lines,
                        .refills = from->refills};
}

/* Python calls these for one size of one kernel at a time; launches may look for code meanwhile. */
GS_EXPORT bool gs_code_add(gs_module *module, gs_entry_point *entry_point, const gs_code_description *from) {
    gs_code *code = calloc(1, sizeof *code);
    if (code == NULL || !copy_formats(code, from) || !copy_gpu_code(code, from->gpu) || !copy_costs(code, from)) {
        if (code != NULL)
            free_code(code);
        return false;
    }
    code->name = entry_point->name;
    code->variants[0] = variant_of(from);
    code->variant_count = 1;
    code->variants_to_come = from->variants_to_come;
    code->variants_are_cached = from->variants_are_cached;
    code->module = module;
    code->entry_point = entry_point;
    code->local_bytes = from->local_bytes;
    code->has_loops = from->has_loops;
    code->may_wait = from->may_wait;
    code->writes_back = from->writes_back;
    code->site_count = from->site_count;
    code->is_counting = from->is_counting;
    code->block_count = from->block_count;
    code->lanes = from->lanes;
    code->needs_memory = from->needs_memory;
    code->accesses = from->accesses;
    code->shadow_accesses = from->shadow_accesses;
    memcpy(code->group_size, from->group_size, sizeof code->group_size);
    gs_lock(&module->lock);
    code->next = entry_point->codes;
    entry_point->codes = code;
    gs_unlock(&module->lock);
    return true;
}

GS_EXPORT void gs_variant_add(gs_entry_point *entry_point, const gs_code_description *from) {
    gs_code *code = gs_find_code(entry_point, from->group_size);
    uint32_t count = code->variant_count;
    if (count == GS_MOST_VARIANTS)
        return;
    code->variants[count] = variant_of(from);
    code->variants_are_cached = from->variants_are_cached;
    code->variants_to_come = from->variants_to_come;
    code->variant_count = count + 1;
}

GS_EXPORT uint32_t gs_variant_count(const gs_entry_point *entry_point, const uint32_t size[3]) {
    const gs_code *code = gs_find_code(entry_point, size);
    return code != NULL ? code->variant_count : 0;
}

GS_EXPORT uint32_t gs_variant_preferred(const gs_entry_point *entry_point, const uint32_t size[3]) {
    const gs_code *code = gs_find_code(entry_point, size);
    return code != NULL ? code->preferred : 0;
}
