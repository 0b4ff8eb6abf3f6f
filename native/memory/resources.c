#include "memory/resources.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "abi/abi.h"

bool gs_memory_is_available(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    munmap(memory, bytes);
    return true;
}

bool gs_files_are_available(int count) {
    int file = count > 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    bool enough = count == 0 || (file >= 0 && gs_files_are_available(count - 1));
    if (file >= 0)
        close(file);
    return enough;
}

size_t gs_address_space_limit(void) {
    struct rlimit limit;
    bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return limited ? (size_t)limit.rlim_cur : 0;
}

ze_result_t gs_result_of_errno(int number, const char **advice) {
    switch (number) {
    case ENOMEM:
    case ENOSPC:
        *advice = GS_ADVICE_ON_MEMORY;
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    case EMFILE:
    case ENFILE:
        *advice = GS_ADVICE_ON_FILES;
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    case EAGAIN:
        *advice = "end threads or processes, or raise their limit (ulimit -u)";
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    case EACCES:
    case EPERM:
        *advice = "run the program as a user who may do this";
        return ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS;
    default:
        *advice = "the driver needs this; `groundstate doctor` says what is missing";
        return ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
    }
}

int gs_errno_in(const char *text) {
    if (strstr(text, "Too many open files") != NULL)
        return EMFILE;
    bool is_memory = strstr(text, "failed to map segment") != NULL || strstr(text, "annot allocate memory") != NULL ||
                     strstr(text, "out of memory") != NULL;
    return is_memory ? ENOMEM : 0;
}

bool gs_is_exhaustion(int number) {
    const char *advice;
    return gs_result_of_errno(number, &advice) == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t gs_fail_errno(int number, const char *what) {
    const char *advice;
    ze_result_t result = gs_result_of_errno(number, &advice);
    return gs_fail(result, "%s: %s; %s", what, strerror(number), advice);
}
