/* Entering and leaving Python, with its lock (the GIL), and Ctrl-C in a program that is Python itself. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "python/interpreter.h"
#include "threads/fork.h"
#include "threads/lock.h"
#include "threads/wait.h"

/* --- Entering Python ------------------------------------------------------------------------------- */

/* More than Python allocates for a thread that calls it. */
static const size_t ENTRY_BYTES = 64 << 10;

static int gil_holders;           /* under way, on all threads; counted under Python's lock */
static bool was_collecting;

/* The threads on their way into Python, in it or on their way out, and how often this one is among them: for fork.c. */
GS_STATIC_LOCK(entries_lock, GS_SHORT_LOCK)
static int entries;
static _Thread_local int own_entries;

static void count_entry(int change) {
    gs_lock(&entries_lock);
    entries += change;
    gs_unlock(&entries_lock);
    own_entries += change;
}

/* In a program that shares its interpreter, other threads of it may be in Python, unless this one is. */
bool gs_python_is_at_rest(void) { return entries == own_entries && (!gs_python_is_shared || gs_holds_python()); }

void gs_python_abandon(void) {
    entries = own_entries;
    gs_python_is_started = false; /* so that no handler is called */
    if (gs_python_is_shared && was_collecting && gil_holders > 0 && gs_python.PyGC_Enable != NULL &&
        gs_python.PyGILState_Check())
        gs_python.PyGC_Enable();
}

/* Python ends the process if there is no memory to make a thread known to it. */
static bool can_enter(void) {
    if (gs_python.PyGILState_GetThisThreadState() != NULL)
        return true;
    void *memory = malloc(ENTRY_BYTES);
    free(memory);
    return memory != NULL;
}

/* An interpreter of the driver's own rests from it while it starts: what is imported stays. */
void gs_python_collect_garbage(bool collects) {
    int (*change)(void) = collects ? gs_python.PyGC_Enable : gs_python.PyGC_Disable;
    if (change != NULL)
        change();
}

/* In a process that is Python, its garbage collector rests
 * meanwhile: it would run destructors of the program inside of this call, and some of them wait for locks that the
 * caller holds. */
bool gs_python_enter(gs_python_entry *here) {
    gs_may_wait("Python");
    count_entry(1);
    if (!can_enter()) {
        count_entry(-1);
        return false;
    }
    here->state = gs_python.PyGILState_Ensure();
    if (gs_python_is_shared && gil_holders++ == 0)
        was_collecting = gs_python.PyGC_Disable != NULL && gs_python.PyGC_Disable() == 1;
    gs_python.PyErr_Fetch(&here->type, &here->value, &here->trace);
    return true;
}

void gs_python_leave(gs_python_entry here) {
    gs_python.PyErr_Restore(here.type, here.value, here.trace);
    if (gs_python_is_shared && --gil_holders == 0 && was_collecting && gs_python.PyGC_Enable != NULL)
        gs_python.PyGC_Enable();
    gs_python.PyGILState_Release(here.state);
    count_entry(-1);
}

/* An interpreter that has ended says yes to everybody: so it is asked before it is looked at. */
bool gs_holds_python(void) {
    return gs_python_is_started && gs_python.PyGILState_Check != NULL && gs_python.PyGILState_Check() &&
           gs_python_is_usable(&gs_python);
}

/* --- Exceptions of the program ------------------------------------------------------------------------- */

static int raise_again(void *argument) {
    gs_python_exception *raised = argument;
    gs_host_python.PyErr_Restore(raised->type, raised->value, raised->trace);
    free(raised);
    return -1;
}

void gs_python_raise_later(gs_python_exception raised) {
    gs_python_exception *kept = malloc(sizeof *kept);
    if (kept != NULL) {
        *kept = raised;
        if (gs_host_python.Py_AddPendingCall(raise_again, kept) == 0)
            return;
    }
    free(kept);
    gs_host_python.Py_DecRef(raised.type);
    gs_host_python.Py_DecRef(raised.value);
    gs_host_python.Py_DecRef(raised.trace);
}

/* Lets a hosting Python run its signal handlers, which it does on its main thread only. If one raises (KeyboardInterrupt), the exception is set
 * aside until the call that waits has returned to Python, which it now should. */
bool gs_python_interrupt(void) {
    if (!gs_python_knows_host() || !gs_python_is_started || syscall(SYS_gettid) != getpid() || !gs_python_is_usable(&gs_host_python))
        return false;
    int state = gs_host_python.PyGILState_Ensure();
    bool interrupted = gs_host_python.PyErr_CheckSignals() != 0;
    if (interrupted) {
        gs_python_exception raised;
        gs_host_python.PyErr_Fetch(&raised.type, &raised.value, &raised.trace);
        gs_python_raise_later(raised);
    }
    gs_host_python.PyGILState_Release(state);
    return interrupted;
}
