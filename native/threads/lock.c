#include "threads/lock.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "abi/abi.h"
#include "threads/wait.h"

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static gs_mutex *all;

/* A short lock is given back in a moment, so that it is better to spin than to sleep: when a job arrives, all workers of a
 * device want the same one. */
static void init(gs_mutex *mutex) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
#if defined(__GLIBC__)
    if (mutex->kind == GS_SHORT_LOCK)
        pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
    pthread_mutex_init(&mutex->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

/* The constructors of static locks run before any thread of the driver. */
void gs_mutex_open(gs_mutex *mutex, gs_lock_kind kind) {
    *mutex = (gs_mutex){.kind = kind, .link = &all};
    init(mutex);
    pthread_mutex_lock(&all_lock);
    mutex->next = all;
    if (all != NULL)
        all->link = &mutex->next;
    all = mutex;
    pthread_mutex_unlock(&all_lock);
}

void gs_mutex_close(gs_mutex *mutex) {
    pthread_mutex_lock(&all_lock);
    *mutex->link = mutex->next;
    if (mutex->next != NULL)
        mutex->next->link = mutex->link;
    pthread_mutex_unlock(&all_lock);
    pthread_mutex_destroy(&mutex->mutex);
}

/* --- Checking ---------------------------------------------------------------------------------------- */

_Atomic bool gs_checks_waits;
static _Thread_local int short_locks; /* that this thread holds */

/* The Python half says what the knob says. */
GS_EXPORT void gs_check_waits(bool enable) { gs_checks_waits = enable; }

__attribute__((noreturn)) static void complain(const char *what, const char *why) {
    fprintf(stderr, "groundstate: a thread must not come to %s while it holds %s (GROUNDSTATE_CHECK_WAITS)\n", what, why);
    abort();
}

void gs_check_wait(const char *what) {
    if (short_locks > 0)
        complain(what, "a short lock");
    if (gs_holds_python())
        complain(what, "the interpreter's lock");
}

void gs_check_lock(const gs_mutex *mutex) {
    if (mutex->kind == GS_LONG_LOCK)
        gs_check_wait("a long lock");
    else
        short_locks++;
}

void gs_check_unlock(const gs_mutex *mutex) {
    if (mutex->kind == GS_SHORT_LOCK)
        short_locks--;
}

/* For the tests: a wait, called with the interpreter's lock held or not. */
GS_EXPORT void gs_check_now(void) { gs_may_wait("a wait of the tests"); }

/* --- Forking ----------------------------------------------------------------------------------------- */

static void give(gs_mutex *mutex) {
    if (mutex->is_taken)
        pthread_mutex_unlock(&mutex->mutex);
    mutex->is_taken = false;
}

static void give_all(void) {
    for (gs_mutex *each = all; each != NULL; each = each->next)
        give(each);
}

/* Takes all that can be had at once; the first that cannot be is returned. */
static gs_mutex *try_all(void) {
    for (gs_mutex *each = all; each != NULL; each = each->next) {
        each->is_taken = pthread_mutex_trylock(&each->mutex) == 0;
        if (!each->is_taken)
            return each;
    }
    return NULL;
}

/* Who holds a short lock gives it back in a moment, but may want another one first: so none is kept in between. There is
 * an end to it, because a thread that forks in a signal handler may hold one itself. */
bool gs_locks_take(void) {
    uint64_t start = gs_clock(CLOCK_MONOTONIC);
    pthread_mutex_lock(&all_lock);
    for (gs_mutex *busy; (busy = try_all()) != NULL; sched_yield()) {
        give_all();
        if (busy->kind == GS_LONG_LOCK || gs_clock(CLOCK_MONOTONIC) - start > GS_FORK_PATIENCE)
            return false;
    }
    return true;
}

void gs_locks_give(void) {
    give_all();
    pthread_mutex_unlock(&all_lock);
}

void gs_locks_renew(void) {
    for (gs_mutex *each = all; each != NULL; each = each->next)
        if (each->is_taken)
            give(each);
        else
            init(each);
    pthread_mutex_unlock(&all_lock);
}
