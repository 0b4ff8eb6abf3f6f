#define _GNU_SOURCE
#include "memory/memory_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "abi/abi.h"

int gs_memory_file_named(const char *name, uint64_t size) {
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

GS_EXPORT int gs_memory_file(uint64_t size) {
    unsigned long long secret[2];
    if (getrandom(secret, sizeof secret, 0) != sizeof secret)
        return -1;
    char name[64];
    snprintf(name, sizeof name, "groundstate-%016llx%016llx", secret[0], secret[1]);
    return gs_memory_file_named(name, size);
}
