/* Memory of the host that a GPU uses: memory files that the CUDA driver has pinned, so that other processes can map them. If there
 * are too many, it is memory that the CUDA driver made, which no other process can reach. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory/memory_file.h"
#include "nvidia/gpu.h"

/* More would leave the program too few descriptors. */
enum { MOST_FILES = 200 };

typedef struct host_file {
    char *base;
    uint64_t bytes;
    int fd;
} host_file;

GS_STATIC_LOCK(lock, GS_SHORT_LOCK)
static host_file files[MOST_FILES];

/* The file with an address, or a free place for NULL. Called with the lock held. */
static host_file *find_file(const char *address) {
    for (host_file *each = files; each < files + MOST_FILES; each++)
        if (address == NULL ? each->base == NULL : each->base != NULL && address >= each->base && address < each->base + each->bytes)
            return each;
    return NULL;
}

static bool note_file(const host_file *made) {
    gs_lock(&lock);
    host_file *place = find_file(NULL);
    if (place != NULL)
        *place = *made;
    gs_unlock(&lock);
    return place != NULL;
}

static host_file forget_file(const char *base) {
    host_file gone = {.base = NULL};
    gs_lock(&lock);
    host_file *found = find_file(base);
    if (found != NULL) {
        gone = *found;
        *found = (host_file){.base = NULL};
    }
    gs_unlock(&lock);
    return gone;
}

static void unmap_file(const host_file *gone) {
    munmap(gone->base, gone->bytes);
    close(gone->fd);
}

/* Portable: all GPUs of the process reach it. */
static bool take_file(const gs_gpu *gpu, char **base, uint64_t bytes) {
    int same_address = 0;
    gs_cu.device_attribute(&same_address, GS_CU_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, gpu->number);
    host_file made = {.bytes = bytes, .fd = same_address ? gs_memory_file(bytes) : -1};
    if (made.fd < 0)
        return false;
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, made.fd, 0);
    if (mapped == MAP_FAILED) {
        close(made.fd);
        return false;
    }
    *base = made.base = mapped;
    madvise(mapped, bytes, MADV_HUGEPAGE);
    if (gs_cu.host_register(mapped, bytes, GS_CU_MEMHOSTREGISTER_PORTABLE) == GS_CU_SUCCESS) {
        if (note_file(&made))
            return true;
        gs_cu.host_unregister(mapped);
    }
    unmap_file(&made);
    return false;
}

gs_cu_result gs_gpu_take_host(gs_gpu *gpu, char **base, uint64_t bytes) {
    if (take_file(gpu, base, bytes))
        return GS_CU_SUCCESS;
    return gs_cu.host_take((void **)base, bytes, GS_CU_MEMHOSTALLOC_PORTABLE);
}

void gs_gpu_give_host(gs_gpu *gpu, char *base, uint64_t bytes) {
    (void)gpu, (void)bytes;
    const host_file gone = forget_file(base);
    if (gone.base == NULL) {
        gs_cu.host_give(base);
        return;
    }
    gs_cu.host_unregister(base);
    unmap_file(&gone);
}

int gs_gpu_host_file(const char *base, uint64_t *offset, uint64_t *bytes) {
    int fd = -1;
    gs_lock(&lock);
    const host_file *found = find_file(base);
    if (found != NULL) {
        *offset = (uint64_t)(base - found->base);
        *bytes = found->bytes;
        fd = fcntl(found->fd, F_DUPFD_CLOEXEC, 0);
    }
    gs_unlock(&lock);
    return fd;
}

/* The descriptors that pools keep and that of the socket, for tests which look for others: how many there are. */
GS_EXPORT uint32_t gs_gpu_kept_files(int *fds, uint32_t capacity) {
    uint32_t count = 0;
    if (gs_gpu_listener() >= 0 && capacity > 0)
        fds[count++] = gs_gpu_listener();
    gs_lock(&lock);
    for (const host_file *each = files; each < files + MOST_FILES; each++)
        if (each->base != NULL && count < capacity)
            fds[count++] = each->fd;
    gs_unlock(&lock);
    return count;
}
