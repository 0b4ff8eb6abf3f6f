/* Threads make images and views, copy through them and destroy them while the copies still run; what comes out at the
 * other end is what went in. */
#include "check.h"

enum { THREADS = 4, TURNS = 400 / SLOWER, SIDE = 96 };

typedef uint32_t picture[SIDE][SIDE];

static ze_image_desc_t description(ze_image_format_layout_t layout) {
    return (ze_image_desc_t){
        .stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
        .type = ZE_IMAGE_TYPE_2D,
        .format = {layout, ZE_IMAGE_FORMAT_TYPE_UINT, ZE_IMAGE_FORMAT_SWIZZLE_R, ZE_IMAGE_FORMAT_SWIZZLE_G,
                   ZE_IMAGE_FORMAT_SWIZZLE_B, ZE_IMAGE_FORMAT_SWIZZLE_A},
        .width = SIDE,
        .height = SIDE,
    };
}

static ze_image_handle_t new_image(void) {
    const ze_image_desc_t desc = description(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8);
    ze_image_handle_t made;
    CHECK(zeImageCreate(on.context, on.device, &desc, &made));
    return made;
}

static ze_image_handle_t new_view(ze_image_handle_t image) {
    const ze_image_desc_t desc = description(ZE_IMAGE_FORMAT_LAYOUT_16_16);
    ze_image_handle_t made;
    CHECK(zeImageViewCreateExt(on.context, on.device, &desc, image, &made));
    return made;
}

/* Memory, an image, part by part another image, a view of that, and memory again: nothing is waited for before the
 * images are destroyed. */
static void pass_through(ze_command_list_handle_t list, picture *from, picture *to, uint64_t *random) {
    ze_image_handle_t first = new_image(), second = new_image(), view = new_view(second);
    uint32_t cut = 1 + (uint32_t)(next_random(random) % (SIDE - 1));
    const ze_image_region_t left = {0, 0, 0, cut, SIDE, 1}, right = {cut, 0, 0, SIDE - cut, SIDE, 1};
    CHECK(zeCommandListAppendImageCopyFromMemory(list, first, from, NULL, NULL, 0, NULL));
    CHECK(zeCommandListAppendImageCopyRegion(list, second, first, &left, &left, NULL, 0, NULL));
    CHECK(zeCommandListAppendImageCopyRegion(list, second, first, &right, &right, NULL, 0, NULL));
    CHECK(zeCommandListAppendImageCopyToMemory(list, to, view, NULL, NULL, 0, NULL));
    CHECK(zeImageDestroy(second));
    CHECK(zeImageDestroy(first));
    CHECK(zeImageDestroy(view));
}

static void *work(void *number) {
    uint64_t random = (uintptr_t)number;
    ze_command_list_handle_t list = new_immediate(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    picture *from = new_memory(sizeof *from), *to = new_memory(sizeof *to);
    for (int turn = 0; turn < TURNS; turn++) {
        for (int row = 0; row < SIDE; row++)
            for (int column = 0; column < SIDE; column++)
                (*from)[row][column] = (uint32_t)next_random(&random);
        pass_through(list, from, to, &random);
        CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
        REQUIRE(memcmp(from, to, sizeof *from) == 0);
    }
    CHECK(zeCommandListDestroy(list));
    CHECK(zeMemFree(on.context, from));
    CHECK(zeMemFree(on.context, to));
    return NULL;
}

int main(void) {
    set_up();
    uint64_t live = gs_live_objects(0);
    on_threads(THREADS, work);
    tear_down(live);
    return 0;
}
