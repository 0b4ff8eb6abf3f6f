/* Formats of images: where the components of a texel lie, and which channels of a kernel they are. */
#include <string.h>

#include "images/image.h"

/* The largest values that have a meaning. */
enum {
    LAST_LAYOUT = ZE_IMAGE_FORMAT_LAYOUT_32_32_32,
    LAST_TYPE = ZE_IMAGE_FORMAT_TYPE_FLOAT,
    LAST_SWIZZLE = ZE_IMAGE_FORMAT_SWIZZLE_D,
};

/* --- Layouts ----------------------------------------------------------------------------------------- */

enum {
    UINT = 1 << ZE_IMAGE_FORMAT_TYPE_UINT,
    SINT = 1 << ZE_IMAGE_FORMAT_TYPE_SINT,
    UNORM = 1 << ZE_IMAGE_FORMAT_TYPE_UNORM,
    SNORM = 1 << ZE_IMAGE_FORMAT_TYPE_SNORM,
    FLOAT = 1 << ZE_IMAGE_FORMAT_TYPE_FLOAT,
    FIXED = UINT | SINT | UNORM | SNORM,
    ANY = FIXED | FLOAT,
    MEDIA = 1 << 7, /* type and swizzle are ignored: UNORM, components in the order of the channels */
};

typedef struct texel_layout {
    uint8_t texel_bytes, components;
    uint8_t types;      /* which are allowed; 0: the layout is not supported */
    uint8_t bits[4];    /* of each component */
    uint8_t offsets[4]; /* its first bit in the texel */
} texel_layout;

#define ONE(size) {size}, {0}
#define TWO(size) {size, size}, {0, size}
#define THREE(size) {size, size, size}, {0, size, 2 * size}
#define FOUR(size) {size, size, size, size}, {0, size, 2 * size, 3 * size}

/* The 16-bit layouts have red above green above blue, as OpenCL's CL_UNORM_SHORT_565 has; the others begin with
 * red in the lowest bits. */
static const texel_layout layouts[LAST_LAYOUT + 1] = {
    [ZE_IMAGE_FORMAT_LAYOUT_8] = {1, 1, FIXED, ONE(8)},
    [ZE_IMAGE_FORMAT_LAYOUT_16] = {2, 1, ANY, ONE(16)},
    [ZE_IMAGE_FORMAT_LAYOUT_32] = {4, 1, ANY, ONE(32)},
    [ZE_IMAGE_FORMAT_LAYOUT_8_8] = {2, 2, FIXED, TWO(8)},
    [ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8] = {4, 4, FIXED, FOUR(8)},
    [ZE_IMAGE_FORMAT_LAYOUT_16_16] = {4, 2, ANY, TWO(16)},
    [ZE_IMAGE_FORMAT_LAYOUT_16_16_16_16] = {8, 4, ANY, FOUR(16)},
    [ZE_IMAGE_FORMAT_LAYOUT_32_32] = {8, 2, ANY, TWO(32)},
    [ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32] = {16, 4, ANY, FOUR(32)},
    [ZE_IMAGE_FORMAT_LAYOUT_10_10_10_2] = {4, 4, ANY, {10, 10, 10, 2}, {0, 10, 20, 30}},
    [ZE_IMAGE_FORMAT_LAYOUT_11_11_10] = {4, 3, FLOAT, {11, 11, 10}, {0, 11, 22}},
    [ZE_IMAGE_FORMAT_LAYOUT_5_6_5] = {2, 3, UNORM, {5, 6, 5}, {11, 5, 0}},
    [ZE_IMAGE_FORMAT_LAYOUT_5_5_5_1] = {2, 4, UNORM, {5, 5, 5, 1}, {10, 5, 0, 15}},
    [ZE_IMAGE_FORMAT_LAYOUT_4_4_4_4] = {2, 4, UNORM, {4, 4, 4, 4}, {8, 4, 0, 12}},
    [ZE_IMAGE_FORMAT_LAYOUT_8_8_8] = {3, 3, FIXED, THREE(8)},
    [ZE_IMAGE_FORMAT_LAYOUT_16_16_16] = {6, 3, ANY, THREE(16)},
    [ZE_IMAGE_FORMAT_LAYOUT_32_32_32] = {12, 3, ANY, THREE(32)},
    [ZE_IMAGE_FORMAT_LAYOUT_Y8] = {1, 1, MEDIA, ONE(8)},
    [ZE_IMAGE_FORMAT_LAYOUT_400P] = {1, 1, MEDIA, ONE(8)},
    [ZE_IMAGE_FORMAT_LAYOUT_Y16] = {2, 1, MEDIA, ONE(16)},
    [ZE_IMAGE_FORMAT_LAYOUT_AYUV] = {4, 4, MEDIA, FOUR(8)},
    [ZE_IMAGE_FORMAT_LAYOUT_Y410] = {4, 4, MEDIA, {10, 10, 10, 2}, {0, 10, 20, 30}},
    [ZE_IMAGE_FORMAT_LAYOUT_Y416] = {8, 4, MEDIA, FOUR(16)},
};

/* --- Planes ------------------------------------------------------------------------------------------ */

typedef struct plane_layout {
    uint8_t sample_bytes, count;
    struct {
        uint8_t samples;          /* in one texel of the plane */
        uint8_t x_shift, y_shift; /* by how much it is smaller than the image */
    } planes[3];
} plane_layout;

#define INTERLEAVED(bytes, x, y) {bytes, 2, {{1, 0, 0}, {2, x, y}}}
#define SEPARATE(bytes, x, y) {bytes, 3, {{1, 0, 0}, {1, x, y}, {1, x, y}}}

static const plane_layout planar[LAST_LAYOUT + 1] = {
    [ZE_IMAGE_FORMAT_LAYOUT_NV12] = INTERLEAVED(1, 1, 1), [ZE_IMAGE_FORMAT_LAYOUT_P010] = INTERLEAVED(2, 1, 1),
    [ZE_IMAGE_FORMAT_LAYOUT_P012] = INTERLEAVED(2, 1, 1), [ZE_IMAGE_FORMAT_LAYOUT_P016] = INTERLEAVED(2, 1, 1),
    [ZE_IMAGE_FORMAT_LAYOUT_P216] = INTERLEAVED(2, 1, 0), [ZE_IMAGE_FORMAT_LAYOUT_I420] = SEPARATE(1, 1, 1),
    [ZE_IMAGE_FORMAT_LAYOUT_YV12] = SEPARATE(1, 1, 1),    [ZE_IMAGE_FORMAT_LAYOUT_422H] = SEPARATE(1, 1, 0),
    [ZE_IMAGE_FORMAT_LAYOUT_422V] = SEPARATE(1, 0, 1),    [ZE_IMAGE_FORMAT_LAYOUT_444P] = SEPARATE(1, 0, 0),
    [ZE_IMAGE_FORMAT_LAYOUT_RGBP] = SEPARATE(1, 0, 0),    [ZE_IMAGE_FORMAT_LAYOUT_BRGP] = SEPARATE(1, 0, 0),
};

uint32_t gs_format_planes(ze_image_format_layout_t layout) {
    return planar[layout].count > 0 ? planar[layout].count : 1;
}

static uint32_t shrink(uint32_t extent, uint8_t shift) { return (extent + (1u << shift) - 1) >> shift; }

gs_plane gs_format_plane(ze_image_format_layout_t layout, uint32_t width, uint32_t height, uint32_t index) {
    const plane_layout *of = &planar[layout];
    gs_plane plane = {0};
    for (uint32_t each = 0; each <= index; each++) {
        plane.offset += (uint64_t)plane.width * plane.height * plane.texel_bytes;
        if (each == of->count)
            break;
        plane.width = shrink(width, of->planes[each].x_shift);
        plane.height = shrink(height, of->planes[each].y_shift);
        plane.texel_bytes = (uint32_t)of->planes[each].samples * of->sample_bytes;
    }
    return plane;
}

/* --- Checks ------------------------------------------------------------------------------------------ */

ze_result_t gs_format_check(enum gs_function function, const ze_image_format_t *format) {
    if ((uint32_t)format->layout > LAST_LAYOUT)
        return gs_fail_enum(function, "desc->format.layout", format->layout);
    if ((uint32_t)format->type > LAST_TYPE)
        return gs_fail_enum(function, "desc->format.type", format->type);
    const ze_image_format_swizzle_t swizzles[] = {format->x, format->y, format->z, format->w};
    for (int each = 0; each < 4; each++)
        if ((uint32_t)swizzles[each] > LAST_SWIZZLE)
            return gs_fail_enum(function, "a swizzle of desc->format", swizzles[each]);
    return ZE_RESULT_SUCCESS;
}

/* --- OpenCL's numbers -------------------------------------------------------------------------------- */

/* By type, for components of 8, 16 and 32 bits. */
static const uint16_t channel_types[][3] = {
    [ZE_IMAGE_FORMAT_TYPE_UINT] = {0x10DA, 0x10DB, 0x10DC},  [ZE_IMAGE_FORMAT_TYPE_SINT] = {0x10D7, 0x10D8, 0x10D9},
    [ZE_IMAGE_FORMAT_TYPE_UNORM] = {0x10D2, 0x10D3, 0},      [ZE_IMAGE_FORMAT_TYPE_SNORM] = {0x10D0, 0x10D1, 0},
    [ZE_IMAGE_FORMAT_TYPE_FLOAT] = {0, 0x10DD, 0x10DE},
};
enum { R = ZE_IMAGE_FORMAT_SWIZZLE_R, G, B, A, ZERO, ONES, X, D };
enum { ORDER_RGB = 0x10B4, ORDER_RGBX = 0x10BC };

typedef struct order {
    uint8_t swizzle[4];
    uint16_t number, srgb_number;
} order;

static const order orders[] = {
    {{R, G, B, A}, 0x10B5, 0x10C1},    {{B, G, R, A}, 0x10B6, 0x10C2},    {{G, B, A, R}, 0x10B7, 0x10B7},
    {{A, B, G, R}, 0x10C3, 0x10C3},    {{R, ZERO, ZERO, ONES}, 0x10B0, 0x10B0}, {{ZERO, ZERO, ZERO, A}, 0x10B1, 0x10B1},
    {{R, G, ZERO, ONES}, 0x10B2, 0x10B2}, {{R, ZERO, ZERO, A}, 0x10B3, 0x10B3}, {{R, G, B, ONES}, ORDER_RGB, 0x10BF},
    {{R, R, R, R}, 0x10B8, 0x10B8},    {{R, R, R, ONES}, 0x10B9, 0x10B9}, {{R, X, X, X}, 0x10BA, 0x10BA},
    {{R, G, X, X}, 0x10BB, 0x10BB},    {{R, G, B, X}, ORDER_RGBX, 0x10C0},    {{D, ZERO, ZERO, ZERO}, 0x10BD, 0x10BD},
    {{D, ZERO, ZERO, ONES}, 0x10BD, 0x10BD},
};

/* The letters of components that a swizzle uses, as a set. */
static uint8_t letters_in(const uint8_t swizzle[4]) {
    uint8_t letters = 0;
    for (int channel = 0; channel < 4; channel++)
        if (swizzle[channel] <= A)
            letters |= (uint8_t)(1 << swizzle[channel]);
    return letters;
}

/* An order that OpenCL does not know is answered with that of the layout's components as they lie. */
static uint32_t channel_order(const uint8_t swizzle[4], uint8_t components, bool is_srgb) {
    static const uint16_t by_components[] = {0, 0x10B0, 0x10B2, 0x10B4, 0x10B5};
    bool has_all = __builtin_popcount(letters_in(swizzle)) <= components;
    for (size_t each = 0; has_all && each < sizeof orders / sizeof orders[0]; each++)
        if (memcmp(swizzle, orders[each].swizzle, 4) == 0)
            return is_srgb ? orders[each].srgb_number : orders[each].number;
    return by_components[components];
}

enum { UNORM_SHORT_565 = 0x10D4, UNORM_SHORT_555 = 0x10D5, UNORM_INT_101010 = 0x10D6, UNORM_INT_101010_2 = 0x10E0 };

/* Two formats have a number only, or another one, if nothing is in the fourth component. */
static uint32_t channel_type(const texel_layout *layout, ze_image_format_type_t type, uint32_t order) {
    bool is_rgb = order == ORDER_RGB || order == ORDER_RGBX;
    if (layout->bits[0] == 10)
        return type != ZE_IMAGE_FORMAT_TYPE_UNORM ? 0 : is_rgb ? UNORM_INT_101010 : UNORM_INT_101010_2;
    if (layout->bits[1] == 6)
        return UNORM_SHORT_565;
    switch (layout->bits[0]) {
    case 5: return is_rgb ? UNORM_SHORT_555 : 0;
    case 8: return channel_types[type][0];
    case 16: return channel_types[type][1];
    case 32: return channel_types[type][2];
    default: return 0;
    }
}

/* --- Channels ---------------------------------------------------------------------------------------- */

/* A swizzle names components by letter. The letters stand for the first, second ... component; but where a layout
 * has too few for that, and enough for the letters that are used, they count in order: the components of an 8_8
 * image with R and A are these two. */
static int component_of(uint8_t letter, uint8_t letters_used, uint8_t components) {
    if (letter == D)
        return 0;
    bool in_order = __builtin_popcount(letters_used) <= components && letters_used >> components != 0;
    int number = in_order ? __builtin_popcount(letters_used & ((1 << letter) - 1)) : letter;
    return number < components ? number : -1;
}

static gs_texel_channel channel_at(const texel_layout *layout, int component, uint8_t source) {
    uint8_t offset = layout->offsets[component];
    return (gs_texel_channel){offset / 32, offset % 32, layout->bits[component], source};
}

/* What is not in the texel: zero, but alpha is one. */
static uint8_t missing(uint8_t swizzle, int channel) {
    if (swizzle == ZERO)
        return GS_FROM_ZERO;
    return swizzle == ONES || channel == 3 ? GS_FROM_ONE : GS_FROM_ZERO;
}

static void connect_channels(const texel_layout *layout, const uint8_t swizzle[4], gs_image_view *view) {
    uint8_t letters_used = letters_in(swizzle);
    for (int component = 0; component < 4; component++)
        view->writing[component] = component < layout->components ? channel_at(layout, component, GS_UNWRITTEN)
                                                                  : (gs_texel_channel){.source = GS_UNWRITTEN};
    for (int channel = 0; channel < 4; channel++) {
        bool named = swizzle[channel] <= A || swizzle[channel] == D;
        int component = named ? component_of(swizzle[channel], letters_used, layout->components) : -1;
        if (component < 0) {
            view->reading[channel] = (gs_texel_channel){.source = missing(swizzle[channel], channel)};
            continue;
        }
        view->reading[channel] = channel_at(layout, component, GS_FROM_TEXEL);
        if (view->writing[component].source == GS_UNWRITTEN)
            view->writing[component].source = (uint8_t)channel;
    }
}

static gs_texel_kind kind_of(const texel_layout *layout, ze_image_format_type_t type) {
    if (type != ZE_IMAGE_FORMAT_TYPE_FLOAT)
        return (gs_texel_kind)type;
    if (layout->bits[0] == 32)
        return GS_TEXEL_FLOAT;
    return layout->bits[0] == 16 ? GS_TEXEL_HALF : GS_TEXEL_SMALL_FLOAT;
}

bool gs_format_describe(const ze_image_format_t *format, bool is_srgb, gs_image_view *view) {
    const texel_layout *layout = &layouts[format->layout];
    bool is_media = layout->types == MEDIA;
    if (!is_media && !(layout->types & 1 << format->type))
        return false;
    ze_image_format_type_t type = is_media ? ZE_IMAGE_FORMAT_TYPE_UNORM : format->type;
    if (is_srgb && (type != ZE_IMAGE_FORMAT_TYPE_UNORM || layout->bits[0] != 8))
        return false;
    uint8_t swizzle[4] = {(uint8_t)format->x, (uint8_t)format->y, (uint8_t)format->z, (uint8_t)format->w};
    if (is_media)
        memcpy(swizzle, (const uint8_t[]){R, G, B, A}, sizeof swizzle);
    view->texel_bytes = layout->texel_bytes;
    view->kind = kind_of(layout, type);
    connect_channels(layout, swizzle, view);
    view->channel_order = channel_order(swizzle, layout->components, is_srgb);
    view->channel_type = channel_type(layout, type, view->channel_order);
    view->is_srgb = is_srgb;
    view->samples = 1;
    return true;
}
