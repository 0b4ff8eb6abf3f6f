/* A program that keeps what was compiled: the native binary of a module, in a file named by its source. */
#include "guide.h"

enum { ITEMS = 16 };

/* FNV-1a: good enough to tell programs apart. */
static uint64_t hash_of(const binary *spirv) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < spirv->size; i++)
        hash = (hash ^ spirv->bytes[i]) * 0x100000001b3;
    return hash;
}

static ze_module_handle_t build(place at, ze_module_format_t format, const void *bytes, size_t size) {
    ze_module_desc_t description = {ZE_STRUCTURE_TYPE_MODULE_DESC, NULL, format, size, bytes, NULL, NULL};
    ze_module_handle_t module;
    CHECK(zeModuleCreate(at.context, at.device, &description, &module, NULL));
    return module;
}

static void keep(ze_module_handle_t module, const char *path) {
    size_t size = 0;
    CHECK(zeModuleGetNativeBinary(module, &size, NULL));
    uint8_t *bytes = malloc(size);
    CHECK(zeModuleGetNativeBinary(module, &size, bytes));
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
    free(bytes);
}

/* The module: from the cache if it is there, else from its source and into the cache. */
static ze_module_handle_t get_module(place at, char **arguments) {
    static uint8_t bytes[1 << 20];
    binary *spirv = read_spirv(arguments, "source");
    char path[4096];
    snprintf(path, sizeof path, "%s/%016llx.bin", arguments[1], (unsigned long long)hash_of(spirv));
    FILE *file = fopen(path, "rb");
    if (file != NULL) {
        printf("from the cache: ");
        size_t size = fread(bytes, 1, sizeof bytes, file);
        REQUIRE(fclose(file) == 0);
        return build(at, ZE_MODULE_FORMAT_NATIVE, bytes, size);
    }
    printf("compiled: ");
    ze_module_handle_t module = build(at, ZE_MODULE_FORMAT_IL_SPIRV, spirv->bytes, spirv->size);
    keep(module, path);
    return module;
}

int main(int count, char **arguments) {
    (void)count;
    place at = begin();
    float *numbers = shared_memory(at, ITEMS * sizeof *numbers);
    for (int turn = 0; turn < 2; turn++) {
        ze_module_handle_t module = get_module(at, arguments);
        ze_kernel_handle_t kernel = new_kernel(module, "halves", ITEMS);
        ze_command_list_handle_t list = new_list(at);
        ze_group_count_t one_group = {1, 1, 1};
        memset(numbers, 0, ITEMS * sizeof *numbers);
        set_pointer(kernel, 0, numbers);
        CHECK(zeCommandListAppendLaunchKernel(list, kernel, &one_group, NULL, 0, NULL));
        run(at, list);
        printf("%.1f ... %.1f\n", numbers[0], numbers[ITEMS - 1]);
        for (int i = 0; i < ITEMS; i++)
            REQUIRE(numbers[i] == (float)i / 2);
        CHECK(zeCommandListDestroy(list));
        CHECK(zeKernelDestroy(kernel));
        CHECK(zeModuleDestroy(module));
    }
    CHECK(zeMemFree(at.context, numbers));
    return end(at);
}
