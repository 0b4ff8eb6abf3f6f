/* Kernels are had from a module by name, and say what they need. */
#include "guide.h"

static ze_result_t create(ze_module_handle_t module, const char *name, ze_kernel_handle_t *kernel) {
    ze_kernel_desc_t description = {ZE_STRUCTURE_TYPE_KERNEL_DESC, NULL, 0 /* flags */, name};
    return zeKernelCreate(module, &description, kernel);
}

int main(int count, char **arguments) {
    (void)count;
    place at = begin();
    ze_module_handle_t module = load_module(at, arguments, "source");
    ze_module_handle_t unlinked = load_module(at, arguments, "unlinked");
    ze_kernel_handle_t kernel = NULL, none = NULL;

    ze_result_t result = create(unlinked, "blur", &none);
    printf("unlinked imports: %s\n", yes_no[result == ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED]);
    REQUIRE(result == ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED);
    result = create(module, "sharpen", &none);
    printf("no such kernel: %s\n", yes_no[result == ZE_RESULT_ERROR_INVALID_KERNEL_NAME]);
    REQUIRE(result == ZE_RESULT_ERROR_INVALID_KERNEL_NAME);
    CHECK(create(module, "blur", &kernel));

    ze_kernel_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES};
    CHECK(zeKernelGetProperties(kernel, &properties));
    printf("arguments: %u\n", properties.numKernelArgs);
    printf("groups have to be %u x %u x %u\n", properties.requiredGroupSizeX, properties.requiredGroupSizeY,
           properties.requiredGroupSizeZ);
    printf("local memory: %u bytes\n", properties.localMemSize);
    REQUIRE(properties.numKernelArgs == 3 && properties.localMemSize >= 32 * sizeof(float));
    REQUIRE(properties.requiredGroupSizeX == 8 && properties.requiredGroupSizeY == 4);
    REQUIRE(zeKernelSetGroupSize(kernel, 16, 16, 1) == ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION);

    CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(module));
    CHECK(zeModuleDestroy(unlinked));
    return end(at);
}
