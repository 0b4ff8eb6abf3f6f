#define _GNU_SOURCE
#include "standin.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static block *blocks;
static size_t used;

static size_t total(void) {
    const char *text = getenv("STANDIN_MEMORY");
    return text != NULL ? strtoull(text, NULL, 0) : (size_t)1 << 30;
}

bool standin_charge(int64_t bytes) {
    pthread_mutex_lock(&lock);
    bool fits = bytes <= 0 || (size_t)bytes <= total() - used;
    if (fits)
        used += (size_t)bytes;
    pthread_mutex_unlock(&lock);
    return fits;
}

/* As the GPU's, at a multiple of 2 MiB, and not for the host. */
static char *place(size_t span) {
    char *reserved = mmap(NULL, span + (2 << 20), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return (char *)(((uintptr_t)reserved + (2 << 20) - 1) & ~(uintptr_t)((2 << 20) - 1));
}

static int take(size_t size, int kind, char **base) {
    size_t span = (size + 4095) & ~(size_t)4095;
    if (standin_error != SUCCESS)
        return standin_error;
    if (size == 0)
        return INVALID_VALUE;
    if (kind != HOST_MEMORY && !standin_charge((int64_t)span))
        return OUT_OF_MEMORY;
    int fd = memfd_create("standin", MFD_CLOEXEC);
    block *made = calloc(1, sizeof *made);
    if (fd < 0 || ftruncate(fd, (off_t)span) != 0)
        abort();
    made->alias = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    made->base = made->alias;
    if (kind == DEVICE_MEMORY)
        made->base = place(span);
    close(fd);
    made->size = span;
    made->kind = kind;
    made->device = standin_device;
    memset(made->alias, 0xCD, span);
    pthread_mutex_lock(&lock);
    made->next = blocks;
    blocks = made;
    pthread_mutex_unlock(&lock);
    *base = made->base;
    return SUCCESS;
}

static int give(uint64_t address) {
    pthread_mutex_lock(&lock);
    block **link = &blocks;
    while (*link != NULL && (uint64_t)(uintptr_t)(*link)->base != address)
        link = &(*link)->next;
    block *found = *link;
    if (found != NULL)
        *link = found->next;
    if (found != NULL && found->kind != HOST_MEMORY)
        used -= found->size;
    pthread_mutex_unlock(&lock);
    if (found == NULL)
        return INVALID_VALUE;
    if (!found->is_registered)
        munmap(found->alias, found->size);
    free(found);
    return SUCCESS;
}

uint64_t standin_add_file(int fd, size_t size) {
    size_t span = (size + 4095) & ~(size_t)4095;
    block *made = calloc(1, sizeof *made);
    *made = (block){.base = place(span), .size = span, .kind = DEVICE_MEMORY, .device = standin_device,
                    .alias = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)};
    standin_charge((int64_t)span);
    pthread_mutex_lock(&lock);
    made->next = blocks;
    blocks = made;
    pthread_mutex_unlock(&lock);
    return (uint64_t)(uintptr_t)made->base;
}

void standin_forget_memory(void) {
    while (blocks != NULL)
        give((uint64_t)(uintptr_t)blocks->base);
}

const block *standin_block(uint64_t address) {
    pthread_mutex_lock(&lock);
    const block *found = blocks;
    while (found != NULL && (address < (uint64_t)(uintptr_t)found->base || address >= (uint64_t)(uintptr_t)found->base + found->size))
        found = found->next;
    pthread_mutex_unlock(&lock);
    return found;
}

bool standin_is_device(uint64_t address) {
    const block *found = standin_block(address);
    return found != NULL ? found->kind == DEVICE_MEMORY : standin_is_virtual(address);
}

static char *find(uint64_t address, size_t size, bool writes) {
    const block *found = standin_block(address);
    if (found == NULL)
        return standin_is_virtual(address) ? standin_find_virtual(address, size, writes) : (char *)(uintptr_t)address;
    if (found->kind == DEVICE_MEMORY && found->device != standin_device && standin_is_kernel)
        return NULL;
    size_t offset = address - (uint64_t)(uintptr_t)found->base;
    return size <= found->size - offset ? found->alias + offset : NULL;
}

char *standin_find(uint64_t address, size_t size) { return find(address, size, false); }
char *standin_find_to_write(uint64_t address, size_t size) { return find(address, size, true); }

uint64_t standin_variable(const char *name, size_t size) {
    static struct {
        char name[64];
        uint64_t address;
    } known[16];
    for (int each = 0; each < 16; each++) {
        if (known[each].address != 0 && strcmp(known[each].name, name) == 0)
            return known[each].address;
        if (known[each].address == 0) {
            char *base;
            if (take(size, DEVICE_MEMORY, &base) != SUCCESS)
                return 0;
            blocks->size = size; /* nothing is known to lie behind it */
            strncpy(known[each].name, name, sizeof known[each].name - 1);
            return known[each].address = (uint64_t)(uintptr_t)base;
        }
    }
    return 0;
}

#define CALLED(name)                      \
    int error = standin_called(name);     \
    if (error != SUCCESS)                 \
        return error;

int cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
    CALLED("cuMemAlloc")
    return take(bytes, DEVICE_MEMORY, (char **)pointer);
}
int cuMemFree_v2(uint64_t pointer) {
    CALLED("cuMemFree")
    return give(pointer);
}
int cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
    (void)flags;
    CALLED("cuMemHostAlloc")
    return take(bytes, HOST_MEMORY, (char **)pointer);
}
int cuMemFreeHost(void *pointer) {
    CALLED("cuMemFreeHost")
    return give((uint64_t)(uintptr_t)pointer);
}
/* Whole pages of the program, which it has to have. */
int cuMemHostRegister_v2(char *pointer, size_t bytes, unsigned flags) {
    (void)flags;
    CALLED("cuMemHostRegister")
    if (standin_error != SUCCESS || (uintptr_t)pointer % 4096 != 0 || msync(pointer, bytes, MS_ASYNC) != 0)
        return standin_error != SUCCESS ? standin_error : INVALID_VALUE;
    block *made = calloc(1, sizeof *made);
    *made = (block){.base = pointer, .alias = pointer, .size = bytes, .kind = HOST_MEMORY, .is_registered = true};
    pthread_mutex_lock(&lock);
    made->next = blocks;
    blocks = made;
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}
int cuMemHostUnregister(char *pointer) {
    CALLED("cuMemHostUnregister")
    const block *found = standin_block((uint64_t)(uintptr_t)pointer);
    return found != NULL && found->is_registered ? give((uint64_t)(uintptr_t)pointer) : INVALID_VALUE;
}
int cuMemAllocManaged(uint64_t *pointer, size_t bytes, unsigned flags) {
    (void)flags;
    CALLED("cuMemAllocManaged")
    return take(bytes, MANAGED_MEMORY, (char **)pointer);
}
int cuMemGetInfo_v2(size_t *available, size_t *whole) {
    CALLED("cuMemGetInfo")
    *whole = total();
    *available = total() - used;
    return standin_error;
}
