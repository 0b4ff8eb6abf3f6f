/* What programs ask of a Level Zero loader, besides the API itself: the types behind the zel functions.
 * Binary layouts follow the loader's public interface, version 1.32. */
#ifndef GS_ABI_LOADER_H
#define GS_ABI_LOADER_H

#include "abi/abi.h"

#define GS_LOADER_MAJOR 1
#define GS_LOADER_MINOR 32
#define GS_LOADER_PATCH 0

typedef struct zel_version_t {
    int major;
    int minor;
    int patch;
} zel_version_t;

typedef struct zel_component_version_t {
    char component_name[64];
    ze_api_version_t spec_version;
    zel_version_t component_lib_version;
} zel_component_version_t;

typedef uint32_t zel_handle_type_t;
enum { GS_LOADER_HANDLE_TYPES = 14 }; /* driver, device, context ... sampler, physical memory */

typedef void (*zel_loader_teardown_callback_t)(void);
typedef void (*zel_application_teardown_callback_t)(uint32_t index);

typedef struct zel_tracer_desc_t {
    uint32_t stype;
    const void *pNext;
    void *pUserData;
} zel_tracer_desc_t;

typedef struct zel_tracer_dditable_t {
    ze_result_t (*pfnCreate)(const zel_tracer_desc_t *description, void **tracer);
    ze_result_t (*pfnDestroy)(void *tracer);
    ze_result_t (*pfnSetPrologues)(void *tracer, const void *callbacks);
    ze_result_t (*pfnSetEpilogues)(void *tracer, const void *callbacks);
    ze_result_t (*pfnSetEnabled)(void *tracer, uint8_t enable);
} zel_tracer_dditable_t;

#endif
