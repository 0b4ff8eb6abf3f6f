/* Specialization constants: numbers of the module that are decided when it is built. */
#include "guide.h"

enum { ITEMS = 64 };

static ze_module_handle_t build(place at, char **arguments, const ze_module_constants_t *constants) {
    binary *spirv = read_spirv(arguments, "source");
    ze_module_desc_t description = {
        ZE_STRUCTURE_TYPE_MODULE_DESC, NULL, ZE_MODULE_FORMAT_IL_SPIRV, spirv->size, spirv->bytes, NULL, constants};
    ze_module_handle_t module;
    CHECK(zeModuleCreate(at.context, at.device, &description, &module, NULL));
    return module;
}

/* Each work-item writes its place in a box, whose sides are the constants, as decimal digits. */
static void show(place at, const char *name, ze_module_handle_t module, const uint32_t sides[3]) {
    ze_kernel_handle_t kernel = new_kernel(module, "place_in_box", ITEMS);
    uint32_t *places = shared_memory(at, ITEMS * sizeof *places);
    ze_command_list_handle_t list = new_list(at);
    ze_group_count_t one_group = {1, 1, 1};
    set_pointer(kernel, 0, places);
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &one_group, NULL, 0, NULL));
    run(at, list);
    for (uint32_t i = 0; i < ITEMS; i++) {
        uint32_t x = i % sides[0], y = i / sides[0] % sides[1], z = i / sides[0] / sides[1] % sides[2];
        REQUIRE(places[i] == 10000 * z + 100 * y + x);
    }
    printf("%s: item %d is at %06u\n", name, ITEMS - 1, places[ITEMS - 1]);
    CHECK(zeMemFree(at.context, places));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(module));
}

int main(int count, char **arguments) {
    (void)count;
    place at = begin();
    const uint32_t defaults[] = {4, 4, 4}, sides[] = {16, 2, 2}, ids[] = {0, 1, 2};
    const void *values[] = {&sides[0], &sides[1], &sides[2]};
    ze_module_constants_t constants = {3, ids, values};

    show(at, "as written", build(at, arguments, NULL), defaults);
    show(at, "overridden", build(at, arguments, &constants), sides);

    /* Those that are not named keep what the module says. */
    const uint32_t one_side[] = {4, 16, 4};
    const void *one_value[] = {&one_side[1]};
    ze_module_constants_t one = {1, &ids[1], one_value};
    show(at, "one of them", build(at, arguments, &one), one_side);
    return end(at);
}
