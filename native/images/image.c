/* Images and views of images: creating, destroying, and what can be asked of them. */
#include "images/image.h"

#include <string.h>

#include "memory/memory.h"
#include "objects/device_kind.h"

static char no_texels[16]; /* what code reads that is given no image: it loads before it knows */
const gs_image_view gs_no_image = {.texels = no_texels, .texel_bytes = 1, .samples = 1};

/* --- Geometry ---------------------------------------------------------------------------------------- */

static bool has_height(ze_image_type_t type) {
    return type == ZE_IMAGE_TYPE_2D || type == ZE_IMAGE_TYPE_2DARRAY || type == ZE_IMAGE_TYPE_3D;
}

static bool is_array(ze_image_type_t type) {
    return type == ZE_IMAGE_TYPE_1DARRAY || type == ZE_IMAGE_TYPE_2DARRAY;
}

static uint64_t largest_extent(ze_image_type_t type) {
    switch (type) {
    case ZE_IMAGE_TYPE_BUFFER: return GS_IMAGE_MAX_BUFFER;
    case ZE_IMAGE_TYPE_3D: return GS_IMAGE_MAX_3D;
    case ZE_IMAGE_TYPE_2D:
    case ZE_IMAGE_TYPE_2DARRAY: return GS_IMAGE_MAX_2D;
    default: return GS_IMAGE_MAX_1D;
    }
}

static ze_result_t check_extent(enum gs_function function, const char *name, uint64_t extent, uint64_t most) {
    if (extent == 0)
        return gs_fail(ZE_RESULT_ERROR_INVALID_SIZE, "%s: %s is zero", gs_function_names[function], name);
    if (extent > most)
        return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "%s: %s is %llu, the most is %llu (zeDeviceGetImageProperties)",
                       gs_function_names[function], name, (unsigned long long)extent, (unsigned long long)most);
    return ZE_RESULT_SUCCESS;
}

/* Sets the view's extents. The width of a buffer is given in bytes. */
static ze_result_t read_extents(enum gs_function function, const ze_image_desc_t *desc, gs_image_view *view) {
    uint64_t most = largest_extent(desc->type);
    ze_result_t result = check_extent(function, "desc->width", desc->width, most);
    view->width = (uint32_t)desc->width;
    view->height = has_height(desc->type) ? desc->height : 1;
    view->depth = desc->type == ZE_IMAGE_TYPE_3D ? desc->depth : 1;
    view->layers = is_array(desc->type) ? desc->arraylevels : 0;
    if (desc->type == ZE_IMAGE_TYPE_BUFFER && result == ZE_RESULT_SUCCESS) {
        view->width = (uint32_t)(desc->width / view->texel_bytes);
        result = check_extent(function, "the number of whole texels in desc->width bytes", view->width, most);
    }
    if (result == ZE_RESULT_SUCCESS)
        result = check_extent(function, "desc->height", view->height, most);
    if (result == ZE_RESULT_SUCCESS)
        result = check_extent(function, "desc->depth", view->depth, most);
    if (result == ZE_RESULT_SUCCESS && is_array(desc->type))
        result = check_extent(function, "desc->arraylevels", view->layers, GS_IMAGE_MAX_LAYERS);
    if (result == ZE_RESULT_SUCCESS && desc->miplevels > 0)
        result = gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: desc->miplevels must be 0", gs_function_names[function]);
    return result;
}

static uint64_t slices_of(const gs_image_view *view) {
    return (uint64_t)view->depth * (view->layers > 0 ? view->layers : 1);
}

/* Pitches of texels that follow each other without gaps. */
static void pack(gs_image_view *view) {
    view->row_pitch = (uint64_t)view->width * view->texel_bytes;
    view->slice_pitch = view->row_pitch * view->height;
}

/* Planes lie one behind the other in each layer; the image itself has no texels that code could read. */
static void pack_planes(ze_image_format_layout_t layout, gs_image_view *view) {
    view->row_pitch = view->width * gs_format_plane(layout, view->width, view->height, 0).texel_bytes;
    view->slice_pitch = gs_format_plane(layout, view->width, view->height, gs_format_planes(layout)).offset;
}

/* --- Descriptors ------------------------------------------------------------------------------------- */

static ze_result_t unsupported(enum gs_function function, const ze_image_desc_t *desc) {
    return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT,
                   "%s: there are no images of type %d with layout %d and format type %d (docs/reference/images.md lists the formats)",
                   gs_function_names[function], desc->type, desc->format.layout, desc->format.type);
}

/* Fills in everything but where the texels are and how far apart. */
static ze_result_t describe(enum gs_function function, const ze_image_desc_t *desc, gs_image_view *view) {
    ze_result_t result = gs_format_check(function, &desc->format);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    const ze_srgb_ext_desc_t *srgb = gs_find_next(desc->pNext, ZE_STRUCTURE_TYPE_SRGB_EXT_DESC);
    bool is_srgb = srgb != NULL && srgb->sRGB, is_planar = gs_format_planes(desc->format.layout) > 1;
    bool can_be_planar = desc->type == ZE_IMAGE_TYPE_2D || desc->type == ZE_IMAGE_TYPE_2DARRAY;
    if (is_planar ? is_srgb || !can_be_planar : !gs_format_describe(&desc->format, is_srgb, view))
        return unsupported(function, desc);
    return read_extents(function, desc, view);
}

/* A bindless image that is to be sampled brings its sampler along. */
static ze_result_t read_bindless(enum gs_function function, const ze_image_desc_t *desc, gs_image_view *view) {
    const ze_image_bindless_exp_desc_t *bindless = gs_find_next(desc->pNext, ZE_STRUCTURE_TYPE_BINDLESS_IMAGE_EXP_DESC);
    if (bindless == NULL || !(bindless->flags & ZE_IMAGE_BINDLESS_EXP_FLAG_SAMPLED_IMAGE))
        return ZE_RESULT_SUCCESS;
    const ze_sampler_desc_t *sampler = gs_find_next(desc->pNext, ZE_STRUCTURE_TYPE_SAMPLER_DESC);
    if (sampler == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "%s: a bindless sampled image needs a ze_sampler_desc_t in its pNext chain",
                       gs_function_names[function]);
    if ((uint32_t)sampler->addressMode > ZE_SAMPLER_ADDRESS_MODE_MIRROR ||
        (uint32_t)sampler->filterMode > ZE_SAMPLER_FILTER_MODE_LINEAR)
        return gs_fail_enum(function, "the chained sampler's mode", sampler->addressMode);
    view->sampler = gs_sampler_flags(sampler);
    return ZE_RESULT_SUCCESS;
}

/* --- Pitched images: texels in memory of the program ------------------------------------------------- */

static ze_result_t check_pitch(enum gs_function function, const char *name, uint64_t pitch, uint64_t least) {
    if (pitch >= least && pitch % GS_IMAGE_PITCH_ALIGNMENT == 0)
        return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_ERROR_INVALID_SIZE, "%s: %s is %llu; it must be a multiple of %d, and not less than %llu",
                   gs_function_names[function], name, (unsigned long long)pitch, GS_IMAGE_PITCH_ALIGNMENT,
                   (unsigned long long)least);
}

static ze_result_t read_pitches(enum gs_function function, const ze_image_desc_t *desc, gs_image_view *view) {
    const ze_custom_pitch_exp_desc_t *custom = gs_find_next(desc->pNext, ZE_STRUCTURE_TYPE_CUSTOM_PITCH_EXP_DESC);
    uint64_t row = (uint64_t)view->width * view->texel_bytes;
    if (has_height(desc->type) || is_array(desc->type))
        row = (row + GS_IMAGE_ROW_ALIGNMENT - 1) / GS_IMAGE_ROW_ALIGNMENT * GS_IMAGE_ROW_ALIGNMENT;
    view->row_pitch = custom != NULL ? custom->rowPitch : row;
    view->slice_pitch = custom != NULL && custom->slicePitch > 0 ? custom->slicePitch : view->row_pitch * view->height;
    if (custom == NULL)
        return ZE_RESULT_SUCCESS;
    ze_result_t result =
        check_pitch(function, "rowPitch", view->row_pitch, (uint64_t)view->width * view->texel_bytes);
    if (result == ZE_RESULT_SUCCESS)
        result = check_pitch(function, "slicePitch", view->slice_pitch, view->row_pitch * view->height);
    return result;
}

/* The bytes from the first texel to the end of the last. */
static uint64_t extent_of(const gs_image_view *view) {
    return (slices_of(view) - 1) * view->slice_pitch + (uint64_t)(view->height - 1) * view->row_pitch +
           (uint64_t)view->width * view->texel_bytes;
}

/* The CPU reaches all memory but that of other devices, and those reach what they have made. */
static ze_result_t check_reach(enum gs_function function, const gs_device *device, const void *memory) {
    gs_memory_lock();
    const gs_allocation *found = gs_allocation_of_any(memory);
    bool is_of_kind = found != NULL && found->owner != NULL;
    gs_memory_unlock();
    if (device->kind != NULL ? is_of_kind : gs_memory_only_of(memory) == NULL)
        return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                   "%s: the device does not reach this memory; allocate it for the device",
                   gs_function_names[function]);
}

static ze_result_t use_memory(enum gs_function function, const ze_image_desc_t *desc, void *memory, gs_image *image) {
    if (gs_format_planes(desc->format.layout) > 1)
        return unsupported(function, desc);
    ze_result_t result = read_pitches(function, desc, &image->view);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    image->size = extent_of(&image->view);
    image->view.texels = memory;
    result = gs_memory_check_range(function, "ptr of ze_image_pitched_exp_desc_t", memory, image->size);
    return result == ZE_RESULT_SUCCESS ? check_reach(function, image->device, memory) : result;
}

/* --- Life -------------------------------------------------------------------------------------------- */

/* Code that still looks at the view of an image that is gone finds no texels in it. */
static void release_image(gs_object *object) {
    gs_image *image = (gs_image *)object;
    image->view = gs_no_image;
    if (image->on_device != NULL)
        gs_zeMemFree((ze_context_handle_t)image->context, image->on_device);
    image->on_device = NULL;
    if (image->own != NULL)
        gs_zeMemFree((ze_context_handle_t)image->context, image->own);
    if (image->viewed != NULL)
        gs_object_drop(image->viewed);
    gs_object_drop(image->context);
}

static ze_result_t allocate_device(const gs_image *image, const void *chain, uint64_t size, void **memory) {
    const ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, .pNext = chain};
    return gs_zeMemAllocDevice((ze_context_handle_t)image->context, &desc, size, 0, (ze_device_handle_t)image->device, memory);
}

/* Code of another device than the CPU reads the view there. */
static ze_result_t place_view(gs_image *image) {
    void *memory;
    if (image->device->kind == NULL)
        return ZE_RESULT_SUCCESS;
    ze_result_t result = allocate_device(image, NULL, sizeof image->view, &memory);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    image->on_device = memory;
    if (image->device->kind->transfer(image->device, memory, &image->view, sizeof image->view))
        return ZE_RESULT_SUCCESS;
    gs_zeMemFree((ze_context_handle_t)image->context, memory);
    return gs_fail(ZE_RESULT_ERROR_DEVICE_LOST, "an image could not be described to the device");
}

/* How the texels of an image of the driver's own lie. Those of an imported one lie as their maker says, in a
 * ze_custom_pitch_exp_desc_t, or without gaps. */
static ze_result_t lay_out(enum gs_function function, const ze_image_desc_t *desc, gs_image *image) {
    bool is_planar = gs_format_planes(desc->format.layout) > 1;
    bool is_imported = gs_find_next(desc->pNext, ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD) != NULL;
    if (is_imported && gs_find_next(desc->pNext, ZE_STRUCTURE_TYPE_CUSTOM_PITCH_EXP_DESC) != NULL) {
        if (is_planar)
            return unsupported(function, desc);
        ze_result_t result = read_pitches(function, desc, &image->view);
        image->size = extent_of(&image->view);
        return result;
    }
    if (is_planar)
        pack_planes(desc->format.layout, &image->view);
    else
        pack(&image->view);
    image->size = image->view.slice_pitch * slices_of(&image->view);
    return ZE_RESULT_SUCCESS;
}

/* Texels are device memory like any other. Descriptors of external memory in the chain mean the same here. */
static ze_result_t allocate(enum gs_function function, const ze_image_desc_t *desc, gs_image *image) {
    ze_result_t result = lay_out(function, desc, image);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    void *texels;
    result = allocate_device(image, desc->pNext, image->size, &texels);
    if (result == ZE_RESULT_SUCCESS)
        image->own = image->view.texels = texels;
    return result;
}

/* Makes a handle of a filled-in image. */
static ze_result_t publish(gs_image *filled, ze_image_handle_t *handle) {
    ze_result_t result = place_view(filled);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_image *image = gs_object_new(GS_KIND_IMAGE, release_image);
    if (image == NULL) {
        if (filled->on_device != NULL)
            gs_zeMemFree((ze_context_handle_t)filled->context, filled->on_device);
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another image");
    }
    const size_t head = sizeof(gs_object);
    memcpy((char *)image + head, (const char *)filled + head, sizeof *image - head);
    gs_object_hold(image->context);
    if (image->viewed != NULL)
        gs_object_hold(image->viewed);
    gs_object_complete(image, image->context);
    *handle = (ze_image_handle_t)image;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeImageCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice, const ze_image_desc_t *desc,
                             ze_image_handle_t *phImage) {
    const enum gs_function function = GS_FN_zeImageCreate;
    gs_image image = {.context = (gs_context *)hContext, .device = (gs_device *)hDevice, .type = desc->type,
                      .layout = desc->format.layout};
    ze_result_t result = gs_context_check_device(function, image.context, image.device);
    if (result == ZE_RESULT_SUCCESS)
        result = describe(function, desc, &image.view);
    if (result == ZE_RESULT_SUCCESS)
        result = read_bindless(function, desc, &image.view);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    const ze_image_pitched_exp_desc_t *pitched = gs_find_next(desc->pNext, ZE_STRUCTURE_TYPE_PITCHED_IMAGE_EXP_DESC);
    result = pitched != NULL ? use_memory(function, desc, pitched->ptr, &image) : allocate(function, desc, &image);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    result = publish(&image, phImage);
    if (result != ZE_RESULT_SUCCESS && image.own != NULL)
        gs_zeMemFree(hContext, image.own);
    return result;
}

/* As with memory: what was given to queues before still finds the image as it was. */
ze_result_t gs_zeImageDestroy(ze_image_handle_t hImage) {
    gs_image *image = (gs_image *)hImage;
    gs_object_hold(image);
    if (gs_object_close(image))
        gs_memory_drop_later(image->context, &image->object, &image->deferred);
    else
        gs_object_drop(image);
    return ZE_RESULT_SUCCESS;
}

/* --- Views ------------------------------------------------------------------------------------------- */

static ze_result_t too_large(enum gs_function function) {
    return gs_fail(ZE_RESULT_ERROR_INVALID_SIZE, "%s: the view reaches over the edges of the image",
                   gs_function_names[function]);
}

/* A view of one plane; the image has several, or its only one is asked for. */
static ze_result_t view_plane(enum gs_function function, const gs_image *of, uint32_t index, gs_image_view *view) {
    if (index >= gs_format_planes(of->layout))
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: the image has no plane %u; it has %u",
                       gs_function_names[function], index, gs_format_planes(of->layout));
    gs_plane plane = gs_format_plane(of->layout, of->view.width, of->view.height, index);
    if (view->texel_bytes != plane.texel_bytes)
        return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT,
                       "%s: plane %u has %u bytes for each texel, the format of the view %u",
                       gs_function_names[function], index, plane.texel_bytes, view->texel_bytes);
    if (view->width > plane.width || view->height > plane.height || slices_of(view) > slices_of(&of->view))
        return too_large(function);
    view->texels = of->view.texels + plane.offset;
    view->row_pitch = (uint64_t)plane.width * plane.texel_bytes;
    view->slice_pitch = of->view.slice_pitch;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t view_whole(enum gs_function function, const gs_image *of, ze_image_format_layout_t layout,
                              gs_image_view *view) {
    bool was_planar = gs_format_planes(of->layout) > 1, is_planar = gs_format_planes(layout) > 1;
    if (was_planar || is_planar ? layout != of->layout : view->texel_bytes != of->view.texel_bytes)
        return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT,
                       "%s: the view's texels must have the size of the image's (of several planes, view one: "
                       "ze_image_view_planar_ext_desc_t)",
                       gs_function_names[function]);
    const gs_image_view *base = &of->view;
    bool fits = view->width <= base->width && view->height <= base->height && slices_of(view) <= slices_of(base);
    if (is_planar)
        fits = view->width == base->width && view->height == base->height && slices_of(view) <= slices_of(base);
    if (!fits)
        return too_large(function);
    view->texels = base->texels;
    view->row_pitch = base->row_pitch;
    view->slice_pitch = base->slice_pitch;
    return ZE_RESULT_SUCCESS;
}

/* The index of the plane that is asked for, or NULL. */
static const uint32_t *plane_index(const ze_image_desc_t *desc) {
    const ze_image_view_planar_ext_desc_t *plane = gs_find_next(desc->pNext, ZE_STRUCTURE_TYPE_IMAGE_VIEW_PLANAR_EXT_DESC);
    const ze_image_view_planar_exp_desc_t *older = gs_find_next(desc->pNext, ZE_STRUCTURE_TYPE_IMAGE_VIEW_PLANAR_EXP_DESC);
    return plane != NULL ? &plane->planeIndex : older != NULL ? &older->planeIndex : NULL;
}

static ze_result_t create_view(enum gs_function function, gs_context *context, gs_device *device,
                               const ze_image_desc_t *desc, gs_image *of, ze_image_handle_t *handle) {
    gs_image image = {.context = context, .device = device, .viewed = of, .type = desc->type,
                      .layout = desc->format.layout};
    ze_result_t result = gs_context_check_device(function, context, device);
    if (result == ZE_RESULT_SUCCESS && context != of->context)
        result = gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: the image belongs to another context",
                         gs_function_names[function]);
    if (result == ZE_RESULT_SUCCESS && device != of->device && (device->kind != NULL || of->device->kind != NULL))
        result = gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: the image is on another device",
                         gs_function_names[function]);
    if (result == ZE_RESULT_SUCCESS)
        result = describe(function, desc, &image.view);
    if (result == ZE_RESULT_SUCCESS)
        result = read_bindless(function, desc, &image.view);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    const uint32_t *plane = plane_index(desc);
    bool of_plane = plane != NULL && (*plane > 0 || gs_format_planes(of->layout) > 1);
    result = of_plane ? view_plane(function, of, *plane, &image.view)
                      : view_whole(function, of, image.layout, &image.view);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    image.size = gs_format_planes(image.layout) > 1 ? image.view.slice_pitch * slices_of(&image.view) : extent_of(&image.view);
    return publish(&image, handle);
}

ze_result_t gs_zeImageViewCreateExt(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                    const ze_image_desc_t *desc, ze_image_handle_t hImage,
                                    ze_image_handle_t *phImageView) {
    return create_view(GS_FN_zeImageViewCreateExt, (gs_context *)hContext, (gs_device *)hDevice, desc,
                       (gs_image *)hImage, phImageView);
}

ze_result_t gs_zeImageViewCreateExp(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                    const ze_image_desc_t *desc, ze_image_handle_t hImage,
                                    ze_image_handle_t *phImageView) {
    return create_view(GS_FN_zeImageViewCreateExp, (gs_context *)hContext, (gs_device *)hDevice, desc,
                       (gs_image *)hImage, phImageView);
}

/* --- What can be asked ------------------------------------------------------------------------------- */

/* Linear filtering is for channels that are read as floats; planes can be sampled through their views only. */
static ze_image_sampler_filter_flags_t filters_of(const gs_image_view *view) {
    if (view->texel_bytes == 0)
        return 0;
    bool is_integer = view->kind == GS_TEXEL_UINT || view->kind == GS_TEXEL_SINT;
    return ZE_IMAGE_SAMPLER_FILTER_FLAG_POINT | (is_integer ? 0 : ZE_IMAGE_SAMPLER_FILTER_FLAG_LINEAR);
}

/* "Not supported" is an answer here, not an error. */
ze_result_t gs_zeImageGetProperties(ze_device_handle_t hDevice, const ze_image_desc_t *desc,
                                    ze_image_properties_t *pImageProperties) {
    (void)hDevice;
    gs_image_view view = {0};
    gs_error before;
    gs_error_save(&before);
    ze_result_t result = describe(GS_FN_zeImageGetProperties, desc, &view);
    if (result == ZE_RESULT_ERROR_INVALID_ENUMERATION)
        return result;
    gs_error_restore(&before);
    bool supported = result == ZE_RESULT_SUCCESS;
    pImageProperties->samplerFilterFlags = supported ? filters_of(&view) : 0;
    if (pImageProperties->stype != ZE_STRUCTURE_TYPE_IMAGE_PROPERTIES)
        return ZE_RESULT_SUCCESS; /* the caller did not initialise it: its pNext means nothing */
    ze_image_format_support_ext_properties_t *support = (ze_image_format_support_ext_properties_t *)gs_find_next(
        pImageProperties->pNext, ZE_STRUCTURE_TYPE_IMAGE_FORMAT_SUPPORT_EXT_PROPERTIES);
    if (support != NULL)
        support->supported = supported;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeImageGetMemoryPropertiesExp(ze_image_handle_t hImage,
                                             ze_image_memory_properties_exp_t *pMemoryProperties) {
    const gs_image *image = (gs_image *)hImage;
    pMemoryProperties->size = image->size;
    pMemoryProperties->rowPitch = image->view.row_pitch;
    pMemoryProperties->slicePitch = image->view.slice_pitch;
    return ZE_RESULT_SUCCESS;
}

/* The identifier is that of the memory: an image and its views have the same. */
ze_result_t gs_zeImageGetAllocPropertiesExt(ze_context_handle_t hContext, ze_image_handle_t hImage,
                                            ze_image_allocation_ext_properties_t *pImageAllocProperties) {
    const gs_image *image = (gs_image *)hImage;
    gs_memory_lock();
    const gs_allocation *found = gs_allocation_at((gs_context *)hContext, image->view.texels);
    pImageAllocProperties->id = found != NULL ? found->id : 0;
    gs_memory_unlock();
    if (pImageAllocProperties->stype != ZE_STRUCTURE_TYPE_IMAGE_ALLOCATION_EXT_PROPERTIES ||
        pImageAllocProperties->pNext == NULL)
        return ZE_RESULT_SUCCESS;
    return gs_call_python(GS_FN_zeImageGetAllocPropertiesExt, "uuu",
                          (const gs_word[]){{.p = hContext}, {.p = hImage}, {.p = pImageAllocProperties}});
}

/* The allocation that holds the texels of an image or of what it views; NULL if that is memory of the program. */
GS_EXPORT const void *gs_image_memory(const gs_image *image) {
    while (image->viewed != NULL)
        image = image->viewed;
    return image->own;
}

/* The address of the view is what a kernel needs to use the image without its being an argument. */
ze_result_t gs_zeImageGetDeviceOffsetExp(ze_image_handle_t hImage, uint64_t *pDeviceOffset) {
    const gs_image *image = (gs_image *)hImage;
    *pDeviceOffset = image->on_device != NULL ? (uintptr_t)image->on_device : (uintptr_t)&image->view;
    return ZE_RESULT_SUCCESS;
}
