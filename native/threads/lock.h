/* Locks, and the rules by which the driver never waits for itself.
 *
 * A short lock guards a few words. Who holds one neither waits nor enters Python, so that anybody may take it, also with
 * the interpreter's lock held. A long lock may be held by a thread that waits for the device, runs a command or enters
 * Python; to take one is to wait. Nobody waits while holding the interpreter's lock: every call that Python answers
 * would wait along. With GROUNDSTATE_CHECK_WAITS, as in the tests, a thread that breaks a rule ends the process. */
#ifndef GS_THREADS_LOCK_H
#define GS_THREADS_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum { GS_SHORT_LOCK, GS_LONG_LOCK } gs_lock_kind;

typedef struct gs_mutex {
    pthread_mutex_t mutex;
    gs_lock_kind kind;
    struct gs_mutex *next, **link; /* in the list of all, for fork.c */
    bool is_taken;                 /* by a thread that forks */
} gs_mutex;

void gs_mutex_open(gs_mutex *mutex, gs_lock_kind kind);
void gs_mutex_close(gs_mutex *mutex);

/* A lock of one source file. */
#define GS_STATIC_LOCK(name, kind)                       \
    static gs_mutex name = {PTHREAD_MUTEX_INITIALIZER, kind, NULL, NULL, false}; \
    __attribute__((constructor)) static void open_##name(void) { gs_mutex_open(&name, kind); }

extern _Atomic bool gs_checks_waits;
static inline bool gs_is_checking(void) {
    return __builtin_expect(atomic_load_explicit(&gs_checks_waits, memory_order_relaxed), false);
}
void gs_check_lock(const gs_mutex *mutex);
void gs_check_unlock(const gs_mutex *mutex);
void gs_check_wait(const char *what);

static inline void gs_lock(gs_mutex *mutex) {
    if (gs_is_checking())
        gs_check_lock(mutex);
    pthread_mutex_lock(&mutex->mutex);
}

static inline void gs_unlock(gs_mutex *mutex) {
    pthread_mutex_unlock(&mutex->mutex);
    if (gs_is_checking())
        gs_check_unlock(mutex);
}

/* Before whatever may take long because of the device, another process, a file or Python. */
static inline void gs_may_wait(const char *what) {
    if (gs_is_checking())
        gs_check_wait(what);
}

/* Nanoseconds for which a thread that forks waits for what others do in an instant, if they get a CPU. */
#define GS_FORK_PATIENCE UINT64_C(5000000000)

/* Around a fork. Takes every lock; false, and none, if another thread keeps one. */
bool gs_locks_take(void);
void gs_locks_give(void);
/* In the child: those that could not be taken are made anew, as nobody will ever give them back. */
void gs_locks_renew(void);

/* True if this thread holds the lock of the driver's interpreter; defined in python/gil.c. */
bool gs_holds_python(void);

#endif
