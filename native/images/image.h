/* Images: blocks of texels, and what compiled code knows of them. docs/reference/images.md is about both sides of it. */
#ifndef GS_IMAGES_IMAGE_H
#define GS_IMAGES_IMAGE_H

#include <stddef.h>

#include "generated/shared.h"
#include "memory/memory.h"

/* In place of 0 to 3 (r g b a), for a channel of the texel that a kernel cannot write: it becomes zero. */
enum { GS_UNWRITTEN = 4 };

/* Of pitched memory, when the program does not say another pitch. */
enum { GS_IMAGE_ROW_ALIGNMENT = 64 };

typedef struct gs_image {
    gs_object object;
    gs_context *context; /* held */
    gs_device *device;
    struct gs_image *viewed; /* the image that a view is of, held; NULL: this is no view */
    char *own;               /* texels to free with the image; NULL: they belong to somebody else */
    uint64_t size;           /* bytes from the first texel to the end of the last */
    ze_image_type_t type;
    ze_image_format_layout_t layout;
    gs_deferred deferred;
    gs_image_view view;
    char *on_device; /* a copy of the view in the memory of a device that is not the CPU's, or NULL */
} gs_image;

/* What a kernel gets that was given no image: it has no texels. */
extern const gs_image_view gs_no_image;

/* The texels that a kernel reaches through a view which an argument block names. */
static inline gs_bounds gs_image_bounds(const gs_image_view *view) {
    if (view == NULL || view == &gs_no_image)
        return (gs_bounds){0, 0};
    const gs_image *of = (const gs_image *)((const char *)view - offsetof(gs_image, view));
    return (gs_bounds){(uintptr_t)view->texels, (uintptr_t)view->texels + of->size};
}

/* Where a device that is not the CPU's finds the view which an argument block names. NULL: there is no image, or none any
 * more. */
static inline char *gs_image_on_device(const gs_image_view *view) {
    return view == &gs_no_image ? NULL : ((const gs_image *)((const char *)view - offsetof(gs_image, view)))->on_device;
}

/* --- image_format.c ---------------------------------------------------------------------------------- */

/* INVALID_ENUMERATION with a sentence if a value of the format has no meaning. */
ze_result_t gs_format_check(enum gs_function function, const ze_image_format_t *format);

/* Describes the texels of a format: the fields of the view from texel_bytes to is_srgb. False if there is no
 * such format, or its pixels lie in several planes. */
bool gs_format_describe(const ze_image_format_t *format, bool is_srgb, gs_image_view *view);

/* A plane of an image: whole samples, one row behind the other. */
typedef struct gs_plane {
    uint64_t offset; /* from the first plane */
    uint32_t width, height;
    uint32_t texel_bytes;
} gs_plane;

/* How many planes the layout's pixels lie in; 1 for all but some of the media formats. */
uint32_t gs_format_planes(ze_image_format_layout_t layout);

/* Plane number `index` of an image of a format with several; gs_format_planes is the end of the last one. */
gs_plane gs_format_plane(ze_image_format_layout_t layout, uint32_t width, uint32_t height, uint32_t index);

/* --- sampler.c --------------------------------------------------------------------------------------- */

typedef struct gs_sampler {
    gs_object object;
    gs_context *context; /* held */
    uint64_t flags;      /* as a kernel's argument block has them */
} gs_sampler;

uint64_t gs_sampler_flags(const ze_sampler_desc_t *desc);

#endif
