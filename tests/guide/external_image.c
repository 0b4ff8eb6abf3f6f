/* A picture of somebody else, known only as a file descriptor, becomes an image. */
#include <sys/mman.h>
#include <unistd.h>

#include "guide.h"

enum { WIDTH = 32, HEIGHT = 16, SIZE = WIDTH * HEIGHT * 4 };

int main(void) {
    place at = begin();
    /* The somebody else: texels of four bytes, row after row. */
    int fd = memfd_create("picture", 0);
    REQUIRE(fd >= 0 && ftruncate(fd, SIZE) == 0);
    uint8_t *picture = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), *seen = host_memory(at, SIZE);
    REQUIRE(picture != MAP_FAILED);
    for (int i = 0; i < SIZE; i++)
        picture[i] = (uint8_t)(i % 251);

    /* An image of the same size and format over that memory. */
    ze_external_memory_import_fd_t import = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD, NULL,
                                             ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF, fd};
    ze_image_desc_t description = {
        .stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
        .pNext = &import,
        .flags = ZE_IMAGE_FLAG_KERNEL_WRITE,
        .type = ZE_IMAGE_TYPE_2D,
        .format = {ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_TYPE_UINT, ZE_IMAGE_FORMAT_SWIZZLE_R,
                   ZE_IMAGE_FORMAT_SWIZZLE_G, ZE_IMAGE_FORMAT_SWIZZLE_B, ZE_IMAGE_FORMAT_SWIZZLE_A},
        .width = WIDTH,
        .height = HEIGHT,
    };
    ze_image_handle_t image;
    CHECK(zeImageCreate(at.context, at.device, &description, &image));
    ze_command_list_handle_t commands = new_synchronous_list(at);
    CHECK(zeCommandListAppendImageCopyToMemory(commands, seen, image, NULL, NULL, 0, NULL));
    printf("the image shows the picture: %s\n", yes_no[memcmp(seen, picture, SIZE) == 0]);
    REQUIRE(memcmp(seen, picture, SIZE) == 0);

    /* And the other way: what is drawn on the image appears in the picture. */
    memset(seen, 9, SIZE);
    CHECK(zeCommandListAppendImageCopyFromMemory(commands, image, seen, NULL, NULL, 0, NULL));
    printf("the picture is now %d ... %d\n", picture[0], picture[SIZE - 1]);
    REQUIRE(memcmp(seen, picture, SIZE) == 0);

    CHECK(zeImageDestroy(image));
    REQUIRE(munmap(picture, SIZE) == 0 && close(fd) == 0);
    CHECK(zeMemFree(at.context, seen));
    CHECK(zeCommandListDestroy(commands));
    return end(at);
}
