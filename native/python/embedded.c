/* The embedded interpreter for other libraries of this package. */
#include "python/embedded.h"

#include <stdio.h>

#include "memory/resources.h"
#include "python/bootstrap.h"
#include "python/handlers.h"
#include "threads/fork.h"

int gs_embedded_import(const char *module, const char *library, const char *const *names, int count, void **found,
                   char *text, size_t size) {
    ze_result_t result = gs_python_start(GS_FN_zeInit);
    if (result != ZE_RESULT_SUCCESS) {
        snprintf(text, size, "%s", gs_last_error_text());
        return (int)result;
    }
    gs_python_entry here;
    if (!gs_python_enter(&here)) {
        snprintf(text, size, "there is no memory to import %s; %s", module, GS_ADVICE_ON_MEMORY);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    PyObject *table = gs_python_run_start(IMPORT_MODULE, 2, (const char *const[]){module, library});
    if (table == NULL) {
        snprintf(text, size, "%s cannot be imported", module);
        result = gs_python.PyErr_Occurred() != NULL ? gs_python_explain(text, size) : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
        if (result != ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY)
            result = ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
    }
    for (int each = 0; table != NULL && each < count; each++)
        found[each] = gs_python.PyDict_GetItemString(table, names[each]); /* the table lives on */
    gs_python_leave(here);
    return (int)result;
}

int gs_embedded_call(void *handler, const char *types, const gs_word *arguments, uint64_t *value, char *text,
                  size_t size) {
    if (gs_is_abandoned())
        snprintf(text, size, "the process was forked while the driver was at work");
    else if (gs_python_is_usable(&gs_python))
        return (int)gs_python_call(handler, types, arguments, value, text, size);
    else
        snprintf(text, size, "the process's Python has ended");
    return (int)(gs_is_abandoned() ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_ERROR_UNINITIALIZED);
}
