/* Questions whose answers stay as they are for the life of the process. Python answers each once; programs that ask at every
 * step then get a copy. What is chained to a struct may change, so Python is asked for that each time. A process that was
 * lost in a fork gets no answers. */
#include <stdlib.h>
#include <string.h>

#include "objects/device.h"
#include "threads/fork.h"

/* --- Structs ------------------------------------------------------------------------------------------ */

typedef ze_base_properties_t header; /* of every struct that the API fills: not ours to write */

/* Asks Python for a struct that begins with zeros, and keeps it. */
static ze_result_t ask(enum gs_function function, void *handle, const header *asked, size_t size, void *_Atomic *kept) {
    char *fresh = calloc(1, size);
    if (fresh == NULL)
        return gs_fail_memory(function);
    ((header *)fresh)->stype = asked->stype;
    const gs_word arguments[] = {{.p = handle}, {.p = fresh}};
    ze_result_t result = gs_call_python(function, "uu", arguments);
    void *none = NULL;
    if (result != ZE_RESULT_SUCCESS || !atomic_compare_exchange_strong(kept, &none, fresh))
        free(fresh);
    return result;
}

static ze_result_t answer(enum gs_function function, void *handle, void *asked, size_t size, void *_Atomic *kept) {
    if (gs_is_abandoned())
        return gs_fail_abandoned(function);
    if (((header *)asked)->pNext != NULL) {
        const gs_word arguments[] = {{.p = handle}, {.p = asked}};
        return gs_call_python(function, "uu", arguments);
    }
    ze_result_t result = *kept != NULL ? ZE_RESULT_SUCCESS : ask(function, handle, asked, size, kept);
    if (result == ZE_RESULT_SUCCESS)
        memcpy((header *)asked + 1, (const char *)*kept + sizeof(header), size - sizeof(header));
    return result;
}

/* A program may have left both fields of the header as they were: then Python tells what is chained from what is not. */
ze_result_t gs_zeDeviceGetProperties(ze_device_handle_t hDevice, ze_device_properties_t *pDeviceProperties) {
    const bool in_cycles = pDeviceProperties->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
    return answer(GS_FN_zeDeviceGetProperties, hDevice, pDeviceProperties, sizeof *pDeviceProperties,
                  &((gs_device *)hDevice)->properties[in_cycles]);
}

ze_result_t gs_zeDriverGetProperties(ze_driver_handle_t hDriver, ze_driver_properties_t *pDriverProperties) {
    return answer(GS_FN_zeDriverGetProperties, hDriver, pDriverProperties, sizeof *pDriverProperties,
                  &((gs_driver *)hDriver)->properties);
}

/* --- Drivers and devices ------------------------------------------------------------------------------ */

/* There is one driver. */
ze_result_t gs_zeDriverGet(uint32_t *pCount, ze_driver_handle_t *phDrivers) {
    static ze_driver_handle_t _Atomic the_driver;
    if (gs_is_abandoned())
        return gs_fail_abandoned(GS_FN_zeDriverGet);
    if (the_driver == NULL) {
        uint32_t one = 1;
        ze_driver_handle_t found = NULL;
        ze_result_t result = gs_call_python(GS_FN_zeDriverGet, "uu", (const gs_word[]){{.p = &one}, {.p = &found}});
        if (result != ZE_RESULT_SUCCESS)
            return result;
        the_driver = found;
    }
    if (*pCount > 0 && phDrivers != NULL)
        phDrivers[0] = the_driver;
    *pCount = 1;
    return ZE_RESULT_SUCCESS;
}

struct gs_device_handles {
    uint32_t count;
    ze_device_handle_t all[];
};

static ze_result_t list(enum gs_function function, void *of, gs_device_handles *_Atomic *kept) {
    uint32_t count = 0;
    ze_result_t result = gs_call_python(function, "uuu", (const gs_word[]){{.p = of}, {.p = &count}, {.p = NULL}});
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_device_handles *fresh = malloc(sizeof *fresh + count * sizeof *fresh->all);
    if (fresh == NULL)
        return gs_fail_memory(function);
    fresh->count = count;
    result = gs_call_python(function, "uuu", (const gs_word[]){{.p = of}, {.p = &fresh->count}, {.p = fresh->all}});
    gs_device_handles *none = NULL;
    if (result != ZE_RESULT_SUCCESS || !atomic_compare_exchange_strong(kept, &none, fresh))
        free(fresh);
    return result;
}

/* A count of zero, or no array, asks for the number of all. */
static ze_result_t answer_list(enum gs_function function, void *of, uint32_t *count, ze_device_handle_t *handles,
                               gs_device_handles *_Atomic *kept) {
    if (gs_is_abandoned())
        return gs_fail_abandoned(function);
    ze_result_t result = *kept != NULL ? ZE_RESULT_SUCCESS : list(function, of, kept);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    const gs_device_handles *known = *kept;
    if (*count == 0 || handles == NULL) {
        *count = known->count;
        return ZE_RESULT_SUCCESS;
    }
    if (*count > known->count)
        *count = known->count;
    memcpy(handles, known->all, *count * sizeof *handles);
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeDeviceGet(ze_driver_handle_t hDriver, uint32_t *pCount, ze_device_handle_t *phDevices) {
    return answer_list(GS_FN_zeDeviceGet, hDriver, pCount, phDevices, &((gs_driver *)hDriver)->devices);
}

ze_result_t gs_zeDeviceGetSubDevices(ze_device_handle_t hDevice, uint32_t *pCount, ze_device_handle_t *phSubdevices) {
    return answer_list(GS_FN_zeDeviceGetSubDevices, hDevice, pCount, phSubdevices, &((gs_device *)hDevice)->subdevices);
}
