#define _GNU_SOURCE
#include "thread.h"

#include <pthread.h>
#include <signal.h>

bool gs_thread_start(const char *name, void *(*run)(void *), void *argument) {
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, NULL, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) {
        pthread_setname_np(thread, name);
        pthread_detach(thread);
    }
    return started;
}
