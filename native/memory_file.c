#define _GNU_SOURCE
#include "memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "door.h"

GS_EXPORT int gs_memory_file(uint64_t size) {
    int fd = memfd_create("groundstate", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}
