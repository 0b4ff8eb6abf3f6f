/* Kernels: arguments, group sizes, and the code that belongs to a size. */
#include "objects/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "check/host/host.h"
#include "images/image.h"
#include "metrics/counts.h"
#include "objects/device_kind.h"
#include "profile/profile.h"

/* --- Life ------------------------------------------------------------------------------------------- */

static void release_kernel(gs_object *object) {
    gs_kernel *kernel = (gs_kernel *)object;
    free(kernel->block);
    free(kernel->is_set);
    gs_object_drop(kernel->module);
}

GS_EXPORT void *gs_kernel_new(gs_module *module, gs_entry_point *entry_point) {
    char *block = calloc(1, entry_point->block_bytes + 1);
    bool *is_set = calloc(entry_point->argument_count + 1, sizeof *is_set);
    gs_kernel *kernel = block != NULL && is_set != NULL ? gs_object_new(GS_KIND_KERNEL, release_kernel) : NULL;
    if (kernel == NULL) {
        free(block);
        free(is_set);
        return NULL;
    }
    kernel->block = block;
    kernel->is_set = is_set;
    kernel->unset = entry_point->argument_count;
    kernel->entry_point = entry_point;
    kernel->module = module;
    gs_object_hold(module);
    gs_object_complete(kernel, module->context);
    return kernel;
}

/* Commands hold the module, not the kernel: a kernel may go while what was launched with it still runs. */
ze_result_t gs_zeKernelDestroy(ze_kernel_handle_t hKernel) {
    gs_object_close(hKernel);
    return ZE_RESULT_SUCCESS;
}

gs_kernel *gs_kernel_copy(const gs_kernel *kernel) {
    const gs_entry_point *entry_point = kernel->entry_point;
    gs_kernel *copy = malloc(sizeof *copy);
    char *block = malloc(entry_point->block_bytes + 1);
    bool *is_set = malloc(entry_point->argument_count + 1);
    if (copy == NULL || block == NULL || is_set == NULL) {
        free(copy);
        free(block);
        free(is_set);
        return NULL;
    }
    *copy = *kernel;
    copy->block = memcpy(block, kernel->block, entry_point->block_bytes + 1);
    copy->is_set = memcpy(is_set, kernel->is_set, entry_point->argument_count + 1);
    gs_object_hold(copy->module);
    return copy;
}

void gs_kernel_free_copy(gs_kernel *copy) {
    if (copy == NULL)
        return;
    release_kernel(&copy->object);
    free(copy);
}

/* For the Python half, which knows a kernel by its entry point. */
GS_EXPORT void *gs_kernel_entry_point(const gs_kernel *kernel) { return kernel->entry_point; }
GS_EXPORT const void *gs_kernel_block(const gs_kernel *kernel) { return kernel->block; }
GS_EXPORT bool gs_kernel_has_argument(const gs_kernel *kernel, uint32_t index) { return kernel->is_set[index]; }

/* The group size that was set, or the default. */
GS_EXPORT void gs_kernel_group_size(const gs_kernel *kernel, uint32_t size[3]) {
    const uint32_t *from = kernel->group_size[0] != 0 ? kernel->group_size : kernel->entry_point->default_size;
    memcpy(size, from, 3 * sizeof *size);
}

/* --- Arguments --------------------------------------------------------------------------------------- */

/* Programs pass a size_t where the kernel takes a uint, and a uint where it takes a size_t: of a value that is
 * too long the first bytes count, one that is too short is filled up with zeros. Pointers must be whole. */
static ze_result_t check_size(enum gs_function function, const gs_argument *argument, uint32_t index, size_t size) {
    if (size >= argument->size || (size > 0 && argument->kind == GS_ARGUMENT_VALUE))
        return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE, "%s: argument %u has %u bytes, not %zu",
                   gs_function_names[function], index, argument->size, size);
}

/* A local argument keeps its size in the block; launches put its place there. Whether all of them together fit is
 * known when the kernel is launched; more than 32 bits can say fits nowhere. */
static ze_result_t set_local(enum gs_function function, gs_kernel *kernel, uint32_t index, size_t size,
                             const void *value) {
    const gs_entry_point *entry_point = kernel->entry_point;
    if (value != NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "%s: argument %u is local memory: pass its size, and a null value",
                       gs_function_names[function], index);
    if (size == 0 || size > UINT32_MAX)
        return gs_fail(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
                       "%s: argument %u asks for %zu bytes of local memory; a group can have 1 to %llu",
                       gs_function_names[function], index, size, (unsigned long long)entry_point->most_local_bytes);
    const uint64_t bytes = size;
    memcpy(kernel->block + entry_point->arguments[index].offset, &bytes, sizeof bytes);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t set_value(enum gs_function function, gs_kernel *kernel, uint32_t index, size_t size,
                             const void *value) {
    const gs_argument *argument = &kernel->entry_point->arguments[index];
    ze_result_t result = check_size(function, argument, index, size);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (size < argument->size && gs_host_is_checked())
        gs_host_short_argument(function, kernel, index, size);
    memset(kernel->block + argument->offset, 0, argument->size);
    if (value != NULL)
        memcpy(kernel->block + argument->offset, value, size < argument->size ? size : argument->size);
    return ZE_RESULT_SUCCESS;
}

/* The object whose handle `value` points to, pinned; NULL for none. */
static ze_result_t read_handle(enum gs_function function, uint32_t index, size_t size, const void *value,
                               enum gs_kind kind, void **pinned) {
    void *handle = NULL;
    if (size != sizeof handle)
        return gs_fail(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE, "%s: argument %u is a handle of %zu bytes, not %zu",
                       gs_function_names[function], index, sizeof handle, size);
    if (value != NULL)
        memcpy(&handle, value, sizeof handle);
    if (handle == NULL || (*pinned = gs_pin(handle, kind)) != NULL)
        return ZE_RESULT_SUCCESS;
    return gs_fail_handle(function, "pArgValue", handle, kind);
}

/* Devices that are not CPUs have their images to themselves. */
static ze_result_t check_same_device(enum gs_function function, const gs_device *device, const gs_image *image, uint32_t index) {
    if (image->device == device || (image->device->kind == NULL && device->kind == NULL))
        return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: argument %u is an image of another device than the kernel's module",
                   gs_function_names[function], index);
}

/* The block gets the address of the image's view; without an image, that of one without texels. */
static ze_result_t set_image(enum gs_function function, gs_kernel *kernel, uint32_t index, size_t size,
                             const void *value) {
    GS_PIN void *pinned = NULL;
    ze_result_t result = read_handle(function, index, size, value, GS_KIND_IMAGE, &pinned);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    const gs_image *image = pinned;
    if (image != NULL && gs_format_planes(image->layout) > 1)
        return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT,
                       "%s: argument %u is an image of several planes; pass views of them (zeImageViewCreateExt)",
                       gs_function_names[function], index);
    if (image != NULL)
        result = check_same_device(function, kernel->module->device, image, index);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    const gs_image_view *view = image != NULL ? &image->view : &gs_no_image;
    memcpy(kernel->block + kernel->entry_point->arguments[index].offset, &view, sizeof view);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t set_sampler(enum gs_function function, gs_kernel *kernel, uint32_t index, size_t size,
                               const void *value) {
    GS_PIN void *pinned = NULL;
    ze_result_t result = read_handle(function, index, size, value, GS_KIND_SAMPLER, &pinned);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    uint64_t flags = pinned != NULL ? ((gs_sampler *)pinned)->flags : 0;
    memcpy(kernel->block + kernel->entry_point->arguments[index].offset, &flags, sizeof flags);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t set_by_kind(enum gs_function function, gs_kernel *kernel, uint32_t index, size_t size,
                               const void *value) {
    switch (kernel->entry_point->arguments[index].kind) {
    case GS_ARGUMENT_LOCAL: return set_local(function, kernel, index, size, value);
    case GS_ARGUMENT_IMAGE: return set_image(function, kernel, index, size, value);
    case GS_ARGUMENT_SAMPLER: return set_sampler(function, kernel, index, size, value);
    default: return set_value(function, kernel, index, size, value);
    }
}

ze_result_t gs_kernel_set_argument(enum gs_function function, gs_kernel *kernel, uint32_t index, size_t size,
                                   const void *value) {
    const gs_entry_point *entry_point = kernel->entry_point;
    if (index >= entry_point->argument_count)
        return gs_fail(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX, "%s: the kernel has %u arguments; there is no %u",
                       gs_function_names[function], entry_point->argument_count, index);
    ze_result_t result = set_by_kind(function, kernel, index, size, value);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    kernel->unset -= !kernel->is_set[index];
    kernel->is_set[index] = true;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeKernelSetArgumentValue(ze_kernel_handle_t hKernel, uint32_t argIndex, size_t argSize,
                                        const void *pArgValue) {
    return gs_kernel_set_argument(GS_FN_zeKernelSetArgumentValue, (gs_kernel *)hKernel, argIndex, argSize, pArgValue);
}

/* --- Group sizes ------------------------------------------------------------------------------------- */

static bool is_size(const uint32_t left[3], uint32_t x, uint32_t y, uint32_t z) {
    return left[0] == x && left[1] == y && left[2] == z;
}

static gs_code *find_code(const gs_entry_point *entry_point, const uint32_t size[3], bool is_counting) {
    gs_code *code = entry_point->codes;
    while (code != NULL &&
           (code->is_counting != is_counting || !is_size(code->group_size, size[0], size[1], size[2])))
        code = code->next;
    return code;
}

gs_code *gs_find_code(const gs_entry_point *entry_point, const uint32_t size[3]) {
    return find_code(entry_point, size, false);
}

static ze_result_t check_group_size(enum gs_function function, const gs_entry_point *entry_point, uint32_t x,
                                    uint32_t y, uint32_t z) {
    const char *name = gs_function_names[function];
    const uint32_t *required = entry_point->default_size;
    if (entry_point->size_is_required && !is_size(required, x, y, z))
        return gs_fail(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION,
                       "%s: the kernel requires groups of %u x %u x %u, not %u x %u x %u", name, required[0],
                       required[1], required[2], x, y, z);
    uint32_t most = entry_point->most_items;
    bool fits = x <= most && y <= most && z <= most && (uint64_t)x * y * z <= most;
    if (x == 0 || y == 0 || z == 0 || !fits)
        return gs_fail(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION,
                       "%s: groups of %u x %u x %u; each must be at least 1 and the product at most %u", name, x, y, z,
                       most);
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_kernel_set_group_size(enum gs_function function, gs_kernel *kernel, uint32_t x, uint32_t y, uint32_t z) {
    if (is_size(kernel->group_size, x, y, z))
        return ZE_RESULT_SUCCESS;
    ze_result_t result = check_group_size(function, kernel->entry_point, x, y, z);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    kernel->group_size[0] = x;
    kernel->group_size[1] = y;
    kernel->group_size[2] = z;
    __atomic_store_n(&kernel->code, NULL, __ATOMIC_RELAXED);
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeKernelSetGroupSize(ze_kernel_handle_t hKernel, uint32_t groupSizeX, uint32_t groupSizeY,
                                    uint32_t groupSizeZ) {
    return gs_kernel_set_group_size(GS_FN_zeKernelSetGroupSize, (gs_kernel *)hKernel, groupSizeX, groupSizeY,
                                    groupSizeZ);
}

/* Enough work-items to fill vectors many times over, few enough for many groups. Of a long line there are many groups even
 * if they are larger, and each has its cost. */
enum { SUGGESTED_ITEMS = 256, SUGGESTED_OF_LONG_LINE = 1024, LONG_LINE = 1 << 20 };

static bool is_long_line(const gs_entry_point *entry_point, uint32_t x, uint32_t y, uint32_t z) {
    return x >= LONG_LINE && x % SUGGESTED_OF_LONG_LINE == 0 && y == 1 && z == 1 && entry_point->suits_large_groups &&
           entry_point->most_items >= SUGGESTED_OF_LONG_LINE;
}

/* The largest divisor up to a limit, rather one that is a multiple of something. */
static uint32_t best_divisor(uint32_t number, uint32_t most, uint32_t multiple) {
    uint32_t best = 1, best_multiple = 0;
    for (uint32_t each = 1; each <= most && each <= number; each++) {
        if (number % each != 0)
            continue;
        best = each;
        if (multiple > 0 && each % multiple == 0)
            best_multiple = each;
    }
    return best_multiple > 0 ? best_multiple : best;
}

/* A size that divides the range, so that no work-item is left over. Whole vectors along the first axis come before
 * all else; then the group grows. SYCL's runtime asks before each launch of a range without a group size. */
ze_result_t gs_zeKernelSuggestGroupSize(ze_kernel_handle_t hKernel, uint32_t globalSizeX, uint32_t globalSizeY,
                                        uint32_t globalSizeZ, uint32_t *groupSizeX, uint32_t *groupSizeY,
                                        uint32_t *groupSizeZ) {
    const gs_entry_point *entry_point = ((gs_kernel *)hKernel)->entry_point;
    if (globalSizeX == 0 || globalSizeY == 0 || globalSizeZ == 0)
        return gs_fail(ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION,
                       "zeKernelSuggestGroupSize: a range of %u x %u x %u has no work-items", globalSizeX, globalSizeY,
                       globalSizeZ);
    uint32_t size[3];
    if (entry_point->size_is_required) {
        memcpy(size, entry_point->default_size, sizeof size);
    } else if (is_long_line(entry_point, globalSizeX, globalSizeY, globalSizeZ)) {
        size[0] = SUGGESTED_OF_LONG_LINE;
        size[1] = size[2] = 1;
    } else {
        size[0] = best_divisor(globalSizeX, SUGGESTED_ITEMS, entry_point->subgroup_size);
        size[1] = best_divisor(globalSizeY, SUGGESTED_ITEMS / size[0], 1);
        size[2] = best_divisor(globalSizeZ, SUGGESTED_ITEMS / (size[0] * size[1]), 1);
    }
    *groupSizeX = size[0];
    *groupSizeY = size[1];
    *groupSizeZ = size[2];
    return ZE_RESULT_SUCCESS;
}

/* Code for a size that was used before is found here; else Python compiles it. */
static ze_result_t find_or_compile(enum gs_function function, gs_kernel *kernel, bool is_counting, gs_code **found) {
    uint32_t size[3];
    gs_kernel_group_size(kernel, size);
    *found = find_code(kernel->entry_point, size, is_counting);
    if (*found != NULL)
        return ZE_RESULT_SUCCESS;
    uint64_t start = gs_metrics_are_active() || gs_profile_is_on() ? gs_clock(CLOCK_MONOTONIC) : 0;
    ze_result_t result = is_counting ? gs_compile_counting(function, kernel->entry_point, size)
                                     : gs_compile_entry_point(function, kernel->entry_point, size);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (start != 0) {
        GS_COUNT_FOR(kernel->module->device, compiled, 1);
        GS_COUNT_FOR(kernel->module->device, compile_time, gs_clock(CLOCK_MONOTONIC) - start);
        gs_profile_compiled(start, is_counting);
    }
    *found = find_code(kernel->entry_point, size, is_counting);
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_kernel_prepare(enum gs_function function, gs_kernel *kernel, gs_code **found) {
    *found = __atomic_load_n(&kernel->code, __ATOMIC_ACQUIRE); /* another thread may have had it compiled just now */
    if (*found != NULL)
        return ZE_RESULT_SUCCESS;
    ze_result_t result = find_or_compile(function, kernel, false, found);
    if (result == ZE_RESULT_SUCCESS)
        __atomic_store_n(&kernel->code, *found, __ATOMIC_RELEASE);
    return result;
}

ze_result_t gs_kernel_prepare_counting(enum gs_function function, gs_kernel *kernel, gs_code **found) {
    return find_or_compile(function, kernel, true, found);
}

/* Each group of a cooperative launch has a thread, and as many threads as the device has CPUs can run. */
ze_result_t gs_zeKernelSuggestMaxCooperativeGroupCount(ze_kernel_handle_t hKernel, uint32_t *totalGroupCount) {
    gs_kernel *kernel = (gs_kernel *)hKernel;
    const gs_device *device = kernel->module->device;
    if (device->kind == NULL) {
        *totalGroupCount = gs_thread_pool_width(device->pool);
        return ZE_RESULT_SUCCESS;
    }
    gs_code *code;
    ze_result_t result = gs_kernel_prepare(GS_FN_zeKernelSuggestMaxCooperativeGroupCount, kernel, &code);
    if (result == ZE_RESULT_SUCCESS)
        *totalGroupCount = device->kind->most_groups(device, code, code->local_bytes);
    return result;
}

/* --- The rest of a kernel's state -------------------------------------------------------------------- */

ze_result_t gs_zeKernelSetGlobalOffsetExp(ze_kernel_handle_t hKernel, uint32_t offsetX, uint32_t offsetY,
                                          uint32_t offsetZ) {
    gs_kernel *kernel = (gs_kernel *)hKernel;
    kernel->global_offset[0] = offsetX;
    kernel->global_offset[1] = offsetY;
    kernel->global_offset[2] = offsetZ;
    return ZE_RESULT_SUCCESS;
}

/* A CPU reaches every allocation; the flags are kept because they can be asked for. */
ze_result_t gs_zeKernelSetIndirectAccess(ze_kernel_handle_t hKernel, ze_kernel_indirect_access_flags_t flags) {
    ((gs_kernel *)hKernel)->indirect_access = flags;
    return ZE_RESULT_SUCCESS;
}

/* Local memory and data share a CPU's caches as they are used: there is nothing to divide. */
ze_result_t gs_zeKernelSetCacheConfig(ze_kernel_handle_t hKernel, ze_cache_config_flags_t flags) {
    (void)hKernel;
    (void)flags;
    return ZE_RESULT_SUCCESS;
}

/* Unsupported hints are ignored, says the specification, and none is supported. */
ze_result_t gs_zeKernelSchedulingHintExp(ze_kernel_handle_t hKernel, ze_scheduling_hint_exp_desc_t *pHint) {
    (void)hKernel;
    (void)pHint;
    return ZE_RESULT_SUCCESS;
}
