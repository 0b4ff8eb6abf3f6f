/* Waiting for events of system management (zesDriverEventListen). Python looks (driver/sysman/events.py); the waiting in between is done
 * here, so that no interpreter is kept from its work for as long as nothing happens. */
#include "abi/abi.h"
#include "threads/wait.h"

/* What happens on a machine shows in files that cannot be waited for. */
static const uint64_t LOOK_EVERY = 100000000;
static const uint64_t MILLISECOND = 1000000;

static bool never(void *unused) {
    (void)unused;
    return false;
}

/* False if the host program wants its thread back. */
static bool sleep_for(uint64_t nanoseconds) {
    static gs_futex silent;
    return gs_futex_wait(&silent, never, NULL, nanoseconds, true) != GS_WAIT_INTERRUPTED;
}

ze_result_t gs_zesDriverEventListenEx(ze_driver_handle_t hDriver, uint64_t timeout, uint32_t count,
                                      zes_device_handle_t *phDevices, uint32_t *pNumDeviceEvents,
                                      zes_event_type_flags_t *pEvents) {
    const gs_word arguments[] = {{.p = hDriver},   {.u = 0},                {.u = count},
                                 {.p = phDevices}, {.p = pNumDeviceEvents}, {.p = pEvents}};
    uint64_t start = gs_clock(CLOCK_MONOTONIC);
    uint64_t limit = timeout > UINT64_MAX / MILLISECOND ? GS_FOREVER : timeout * MILLISECOND;
    bool was_registered = false;
    for (;;) {
        ze_result_t result = gs_call_python(GS_FN_zesDriverEventListenEx, "uuuuuu", arguments);
        uint64_t passed = gs_clock(CLOCK_MONOTONIC) - start;
        bool registered = result != ZE_RESULT_NOT_READY;
        if (!registered)
            result = ZE_RESULT_SUCCESS;
        /* Whoever takes back the events that somebody listens to, as a program that ends, wants that to stop. */
        bool taken_back = was_registered && !registered;
        if (result != ZE_RESULT_SUCCESS || *pNumDeviceEvents > 0 || passed >= limit || taken_back)
            return result;
        was_registered = registered;
        if (!sleep_for(limit - passed < LOOK_EVERY ? limit - passed : LOOK_EVERY))
            return gs_not_ready(GS_FN_zesDriverEventListenEx);
    }
}

ze_result_t gs_zesDriverEventListen(ze_driver_handle_t hDriver, uint32_t timeout, uint32_t count,
                                    zes_device_handle_t *phDevices, uint32_t *pNumDeviceEvents,
                                    zes_event_type_flags_t *pEvents) {
    uint64_t milliseconds = timeout == UINT32_MAX ? UINT64_MAX : timeout;
    ze_result_t result =
        gs_zesDriverEventListenEx(hDriver, milliseconds, count, phDevices, pNumDeviceEvents, pEvents);
    return result == ZE_RESULT_SUCCESS ? result : gs_fail_for(GS_FN_zesDriverEventListen, result);
}
