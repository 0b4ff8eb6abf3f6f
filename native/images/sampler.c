/* Samplers. A kernel's argument block holds what a sampler says, not the sampler: it may be destroyed at any time. */
#include "images/image.h"

/* The numbers of SPIR-V's addressing modes. */
static const uint8_t addressing[] = {
    [ZE_SAMPLER_ADDRESS_MODE_NONE] = 0,
    [ZE_SAMPLER_ADDRESS_MODE_CLAMP] = 1,
    [ZE_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER] = 2,
    [ZE_SAMPLER_ADDRESS_MODE_REPEAT] = 3,
    [ZE_SAMPLER_ADDRESS_MODE_MIRROR] = 4,
};

uint64_t gs_sampler_flags(const ze_sampler_desc_t *desc) {
    uint64_t normalized = desc->isNormalized != 0, linear = desc->filterMode == ZE_SAMPLER_FILTER_MODE_LINEAR;
    return normalized | (uint64_t)addressing[desc->addressMode] << 1 | linear << 4;
}

static void release_sampler(gs_object *object) { gs_object_drop(((gs_sampler *)object)->context); }

ze_result_t gs_zeSamplerCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                               const ze_sampler_desc_t *desc, ze_sampler_handle_t *phSampler) {
    gs_context *context = (gs_context *)hContext;
    ze_result_t result = gs_context_check_device(GS_FN_zeSamplerCreate, context, (gs_device *)hDevice);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_sampler *sampler = gs_object_new(GS_KIND_SAMPLER, release_sampler);
    if (sampler == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another sampler");
    sampler->context = context;
    gs_object_hold(context);
    sampler->flags = gs_sampler_flags(desc);
    gs_object_complete(sampler, context);
    *phSampler = (ze_sampler_handle_t)sampler;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeSamplerDestroy(ze_sampler_handle_t hSampler) {
    gs_object_close(hSampler);
    return ZE_RESULT_SUCCESS;
}
