/* Hooks in Python, in an interpreter of their own.
 *
 * It runs in a copy of libpython that neither the program nor the driver shares (isolated_library.h): whoever calls a hooked function
 * may hold the lock of another interpreter, or wait for somebody who does. What a script does is in Python itself
 * (groundstate.capture.scripting.entry); here is only the way there. */
#include <dlfcn.h>
#include <stdio.h>
#include <wchar.h>

#include "capture/script/script.h"
#include "python/isolated_library.h"
#include "python/python_api.h"
#include "python/settings.h"

#define PYTHON_API(X) \
    GS_PYTHON_API(X)  \
    X(void, PyErr_Print, (void))

static struct interpreter {
    PYTHON_API(GS_PYTHON_POINTER)
    void (*Py_SetProgramName)(const wchar_t *); /* gone in some future version */
    PyObject *none;
} python;

static PyObject *asked, *told; /* what Python has for calls and for events */

/* Imports the package from beside this library and runs the script. */
static const char START[] =
    "def _start(library, root, site, script, soname):\n"
    "    import os, sys\n"
    "    path, scope = os.path.join(root, 'groundstate', 'driver', 'isolated.py'), {'__name__': 'isolated'}\n"
    "    with open(path, encoding='utf-8') as file:\n"
    "        exec(compile(file.read(), path, 'exec'), scope)\n"
    "    scope['prepare'](soname.encode())\n"
    "    import site\n"
    "    site.main()\n"
    "    sys.path.insert(0, root)\n"
    "    if site and site not in sys.path:\n"
    "        sys.path.append(site)\n"
    "    from groundstate.capture.scripting import entry\n"
    "    return entry.start(library, script)\n";

static bool look_up(struct interpreter *to, void *from) {
    bool complete = true;
    PYTHON_API(GS_PYTHON_LOOK_UP)
    *(void **)&to->Py_SetProgramName = dlsym(from, "Py_SetProgramName");
    to->none = dlsym(from, "_Py_NoneStruct");
    return complete && to->none != NULL;
}

/* The program's PYTHONHOME and PYTHONPATH are for some other Python, and extension modules need some preparation. */
static void start_interpreter(const gs_settings *at, void *libpython) {
    static const char *const FLAGS[] = {"Py_IgnoreEnvironmentFlag", "Py_NoSiteFlag"};
    for (size_t each = 0; each < sizeof FLAGS / sizeof *FLAGS; each++) {
        int *flag = dlsym(libpython, FLAGS[each]);
        if (flag != NULL)
            *flag = 1;
    }
    wchar_t *name = at->executable[0] != 0 ? python.Py_DecodeLocale(at->executable, NULL) : NULL;
    if (python.Py_SetProgramName != NULL && name != NULL)
        python.Py_SetProgramName(name); /* Python keeps the pointer */
    python.Py_InitializeEx(0);
    python.PyEval_SaveThread();
}

/* Calls a function and gives up the references to its arguments; NULL after an exception, which is printed. */
static PyObject *call(PyObject *function, int count, PyObject *const *arguments) {
    PyObject *tuple = python.PyTuple_New(count);
    for (int each = 0; each < count; each++)
        python.PyTuple_SetItem(tuple, each, arguments[each]);
    PyObject *answer = python.PyObject_Call(function, tuple, NULL);
    python.Py_DecRef(tuple);
    if (answer == NULL)
        python.PyErr_Print();
    return answer;
}

static bool run_script(const gs_settings *at, const char *script) {
    const char *const texts[] = {at->library, at->root, at->site, script, GS_SCRIPTS_SONAME};
    PyObject *arguments[5];
    if (python.PyRun_SimpleString(START) != 0)
        return false;
    PyObject *start = python.PyObject_GetAttrString(python.PyImport_AddModule("__main__"), "_start");
    for (int each = 0; each < 5; each++)
        arguments[each] = python.PyUnicode_FromString(texts[each]);
    PyObject *entry = call(start, 5, arguments);
    python.Py_DecRef(start);
    if (entry == NULL || entry == python.none)
        return false;
    asked = python.PyObject_GetAttrString(entry, "ask");
    told = python.PyObject_GetAttrString(entry, "tell");
    python.Py_DecRef(entry);
    return asked != NULL && told != NULL;
}

static bool python_load(const char *script) {
    gs_settings at;
    gs_find_settings(&at);
    void *libpython = at.libpython[0] != 0 ? gs_open_isolated(at.libpython, GS_SCRIPTS_SONAME) : NULL;
    if (libpython == NULL || !look_up(&python, libpython)) {
        fprintf(stderr, "groundstate: scripts in Python need libpython%s.so; install it (Debian: apt install "
                        "libpython%s)\n", at.version, at.version);
        return false;
    }
    start_interpreter(&at, libpython);
    int lock = python.PyGILState_Ensure();
    bool loaded = run_script(&at, script);
    python.PyGILState_Release(lock);
    return loaded;
}

static bool python_call(gc_hooked_call *hooked) {
    int lock = python.PyGILState_Ensure();
    PyObject *arguments[] = {python.PyLong_FromLongLong(hooked->function),
                             python.PyLong_FromUnsignedLongLong((uintptr_t)hooked->words)};
    PyObject *answer = call(asked, 2, arguments);
    hooked->answered = answer != NULL && answer != python.none;
    if (hooked->answered)
        hooked->answer = python.PyLong_AsUnsignedLongLongMask(answer);
    if (answer != NULL)
        python.Py_DecRef(answer);
    python.PyGILState_Release(lock);
    return hooked->answered;
}

static void python_event(const char *name, int64_t number) {
    int lock = python.PyGILState_Ensure();
    PyObject *arguments[] = {python.PyUnicode_FromString(name), python.PyLong_FromLongLong(number)};
    PyObject *answer = call(told, 2, arguments);
    if (answer != NULL)
        python.Py_DecRef(answer);
    python.PyGILState_Release(lock);
}

const gc_language gc_python_language = {python_load, python_call, python_event};
