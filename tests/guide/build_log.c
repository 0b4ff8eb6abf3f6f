/* A module that cannot be built comes with a log that says why. */
#include "guide.h"

/* Builds some SPIR-V and shows the log, in which there is something only if something went wrong. */
static ze_result_t build(place at, const uint8_t *spirv, size_t size) {
    ze_module_desc_t description = {
        ZE_STRUCTURE_TYPE_MODULE_DESC, NULL, ZE_MODULE_FORMAT_IL_SPIRV, size, spirv, NULL, NULL};
    ze_module_handle_t module = NULL;
    ze_module_build_log_handle_t log = NULL;
    ze_result_t result = zeModuleCreate(at.context, at.device, &description, &module, &log);

    size_t length = 0;
    CHECK(zeModuleBuildLogGetString(log, &length, NULL));
    char *text = calloc(length, 1);
    CHECK(zeModuleBuildLogGetString(log, &length, text));
    if (result == ZE_RESULT_SUCCESS)
        printf("built, with %d lines in the log\n", text[0] != 0);
    else
        printf("not built: %s\n", text);
    free(text);
    CHECK(zeModuleBuildLogDestroy(log));
    if (module != NULL)
        CHECK(zeModuleDestroy(module));
    return result;
}

int main(int count, char **arguments) {
    (void)count;
    place at = begin();
    binary *spirv = read_spirv(arguments, "source");
    CHECK(build(at, spirv->bytes, spirv->size));

    /* Without its last word, which ends the last function, it is no program any more. */
    REQUIRE(build(at, spirv->bytes, spirv->size - 4) == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
    return end(at);
}
