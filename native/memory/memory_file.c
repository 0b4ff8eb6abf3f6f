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

enum { NAME_BYTES = 64 };

static bool choose_name(char name[NAME_BYTES]) {
    unsigned long long secret[2];
    if (getrandom(secret, sizeof secret, 0) != sizeof secret)
        return false;
    snprintf(name, NAME_BYTES, "groundstate-%016llx%016llx", secret[0], secret[1]);
    return true;
}

GS_EXPORT int gs_memory_file(uint64_t size) {
    char name[NAME_BYTES];
    return choose_name(name) ? gs_memory_file_named(name, size) : -1;
}

int gs_memory_note(const void *contents, uint64_t size) {
    char name[NAME_BYTES];
    int fd = choose_name(name) ? memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
    if (fd >= 0 && write(fd, contents, size) == (ssize_t)size &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}
