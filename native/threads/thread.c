#define _GNU_SOURCE
#include "threads/thread.h"

#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>

#include "faults/fault.h"
#include "memory/resources.h"

/* A small stack is for processes with little address space. */
enum { GUARD_BYTES = 1 << 20, SMALL_STACK_BYTES = 1 << 20 };

/* What a thread takes with its stack and the memory of its kernels; and an arena of the C library, which has one for
 * almost every thread that allocates. */
enum { THREAD_BYTES = 8 << 20, ARENA_BYTES = 64 << 20 };

/* Workers and arenas may each take this part of a limited address space. */
enum { SHARE = 8 };

size_t gs_thread_limit(void) {
    size_t limit = gs_address_space_limit();
    return limit == 0 ? SIZE_MAX : limit / SHARE / THREAD_BYTES;
}

static void save_address_space(pthread_attr_t *attributes) {
    size_t limit = gs_address_space_limit();
    if (limit == 0)
        return;
    pthread_attr_setstacksize(attributes, GUARD_BYTES + SMALL_STACK_BYTES);
#ifdef M_ARENA_MAX
    size_t arenas = limit / SHARE / ARENA_BYTES;
    mallopt(M_ARENA_MAX, arenas == 0 ? 1 : arenas > INT_MAX ? INT_MAX : (int)arenas);
#endif
}

bool gs_thread_start(const char *name, void *(*run)(void *), void *argument) {
    sigset_t most, before;
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    /* Kernels run on it: no frame of theirs steps over this guard and goes on in memory of the program. */
    pthread_attr_setguardsize(&attributes, GUARD_BYTES);
    save_address_space(&attributes);
    sigfillset(&most);
    for (int each = 0; each < GS_FAULT_SIGNALS; each++)
        sigdelset(&most, gs_fault_signals[each]);
    pthread_sigmask(SIG_SETMASK, &most, &before);
    bool started = pthread_create(&thread, &attributes, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (started) {
        pthread_setname_np(thread, name);
        pthread_detach(thread);
    }
    return started;
}
