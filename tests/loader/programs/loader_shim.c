/* Does what a loader shim that is linked into a program does with the loader it opens: finds it in
 * ZEL_LIBRARY_PATH, asks for its version, fills its own tables, initialises, and registers for teardown. */
#include <dlfcn.h>

#include "common.h"
#include <level_zero/loader/ze_loader.h>
#include <level_zero/ze_ddi.h>

typedef void (*told_t)(void);
typedef void (*forget_t)(uint32_t index);

static void being_torn_down(void) {
    puts("torn down");
}

static void *entry(void *loader, const char *name) {
    void *address = dlsym(loader, name);
    if (address == NULL) {
        fprintf(stderr, "%s is missing\n", name);
        exit(1);
    }
    return address;
}

static void check_version(void *loader) {
    ze_result_t (*versions)(size_t *, zel_component_version_t *);
    ze_result_t (*version)(zel_component_version_t *);
    *(void **)&versions = entry(loader, "zelLoaderGetVersionsInternal");
    *(void **)&version = entry(loader, "zelLoaderGetVersion");
    size_t count = 0;
    CHECK(versions(&count, NULL));
    REQUIRE(count == 1);
    zel_component_version_t component, again;
    CHECK(versions(&count, &component));
    CHECK(version(&again));
    REQUIRE(strcmp(component.component_name, "loader") == 0);
    REQUIRE(strcmp(again.component_name, "loader") == 0);
    REQUIRE(version(NULL) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
    printf("loader %d.%d.%d api %u.%u\n", component.component_lib_version.major,
           component.component_lib_version.minor, component.component_lib_version.patch,
           ZE_MAJOR_VERSION(component.spec_version), ZE_MINOR_VERSION(component.spec_version));
}

static void check_translation(void *loader, ze_device_handle_t device) {
    ze_result_t (*translate)(uint32_t, void *, void **);
    *(void **)&translate = entry(loader, "zelLoaderTranslateHandleInternal");
    void *same = NULL;
    CHECK(translate(1, device, &same));
    REQUIRE(same == device);
    REQUIRE(translate(99, device, &same) == ZE_RESULT_ERROR_INVALID_ENUMERATION);
    REQUIRE(translate(1, NULL, &same) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
}

static int calls_seen;

static void on_driver_get(void *params, ze_result_t result, void *user_data, void **instance_data) {
    (void)params, (void)result, (void)instance_data;
    *(int *)user_data += 1;
}

static void check_tracing(void *loader, ze_driver_dditable_t *driver) {
    void *(*tracing)(void);
    ze_result_t (*enable)(void), (*disable)(void), (*state)(bool *);
    ze_result_t (*table)(uint32_t, void *), (*on_get)(void *, uint32_t, void *);
    *(void **)&tracing = entry(loader, "zeLoaderGetTracingHandle");
    *(void **)&enable = entry(loader, "zelEnableTracingLayer");
    *(void **)&disable = entry(loader, "zelDisableTracingLayer");
    *(void **)&state = entry(loader, "zelGetTracingLayerState");
    *(void **)&table = entry(loader, "zelGetTracerApiProcAddrTable");
    REQUIRE(tracing() != NULL);
    *(void **)&on_get = entry(tracing(), "zelTracerDriverGetRegisterCallback");
    bool enabled = true;
    CHECK(state(&enabled));
    REQUIRE(!enabled);
    CHECK(enable());
    CHECK(state(&enabled));
    REQUIRE(enabled);
    CHECK(disable());

    struct {
        ze_result_t (*create)(const void *, void **), (*destroy)(void *);
        ze_result_t (*set_prologues)(void *, void *), (*set_epilogues)(void *, void *);
        ze_result_t (*set_enabled)(void *, ze_bool_t);
    } functions;
    CHECK(table(ZE_API_VERSION_CURRENT, &functions));
    struct {
        uint32_t stype;
        const void *next;
        void *user_data;
    } description = {1, NULL, &calls_seen};
    void *tracer = NULL;
    CHECK(functions.create(&description, &tracer));
    CHECK(on_get(tracer, 1, on_driver_get));
    CHECK(functions.set_enabled(tracer, true));
    uint32_t count = 0;
    CHECK(driver->pfnGet(&count, NULL));
    CHECK(functions.set_enabled(tracer, false));
    REQUIRE(calls_seen == 1);
    CHECK(functions.destroy(tracer));
}

static void check_teardown_list(void *loader) {
    ze_result_t (*subscribe)(told_t, forget_t *, uint32_t *);
    bool (*in_teardown)(void);
    *(void **)&subscribe = entry(loader, "zelRegisterTeardownCallback");
    *(void **)&in_teardown = entry(loader, "zelCheckIsLoaderInTearDown");
    forget_t forget = NULL;
    uint32_t first = 0, second = 0;
    REQUIRE(subscribe(NULL, &forget, &first) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
    CHECK(subscribe(being_torn_down, &forget, &first));
    CHECK(subscribe(being_torn_down, &forget, &second));
    REQUIRE(first != second);
    forget(first); /* so that the sentence appears once */
    REQUIRE(!in_teardown());
}

int main(int count, char **arguments) {
    REQUIRE(count == 2);
    void *loader = dlopen(arguments[1], RTLD_LAZY | RTLD_LOCAL);
    REQUIRE(loader != NULL);
    ze_result_t (*loader_init)(void), (*driver_check)(uint32_t, void *, void *, void *, bool *, bool);
    *(void **)&loader_init = entry(loader, "zeLoaderInit");
    *(void **)&driver_check = entry(loader, "zelLoaderDriverCheck");
    CHECK(loader_init());
    check_version(loader);

    ze_global_dditable_t global = {0};
    ze_driver_dditable_t driver = {0};
    ze_device_dditable_t device = {0};
    ze_pfnGetGlobalProcAddrTable_t get_global;
    ze_pfnGetDriverProcAddrTable_t get_driver;
    ze_pfnGetDeviceProcAddrTable_t get_device;
    *(void **)&get_global = entry(loader, "zeGetGlobalProcAddrTable");
    *(void **)&get_driver = entry(loader, "zeGetDriverProcAddrTable");
    *(void **)&get_device = entry(loader, "zeGetDeviceProcAddrTable");
    CHECK(get_global(ZE_API_VERSION_CURRENT, &global));
    CHECK(get_driver(ZE_API_VERSION_CURRENT, &driver));
    CHECK(get_device(ZE_API_VERSION_CURRENT, &device));
    bool again = false;
    CHECK(driver_check(0, NULL, &global, NULL, &again, false));
    REQUIRE(!again);
    CHECK(global.pfnInit(0));

    uint32_t one = 1;
    ze_driver_handle_t first_driver = NULL;
    ze_device_handle_t first_device_found = NULL;
    CHECK(driver.pfnGet(&one, &first_driver));
    CHECK(device.pfnGet(first_driver, &one, &first_device_found));
    check_translation(loader, first_device_found);
    check_tracing(loader, &driver);
    check_teardown_list(loader);
    return 0;
}
