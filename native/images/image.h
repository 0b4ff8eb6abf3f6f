/* Images: blocks of texels, and what compiled code knows of them. docs/reference/python/images.md is about both sides of it. */
#ifndef GS_IMAGES_IMAGE_H
#define GS_IMAGES_IMAGE_H

#include "memory/memory.h"

/* How the bits of a channel are to be taken. */
typedef enum gs_texel_kind {
    GS_TEXEL_UINT,
    GS_TEXEL_SINT,
    GS_TEXEL_UNORM,
    GS_TEXEL_SNORM,
    GS_TEXEL_HALF,
    GS_TEXEL_FLOAT,
    GS_TEXEL_SMALL_FLOAT, /* 11 or 10 bits: 5 of exponent, no sign; a channel of 2 bits beside them is UNORM */
} gs_texel_kind;

/* Where a channel comes from when a kernel reads. */
enum { GS_FROM_TEXEL, GS_ZERO, GS_ONE };

/* In place of 0 to 3 (r g b a), for a channel of the texel that a kernel cannot write: it becomes zero. */
enum { GS_UNWRITTEN = 4 };

typedef struct gs_texel_channel {
    uint8_t word, shift, bits; /* bits of the texel's 32-bit word number `word`, from `shift` on */
    uint8_t source;
} gs_texel_channel;

/* Read by compiled code: the layout is part of the contract. */
typedef struct gs_image_view {
    char *texels;
    uint32_t width, height, depth; /* in texels; 1 where the image has no such axis */
    uint32_t layers;               /* of an array; 0: it is none */
    uint64_t row_pitch;            /* bytes from row to row */
    uint64_t slice_pitch;          /* bytes from slice to slice, or from layer to layer */
    uint32_t texel_bytes;
    uint32_t kind;                 /* gs_texel_kind */
    gs_texel_channel reading[4];   /* where r, g, b and a come from */
    gs_texel_channel writing[4];   /* what goes into the texel's first, second ... channel */
    uint32_t channel_type;         /* OpenCL's number, 0: it has none */
    uint32_t channel_order;        /* OpenCL's number */
    uint32_t is_srgb;              /* r, g and b are stored with the sRGB curve */
    uint32_t samples;              /* 1 */
    uint64_t sampler;              /* of a bindless sampled image: the flags of its sampler */
} gs_image_view;

_Static_assert(offsetof(gs_image_view, reading) == 48 && offsetof(gs_image_view, channel_type) == 80 &&
                   offsetof(gs_image_view, sampler) == 96 && sizeof(gs_image_view) == 104,
               "compiled code knows where the fields are");

/* What zeDeviceGetImageProperties reports: mirrored in driver/image.py. */
enum {
    GS_IMAGE_MAX_1D = 32768,
    GS_IMAGE_MAX_2D = 32768,
    GS_IMAGE_MAX_3D = 4096,
    GS_IMAGE_MAX_LAYERS = 4096,
    GS_IMAGE_ROW_ALIGNMENT = 64,   /* of pitched memory, when the program does not say another pitch */
    GS_IMAGE_PITCH_ALIGNMENT = 16, /* of the pitches that a program may choose */
};
static const uint64_t GS_IMAGE_MAX_BUFFER = (uint64_t)1 << 31;

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
} gs_image;

/* What a kernel gets that was given no image: it has no texels. */
extern const gs_image_view gs_no_image;

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
