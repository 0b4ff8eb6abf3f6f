/* Engines, streams and memory of a caller's Level Zero objects: what is accepted, what is refused, and that
 * everything stays the caller's. */
#include "check.h"

static void engines(place at) {
    dnnl_engine_t engine;
    INVALID(dnnl_ze_interop_engine_create(NULL, at.driver, at.device, at.context));
    INVALID(dnnl_ze_interop_engine_create(&engine, NULL, at.device, at.context));
    INVALID(dnnl_ze_interop_engine_create(&engine, at.driver, NULL, at.context));
    INVALID(dnnl_ze_interop_engine_create(&engine, at.driver, at.device, NULL));
    /* A device that is not of that driver, and a driver that nobody knows. */
    INVALID(dnnl_ze_interop_engine_create(&engine, at.driver, (ze_device_handle_t)at.context, at.context));
    INVALID(dnnl_ze_interop_engine_create(&engine, (ze_driver_handle_t)at.device, at.device, at.context));
    OK(dnnl_ze_interop_engine_create(&engine, at.driver, at.device, at.context));
    place found;
    dnnl_engine_kind_t kind;
    OK(dnnl_ze_interop_engine_get_driver(engine, &found.driver));
    OK(dnnl_ze_interop_engine_get_device(engine, &found.device));
    OK(dnnl_ze_interop_engine_get_context(engine, &found.context));
    EXPECT(found.driver == at.driver && found.device == at.device && found.context == at.context);
    OK(dnnl_engine_get_kind(engine, &kind));
    EXPECT(kind == dnnl_gpu);
    INVALID(dnnl_ze_interop_engine_get_context(engine, NULL));
    INVALID(dnnl_ze_interop_engine_get_context(NULL, &found.context));
    OK(dnnl_engine_destroy(engine));
    INVALID(dnnl_engine_get_kind(engine, &kind));
    ZE(zeContextGetStatus(at.context)); /* still the caller's */
}

static void blobs(place at) {
    dnnl_engine_t engine, again;
    size_t size = 0, id_size = 0;
    OK(dnnl_ze_interop_engine_create(&engine, at.driver, at.device, at.context));
    OK(dnnl_ze_interop_engine_get_cache_blob_id(at.driver, at.device, &id_size, NULL));
    uint8_t *id = malloc(id_size);
    OK(dnnl_ze_interop_engine_get_cache_blob_id(at.driver, at.device, &id_size, id));
    OK(dnnl_ze_interop_engine_get_cache_blob(engine, &size, NULL));
    uint8_t *blob = malloc(size);
    OK(dnnl_ze_interop_engine_get_cache_blob(engine, &size, blob));
    OK(dnnl_ze_interop_engine_create_from_cache_blob(&again, at.driver, at.device, at.context, size, blob));
    INVALID(dnnl_ze_interop_engine_create_from_cache_blob(&again, at.driver, at.device, at.context, 0, blob));
    blob[0] ^= 1;
    dnnl_engine_t refused;
    INVALID(dnnl_ze_interop_engine_create_from_cache_blob(&refused, at.driver, at.device, at.context, size, blob));
    OK(dnnl_engine_destroy(again));
    OK(dnnl_engine_destroy(engine));
    free(blob);
    free(id);
}

static void memory(place at) {
    dnnl_engine_t engine;
    dnnl_memory_t made;
    dnnl_memory_desc_t shape = vector_of(ELEMENTS), any;
    OK(dnnl_ze_interop_engine_create(&engine, at.driver, at.device, at.context));
    void *none = DNNL_MEMORY_NONE, *wanted = DNNL_MEMORY_ALLOCATE, *found, *mapped;
    void *shared = allocate_shared(at, ELEMENTS * sizeof(float));
    INVALID(dnnl_ze_interop_memory_create(NULL, shape, engine, 1, &shared));
    INVALID(dnnl_ze_interop_memory_create(&made, NULL, engine, 1, &shared));
    INVALID(dnnl_ze_interop_memory_create(&made, shape, NULL, 1, &shared));
    INVALID(dnnl_ze_interop_memory_create(&made, shape, engine, 0, &shared));
    INVALID(dnnl_ze_interop_memory_create(&made, shape, engine, 1, NULL));
    dnnl_dims_t dims = {ELEMENTS};
    OK(dnnl_memory_desc_create_with_tag(&any, 1, dims, dnnl_f32, dnnl_format_tag_any));
    INVALID(dnnl_ze_interop_memory_create(&made, any, engine, 1, &shared));
    OK(dnnl_memory_desc_destroy(any));

    OK(dnnl_ze_interop_memory_create(&made, shape, engine, 1, &none));
    OK(dnnl_memory_get_data_handle(made, &found));
    EXPECT(found == NULL);
    OK(dnnl_memory_set_data_handle(made, shared));
    OK(dnnl_memory_get_data_handle(made, &found));
    EXPECT(found == shared);
    OK(dnnl_memory_map_data(made, &mapped));
    EXPECT(mapped == shared); /* the host can use it where it is */
    OK(dnnl_memory_unmap_data(made, mapped));
    OK(dnnl_memory_destroy(made));
    memset(shared, 1, ELEMENTS); /* still the caller's */

    OK(dnnl_ze_interop_memory_create(&made, shape, engine, 1, &wanted));
    OK(dnnl_memory_map_data(made, &mapped));
    EXPECT(mapped != NULL);
    memset(mapped, 42, ELEMENTS * sizeof(float));
    OK(dnnl_memory_unmap_data(made, mapped));
    OK(dnnl_memory_map_data(made, &mapped));
    EXPECT(((char *)mapped)[ELEMENTS] == 42);
    OK(dnnl_memory_unmap_data(made, mapped));
    OK(dnnl_memory_destroy(made));

    ze_device_memory_access_properties_t access = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES};
    ZE(zeDeviceGetMemoryAccessProperties(at.device, &access));
    void *system = malloc(ELEMENTS * sizeof(float));
    dnnl_status_t status = dnnl_ze_interop_memory_create(&made, shape, engine, 1, &system);
    EXPECT(status == (access.sharedSystemAllocCapabilities ? dnnl_success : dnnl_invalid_arguments));
    if (status == dnnl_success)
        OK(dnnl_memory_destroy(made));
    free(system);
    ZE(zeMemFree(at.context, shared));
    OK(dnnl_memory_desc_destroy(shape));
    OK(dnnl_engine_destroy(engine));
}

static void sparse_memory(place at) {
    enum { NONZEROS = 12 };
    dnnl_engine_t engine;
    dnnl_memory_desc_t shape;
    dnnl_memory_t made;
    dnnl_dims_t dims = {64, 128};
    OK(dnnl_ze_interop_engine_create(&engine, at.driver, at.device, at.context));
    OK(dnnl_memory_desc_create_with_coo_encoding(&shape, 2, dims, dnnl_f32, NONZEROS, dnnl_s32));
    void *handles[3], *found;
    for (int each = 0; each < 3; each++)
        handles[each] = allocate_shared(at, dnnl_memory_desc_get_size_v2(shape, each));
    OK(dnnl_ze_interop_memory_create(&made, shape, engine, 3, handles));
    for (int each = 0; each < 3; each++) {
        OK(dnnl_memory_map_data_v2(made, &found, each));
        EXPECT(found == handles[each]);
        OK(dnnl_memory_unmap_data_v2(made, found, each));
        OK(dnnl_memory_set_data_handle_v2(made, NULL, each));
        OK(dnnl_memory_get_data_handle_v2(made, &found, each));
        EXPECT(found == NULL);
    }
    INVALID(dnnl_memory_get_data_handle_v2(made, &found, 3));
    OK(dnnl_memory_destroy(made));
    for (int each = 0; each < 3; each++)
        ZE(zeMemFree(at.context, handles[each]));
    OK(dnnl_memory_desc_destroy(shape));
    OK(dnnl_engine_destroy(engine));
}

int main(void) {
    place at = find_place();
    engines(at);
    blobs(at);
    memory(at);
    sparse_memory(at);
    ZE(zeContextDestroy(at.context));
    puts("objects: all is as it should be");
    return 0;
}
