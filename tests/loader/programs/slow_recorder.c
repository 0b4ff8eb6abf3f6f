/* Preloaded, it makes a recorder slow where it looks at the threads of a program, stops watching pages and reads memory:
 * meanwhile threads write and end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/userfaultfd.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define NEXT(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))

static void pause_a_moment(void) {
    const struct timespec time = {0, 300000};
    nanosleep(&time, NULL);
}

/* A program that has a function for it writes itself, as another thread could. */
static void let_program_write(void) {
    void (*write_between)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "write_between");
    if (write_between != NULL)
        write_between();
}

/* The recorder makes sure that its list of threads is complete. */
off_t lseek(int file, off_t place, int from) {
    if (place > 0)
        pause_a_moment();
    return NEXT(lseek)(file, place, from);
}

int ioctl(int file, unsigned long request, ...) {
    va_list more;
    va_start(more, request);
    void *what = va_arg(more, void *);
    va_end(more);
    if (request == UFFDIO_UNREGISTER)
        pause_a_moment();
    if (request == UFFDIO_REGISTER || request == UFFDIO_UNREGISTER)
        let_program_write();
    return NEXT(ioctl)(file, request, what);
}

ssize_t process_vm_readv(pid_t process, const struct iovec *here, unsigned long count, const struct iovec *there,
                         unsigned long there_count, unsigned long flags) {
    if (here->iov_len >= 4096)
        pause_a_moment();
    return NEXT(process_vm_readv)(process, here, count, there, there_count, flags);
}
