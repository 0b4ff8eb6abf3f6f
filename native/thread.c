#define _GNU_SOURCE
#include "thread.h"

#include <pthread.h>
#include <signal.h>

#include "fault.h"

enum { GUARD_BYTES = 1 << 20 };

bool gs_thread_start(const char *name, void *(*run)(void *), void *argument) {
    sigset_t most, before;
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    /* Kernels run on it: no frame of theirs steps over this guard and goes on in memory of the program. */
    pthread_attr_setguardsize(&attributes, GUARD_BYTES);
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
