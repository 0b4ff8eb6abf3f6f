/* Where copies read and write memory: rows of regions, texels of images. */
#include <pthread.h>
#include <stdlib.h>

#include "capture/recorder/handles.h"
#include "capture/recorder/hooks.h"

/* The extent of an image in texels, and the size of one. */
typedef struct shape {
    uint32_t width, height, depth, texel_bytes;
} shape;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static gc_handles images;

/* Bytes in a texel; 0 for formats with several planes, which are not copied from memory, and unknown ones. */
static uint32_t texel_bytes(ze_image_format_layout_t layout) {
    switch (layout) {
    case ZE_IMAGE_FORMAT_LAYOUT_8:
    case ZE_IMAGE_FORMAT_LAYOUT_Y8:
    case ZE_IMAGE_FORMAT_LAYOUT_P8:
    case ZE_IMAGE_FORMAT_LAYOUT_400P:
    case ZE_IMAGE_FORMAT_LAYOUT_IA44:
    case ZE_IMAGE_FORMAT_LAYOUT_AI44:
        return 1;
    case ZE_IMAGE_FORMAT_LAYOUT_16:
    case ZE_IMAGE_FORMAT_LAYOUT_8_8:
    case ZE_IMAGE_FORMAT_LAYOUT_5_6_5:
    case ZE_IMAGE_FORMAT_LAYOUT_5_5_5_1:
    case ZE_IMAGE_FORMAT_LAYOUT_4_4_4_4:
    case ZE_IMAGE_FORMAT_LAYOUT_Y16:
    case ZE_IMAGE_FORMAT_LAYOUT_A8P8:
    case ZE_IMAGE_FORMAT_LAYOUT_YUYV:
    case ZE_IMAGE_FORMAT_LAYOUT_VYUY:
    case ZE_IMAGE_FORMAT_LAYOUT_YVYU:
    case ZE_IMAGE_FORMAT_LAYOUT_UYVY:
    case ZE_IMAGE_FORMAT_LAYOUT_YUY2:
        return 2;
    case ZE_IMAGE_FORMAT_LAYOUT_8_8_8:
        return 3;
    case ZE_IMAGE_FORMAT_LAYOUT_32:
    case ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8:
    case ZE_IMAGE_FORMAT_LAYOUT_16_16:
    case ZE_IMAGE_FORMAT_LAYOUT_10_10_10_2:
    case ZE_IMAGE_FORMAT_LAYOUT_11_11_10:
    case ZE_IMAGE_FORMAT_LAYOUT_AYUV:
    case ZE_IMAGE_FORMAT_LAYOUT_Y410:
    case ZE_IMAGE_FORMAT_LAYOUT_Y210:
    case ZE_IMAGE_FORMAT_LAYOUT_Y216:
        return 4;
    case ZE_IMAGE_FORMAT_LAYOUT_16_16_16:
        return 6;
    case ZE_IMAGE_FORMAT_LAYOUT_16_16_16_16:
    case ZE_IMAGE_FORMAT_LAYOUT_32_32:
    case ZE_IMAGE_FORMAT_LAYOUT_Y416:
        return 8;
    case ZE_IMAGE_FORMAT_LAYOUT_32_32_32:
        return 12;
    case ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32:
        return 16;
    default:
        return 0;
    }
}

/* The axes that an image's type has; layers of an array are on the axis behind them. */
static shape shape_of(const ze_image_desc_t *desc) {
    shape of = {(uint32_t)desc->width, 1, 1, texel_bytes(desc->format.layout)};
    uint32_t layers = desc->arraylevels > 0 ? desc->arraylevels : 1;
    if (desc->type == ZE_IMAGE_TYPE_1DARRAY)
        of.height = layers;
    if (desc->type == ZE_IMAGE_TYPE_2D || desc->type == ZE_IMAGE_TYPE_2DARRAY || desc->type == ZE_IMAGE_TYPE_3D)
        of.height = desc->height;
    if (desc->type == ZE_IMAGE_TYPE_2DARRAY)
        of.depth = layers;
    if (desc->type == ZE_IMAGE_TYPE_3D)
        of.depth = desc->depth;
    return of;
}

void gc_made_image(ze_result_t result, const ze_image_desc_t *desc, const ze_image_handle_t *found) {
    shape *made = result == ZE_RESULT_SUCCESS ? malloc(sizeof *made) : NULL;
    if (made == NULL)
        return;
    *made = shape_of(desc);
    pthread_mutex_lock(&lock);
    free(gc_handles_put(&images, *found, made));
    pthread_mutex_unlock(&lock);
}

void gc_unmade_image(ze_result_t result, ze_image_handle_t image) {
    if (result != ZE_RESULT_SUCCESS)
        return;
    pthread_mutex_lock(&lock);
    free(gc_handles_take(&images, image));
    pthread_mutex_unlock(&lock);
}

/* Rows of `width` bytes; 0 as a pitch means that they follow each other. */
static void add_rows(gc_extents *to, uintptr_t at, size_t width, size_t height, size_t depth, size_t pitch, size_t slice) {
    pitch = pitch != 0 ? pitch : width;
    slice = slice != 0 ? slice : pitch * height;
    for (size_t z = 0; z < depth; z++)
        for (size_t y = 0; y < height; y++)
            gc_extents_add(to, at + z * slice + y * pitch, width);
}

void gc_copies(gc_call *call, void *to, const void *from, size_t size) {
    gc_extents_add(&call->reads, (uintptr_t)from, size);
    gc_extents_add(&call->targets, (uintptr_t)to, size);
}

static void add_region(gc_extents *to, uintptr_t at, const ze_copy_region_t *region, uint32_t pitch, uint32_t slice) {
    if (at == 0 || !gc_readable(region, sizeof *region))
        return;
    size_t row = pitch != 0 ? pitch : region->width;
    size_t plane = slice != 0 ? slice : row * region->height;
    at += region->originX + region->originY * row + region->originZ * plane;
    add_rows(to, at, region->width, region->height > 0 ? region->height : 1, region->depth > 0 ? region->depth : 1, row,
             plane);
}

void gc_copies_region(gc_call *call, void *to, const ze_copy_region_t *to_region, uint32_t to_pitch, uint32_t to_slice,
                      const void *from, const ze_copy_region_t *from_region, uint32_t from_pitch, uint32_t from_slice) {
    add_region(&call->reads, (uintptr_t)from, from_region, from_pitch, from_slice);
    add_region(&call->targets, (uintptr_t)to, to_region, to_pitch, to_slice);
}

static void add_texels(gc_extents *to, ze_image_handle_t image, uintptr_t at, const ze_image_region_t *region,
                       uint32_t pitch, uint32_t slice) {
    pthread_mutex_lock(&lock);
    const shape *known = gc_handles_get(&images, image);
    shape of = known != NULL ? *known : (shape){0, 0, 0, 0};
    pthread_mutex_unlock(&lock);
    if (gc_readable(region, sizeof *region) && of.texel_bytes != 0)
        of = (shape){region->width, region->height > 0 ? region->height : 1, region->depth > 0 ? region->depth : 1,
                     of.texel_bytes};
    add_rows(to, at, (size_t)of.width * of.texel_bytes, of.height, of.depth, pitch, slice);
}

void gc_reads_texels(gc_call *call, ze_image_handle_t image, const void *from, const ze_image_region_t *region,
                     uint32_t pitch, uint32_t slice) {
    add_texels(&call->reads, image, (uintptr_t)from, region, pitch, slice);
}

void gc_writes_texels(gc_call *call, ze_image_handle_t image, void *to, const ze_image_region_t *region, uint32_t pitch,
                      uint32_t slice) {
    add_texels(&call->targets, image, (uintptr_t)to, region, pitch, slice);
}
