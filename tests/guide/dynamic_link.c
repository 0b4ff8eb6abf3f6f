/* A module may use functions of another. Until they are linked, it has no kernels. */
#include "guide.h"

enum { ITEMS = 8 };

/* Links modules, and prints the log if something is missing. */
static ze_result_t link_modules(uint32_t count, ze_module_handle_t *modules) {
    ze_module_build_log_handle_t log = NULL;
    ze_result_t result = zeModuleDynamicLink(count, modules, &log);
    if (result == ZE_RESULT_ERROR_MODULE_LINK_FAILURE) {
        size_t size = 0;
        CHECK(zeModuleBuildLogGetString(log, &size, NULL));
        char *text = calloc(size, 1);
        CHECK(zeModuleBuildLogGetString(log, &size, text));
        printf("not linked: %s\n", text);
        free(text);
    }
    CHECK(zeModuleBuildLogDestroy(log));
    return result;
}

int main(int count, char **arguments) {
    (void)count;
    place at = begin();
    ze_module_handle_t user = load_module(at, arguments, "source");
    ze_module_handle_t library = load_module(at, arguments, "library");

    /* One alone misses what the other has. */
    REQUIRE(link_modules(1, &user) == ZE_RESULT_ERROR_MODULE_LINK_FAILURE);
    ze_module_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_MODULE_PROPERTIES};
    CHECK(zeModuleGetProperties(user, &properties));
    printf("has imports: %s\n", yes_no[(properties.flags & ZE_MODULE_PROPERTY_FLAG_IMPORTS) != 0]);

    ze_module_handle_t both[] = {user, library};
    CHECK(link_modules(2, both));
    ze_kernel_handle_t kernel = new_kernel(user, "apply", ITEMS);
    int *numbers = shared_memory(at, ITEMS * sizeof *numbers);
    ze_command_list_handle_t list = new_list(at);
    ze_group_count_t one_group = {1, 1, 1};
    set_pointer(kernel, 0, numbers);
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &one_group, NULL, 0, NULL));
    run(at, list);
    printf("linked:");
    for (int i = 0; i < ITEMS; i++) {
        printf(" %d", numbers[i]);
        REQUIRE(numbers[i] == i * i + 1);
    }
    printf("\n");

    CHECK(zeMemFree(at.context, numbers));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(user));
    CHECK(zeModuleDestroy(library));
    return end(at);
}
