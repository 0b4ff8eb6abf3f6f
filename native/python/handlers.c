/* Starting the driver's Python half, and calling its handlers. */
#include "python/handlers.h"

#include <stdio.h>
#include <string.h>

#include "check/launch_check.h"
#include "check/order/records.h"
#include "check/uninitialised.h"
#include "check/session.h"
#include "check/host/host_report.h"
#include "memory/resources.h"
#include "objects/kernel.h"
#include "python/bootstrap.h"
#include "runtime/debugging.h"
#include "threads/fork.h"
#include "threads/lock.h"
#include "threads/wait.h"

GS_STATIC_LOCK(start_lock, GS_LONG_LOCK)
_Atomic bool gs_python_is_started;
static _Atomic bool initialised, sysman_initialised;
static ze_result_t start_failure;
static PyObject *handlers[GS_FN_COUNT];
static PyObject *compile_entry_point; /* of driver/kernel.py */
static PyObject *compile_counting;    /* likewise */
static PyObject *add_variant, *remember_variant; /* of driver/variants.py */
static PyObject *describe_kernels;    /* of driver/profiling.py */
static PyObject *end_findings; /* of driver/checking/session.py, in checked mode */
static PyObject *report_limits; /* of driver/checking/portability.py */
static PyObject *debug_launch; /* of driver/debugging/launches.py */
static PyObject *queue_changed; /* of driver/debugging/sessions/process.py */
static PyObject *report_launch; /* of driver/checking/kernel_findings.py */
static PyObject *report_command_race; /* of driver/checking/command_races.py, in checked mode */
static PyObject *report_unwritten_copy; /* of driver/checking/uninitialised_findings.py */
static PyObject *report_host_finding; /* of driver/checking/host_findings.py, if the host is checked */

/* A tuple of strings, or NULL. */
static PyObject *pack_texts(int count, const char *const *texts) {
    PyObject *tuple = gs_python.PyTuple_New(count);
    for (int each = 0; tuple != NULL && each < count; each++) {
        PyObject *text = gs_python.PyUnicode_FromString(texts[each]);
        if (text != NULL) {
            gs_python.PyTuple_SetItem(tuple, each, text);
        } else {
            gs_python.Py_DecRef(tuple);
            tuple = NULL;
        }
    }
    return tuple;
}

PyObject *gs_python_run_start(const char *definition, int count, const char *const *texts) {
    if (gs_python.PyRun_SimpleString(definition) != 0)
        return NULL;
    PyObject *main = gs_python.PyImport_AddModule("__main__");
    PyObject *start = main != NULL ? gs_python.PyObject_GetAttrString(main, "_groundstate_start") : NULL;
    PyObject *arguments = start != NULL ? pack_texts(count, texts) : NULL;
    PyObject *table = arguments != NULL ? gs_python.PyObject_Call(start, arguments, NULL) : NULL;
    gs_python_exception raised;
    gs_python.PyErr_Fetch(&raised.type, &raised.value, &raised.trace);
    gs_python.Py_DecRef(arguments);
    gs_python.Py_DecRef(start);
    gs_python.PyRun_SimpleString("del _groundstate_start");
    gs_python.PyErr_Restore(raised.type, raised.value, raised.trace);
    return table;
}

/* Whether Ctrl-C came while the driver's Python ran: it is the program's. */
static bool is_interrupted(void) {
    PyObject *type = gs_python_is_shared ? gs_python.PyErr_Occurred() : NULL;
    return type != NULL && gs_python.PyErr_GivenExceptionMatches(type, *gs_python.interrupt);
}

/* `interrupted` says that the program got a Ctrl-C meanwhile, and that the next call should try again. */
static ze_result_t load_handlers(const gs_settings *at, bool *interrupted) {
    gs_python_entry here;
    if (!gs_python_enter(&here))
        return gs_python_refuse_out_of_memory();
    const char *kind = gs_python_is_shared ? "shared" : gs_process_is_python() ? "isolated" : "alone";
    const char *texts[] = {at->library, at->root, at->site, kind};
    PyObject *table = gs_python_run_start(START, 4, texts);
    ze_result_t result = ZE_RESULT_SUCCESS;
    char text[400] = "there is no memory";
    if (table == NULL) {
        *interrupted = is_interrupted();
        result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
        if (gs_python.PyErr_Occurred() != NULL)
            result = gs_python_explain(text, sizeof text);
    }
    for (int each = 0; table != NULL && each < GS_FN_COUNT; each++)
        handlers[each] = gs_python.PyDict_GetItemString(table, gs_function_names[each]); /* the table lives on */
    if (table != NULL) {
        compile_entry_point = gs_python.PyDict_GetItemString(table, "compile_entry_point");
        compile_counting = gs_python.PyDict_GetItemString(table, "compile_counting");
        add_variant = gs_python.PyDict_GetItemString(table, "add_variant");
        remember_variant = gs_python.PyDict_GetItemString(table, "remember_variant");
        describe_kernels = gs_python.PyDict_GetItemString(table, "describe_kernels");
        end_findings = gs_python.PyDict_GetItemString(table, "end_findings");
        debug_launch = gs_python.PyDict_GetItemString(table, "debug_launch");
        queue_changed = gs_python.PyDict_GetItemString(table, "queue_changed");
        report_launch = gs_python.PyDict_GetItemString(table, "report_launch");
        report_command_race = gs_python.PyDict_GetItemString(table, "report_command_race");
        report_limits = gs_python.PyDict_GetItemString(table, "report_limits");
        report_unwritten_copy = gs_python.PyDict_GetItemString(table, "report_unwritten_copy");
        report_host_finding = gs_python.PyDict_GetItemString(table, "report_host_finding");
    }
    if (!gs_python_is_shared)
        gs_python_collect_garbage(true);
    gs_python_leave(here);
    if (table == NULL && !*interrupted)
        result = gs_python_refuse(result == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY ? result
                                                                               : ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE,
                                  "the driver's Python half did not start: %s", text);
    return result;
}

/* The driver does not know which Python to run, because a file that says so could not be read. */
static ze_result_t refuse_settings(int number) {
    const char *advice;
    ze_result_t result = gs_result_of_errno(number, &advice);
    return gs_python_refuse(result, "the driver's settings cannot be read: %s; %s", strerror(number), advice);
}

ze_result_t gs_python_start(enum gs_function function) {
    if (gs_python_is_started)
        return ZE_RESULT_SUCCESS;
    if (gs_is_abandoned())
        return gs_fail_abandoned(function);
    bool interrupted = false;
    ze_result_t result = ZE_RESULT_SUCCESS;
    gs_lock(&start_lock);
    if (!gs_python_is_started && start_failure == ZE_RESULT_SUCCESS) {
        gs_settings at;
        gs_find_settings(&at);
        start_failure = at.problem != 0 ? refuse_settings(at.problem) : gs_python_find(&at);
        if (start_failure == ZE_RESULT_SUCCESS)
            start_failure = load_handlers(&at, &interrupted);
        gs_python_is_started = start_failure == ZE_RESULT_SUCCESS;
        result = start_failure;
        if (interrupted || at.problem != 0 || start_failure == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY)
            start_failure = ZE_RESULT_SUCCESS;
    } else if (!gs_python_is_started) {
        result = gs_python_refuse_again(start_failure);
    }
    gs_unlock(&start_lock);
    if (interrupted)
        return gs_fail(ZE_RESULT_ERROR_UNKNOWN, "interrupted while the driver started");
    return result;
}

bool gs_is_initialised(void) { return initialised; }
bool gs_is_sysman_initialised(void) { return initialised || sysman_initialised; }

/* --- Calling handlers ------------------------------------------------------------------------------ */

static PyObject *convert(char type, gs_word argument) {
    if (type == 'd')
        return gs_python.PyFloat_FromDouble(argument.d);
    return type == 'i' ? gs_python.PyLong_FromLongLong(argument.i) : gs_python.PyLong_FromUnsignedLongLong(argument.u);
}

/* A tuple of the arguments, or NULL. */
static PyObject *pack(const char *types, const gs_word *arguments) {
    size_t count = strlen(types);
    PyObject *tuple = gs_python.PyTuple_New((intptr_t)count);
    for (size_t each = 0; tuple != NULL && each < count; each++) {
        PyObject *item = convert(types[each], arguments[each]);
        if (item != NULL) {
            gs_python.PyTuple_SetItem(tuple, (intptr_t)each, item);
        } else {
            gs_python.Py_DecRef(tuple);
            tuple = NULL;
        }
    }
    return tuple;
}

ze_result_t gs_python_call(PyObject *handler, const char *types, const gs_word *arguments, uint64_t *value, char *text,
                           size_t size) {
    gs_python_entry here;
    if (!gs_python_enter(&here)) {
        snprintf(text, size, "there is no memory to call Python; %s", GS_ADVICE_ON_MEMORY);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    PyObject *tuple = pack(types, arguments);
    PyObject *returned = tuple != NULL ? gs_python.PyObject_Call(handler, tuple, NULL) : NULL;
    ze_result_t result = ZE_RESULT_SUCCESS;
    gs_python.Py_DecRef(tuple);
    if (returned == NULL) {
        result = gs_python_explain(text, size);
    } else {
        *value = returned == gs_python.none ? 0 : gs_python.PyLong_AsUnsignedLongLongMask(returned);
        gs_python.Py_DecRef(returned);
    }
    gs_python_leave(here);
    return result;
}

/* Calls a handler on behalf of an API function, whose name the sentence of a failure begins with. */
static ze_result_t call(enum gs_function function, PyObject *handler, const char *types, const gs_word *arguments,
                        uint64_t *value) {
    const char *name = gs_function_names[function];
    if (!gs_python_is_started)
        return gs_fail_uninitialised(function);
    if (handler == NULL)
        return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "%s is not implemented by this driver", name);
    if (!gs_python_is_usable(&gs_python))
        return gs_fail(ZE_RESULT_ERROR_UNINITIALIZED, "%s: the process's Python has ended", name);
    char text[900];
    ze_result_t result = gs_python_call(handler, types, arguments, value, text, sizeof text);
    return result == ZE_RESULT_SUCCESS ? result : gs_fail(result, "%s: %s", name, text);
}

ze_result_t gs_call_python(enum gs_function function, const char *types, const gs_word *arguments) {
    uint64_t value = 0;
    ze_result_t result = call(function, handlers[function], types, arguments, &value);
    return result == ZE_RESULT_SUCCESS ? (ze_result_t)value : result;
}

uint64_t gs_call_python_value(enum gs_function function, const char *types, const gs_word *arguments) {
    uint64_t value = 0;
    call(function, handlers[function], types, arguments, &value);
    return value;
}

static ze_result_t compile_with(PyObject *handler, enum gs_function function, gs_entry_point *entry_point,
                                const uint32_t group_size[3]) {
    uint64_t unused;
    const gs_word arguments[] = {{.p = entry_point}, {.u = group_size[0]}, {.u = group_size[1]}, {.u = group_size[2]}};
    return call(function, handler, "uuuu", arguments, &unused);
}

ze_result_t gs_compile_entry_point(enum gs_function function, gs_entry_point *entry_point, const uint32_t group_size[3]) {
    return compile_with(compile_entry_point, function, entry_point, group_size);
}

ze_result_t gs_compile_counting(enum gs_function function, gs_entry_point *entry_point, const uint32_t group_size[3]) {
    return compile_with(compile_counting, function, entry_point, group_size);
}

/* For nobody who waits: so no function has failed if this does. */
static uint64_t call_unasked(PyObject *handler, const gs_code *code, gs_word last) {
    if (!gs_python_is_started || handler == NULL || !gs_python_is_usable(&gs_python))
        return 0;
    char text[900];
    uint64_t value = 0;
    const uint32_t *size = code->group_size;
    const gs_word arguments[] = {{.p = code->entry_point}, {.u = size[0]}, {.u = size[1]}, {.u = size[2]}, last};
    gs_python_call(handler, "uuuuu", arguments, &value, text, sizeof text);
    return value;
}

void gs_compile_variant(const gs_code *code) { call_unasked(add_variant, code, (gs_word){.u = code->variant_count}); }

void gs_remember_variant(const gs_code *code, uint32_t variant) {
    call_unasked(remember_variant, code, (gs_word){.u = variant});
}

bool gs_report_launch(const gs_code *code, const gs_launch_reports *reports) {
    return call_unasked(report_launch, code, (gs_word){.p = reports}) != 0;
}

void gs_debug_launch(const gs_code *code, gs_debugged_groups *groups) {
    uint64_t stepped = groups->stepped;
    if (call_unasked(debug_launch, code, (gs_word){.p = groups}) == 0) {
        groups->stepped = stepped;
        groups->next = UINT64_MAX;
    }
    uint64_t all = groups->dispatch->group_counts[0] * groups->dispatch->group_counts[1] * groups->dispatch->group_counts[2];
    groups->next = groups->next < all ? groups->next : all;
}

void gs_tell_of_queue(const gs_device *device, bool opened) {
    uint64_t unused;
    char text[900];
    if (gs_python_is_started && queue_changed != NULL && gs_python_is_usable(&gs_python))
        gs_python_call(queue_changed, "uu", (const gs_word[]){{.p = device}, {.u = opened}}, &unused, text, sizeof text);
}

bool gs_report_limits(const gs_code *code, uint64_t local_bytes) {
    return call_unasked(report_limits, code, (gs_word){.u = local_bytes}) != 0;
}

void gs_describe_kernels(void) {
    uint64_t unused;
    char text[900];
    if (gs_python_is_started && describe_kernels != NULL && gs_python_is_usable(&gs_python))
        gs_python_call(describe_kernels, "", NULL, &unused, text, sizeof text);
}

void gs_end_findings(void) {
    uint64_t unused;
    char text[900];
    if (gs_python_is_started && end_findings != NULL && gs_python_is_usable(&gs_python))
        gs_python_call(end_findings, "", NULL, &unused, text, sizeof text);
}

bool gs_report_command_race(const gs_command_race *race) {
    uint64_t answer = 0;
    char text[900];
    if (gs_python_is_started && report_command_race != NULL && gs_python_is_usable(&gs_python))
        gs_python_call(report_command_race, "u", (const gs_word[]){{.p = race}}, &answer, text, sizeof text);
    return answer != 0;
}

void gs_report_unwritten_copy(const char *source, uint64_t bytes, bool is_all, const gs_host_stack *appended_by) {
    uint64_t unused;
    char text[900];
    const gs_word arguments[] = {{.p = source}, {.u = bytes}, {.u = is_all}, {.p = appended_by}};
    if (gs_python_is_started && report_unwritten_copy != NULL && gs_python_is_usable(&gs_python))
        gs_python_call(report_unwritten_copy, "uuuu", arguments, &unused, text, sizeof text);
}

uint64_t gs_report_host_finding(const char *finding) {
    uint64_t answer = 0;
    char text[900];
    if (gs_python_is_started && report_host_finding != NULL && gs_python_is_usable(&gs_python))
        gs_python_call(report_host_finding, "u", (const gs_word[]){{.p = finding}}, &answer, text, sizeof text);
    return answer;
}

/* --- The functions that start it all --------------------------------------------------------------- */

ze_result_t gs_zeInit(ze_init_flags_t flags) {
    ze_result_t result = gs_python_start(GS_FN_zeInit);
    if (result == ZE_RESULT_SUCCESS)
        result = gs_call_python(GS_FN_zeInit, "u", (const gs_word[]){{.u = flags}});
    if (result == ZE_RESULT_SUCCESS)
        initialised = true;
    return result;
}

ze_result_t gs_zeInitDrivers(uint32_t *pCount, ze_driver_handle_t *phDrivers, ze_init_driver_type_desc_t *desc) {
    ze_result_t result = gs_python_start(GS_FN_zeInitDrivers);
    if (result == ZE_RESULT_SUCCESS)
        result = gs_call_python(GS_FN_zeInitDrivers, "uuu",
                                (const gs_word[]){{.p = pCount}, {.p = phDrivers}, {.p = desc}});
    if (result == ZE_RESULT_SUCCESS)
        initialised = true;
    return result;
}

ze_result_t gs_zesInit(zes_init_flags_t flags) {
    ze_result_t result = gs_python_start(GS_FN_zesInit);
    if (result == ZE_RESULT_SUCCESS)
        result = gs_call_python(GS_FN_zesInit, "u", (const gs_word[]){{.u = flags}});
    if (result == ZE_RESULT_SUCCESS)
        sysman_initialised = true;
    return result;
}
