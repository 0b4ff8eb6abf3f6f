#define _GNU_SOURCE
#include "thread.h"

#include <pthread.h>
#include <signal.h>

#include "fault.h"

bool gs_thread_start(const char *name, void *(*run)(void *), void *argument) {
    sigset_t most, before;
    pthread_t thread;
    sigfillset(&most);
    for (int each = 0; each < GS_FAULT_SIGNALS; each++)
        sigdelset(&most, gs_fault_signals[each]);
    pthread_sigmask(SIG_SETMASK, &most, &before);
    bool started = pthread_create(&thread, NULL, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) {
        pthread_setname_np(thread, name);
        pthread_detach(thread);
    }
    return started;
}
