/* Memory that other processes may open.
 *
 * The CUDA driver exports memory as a file descriptor that has to be sent over a socket: unlike a memory file, it cannot be opened
 * through /proc. So an IPC handle leads to a memory file that cannot be written, the *note*. It says which bytes are meant, and at
 * which socket of the process that has them a thread hands out the descriptor to whoever knows the note's secret. A small block of
 * host memory has a note, too, because its file holds others as well. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "memory/memory_file.h"
#include "nvidia/gpu.h"
#include "threads/thread.h"

enum { SECRET_BYTES = 16, NAME_BYTES = 48 };

typedef struct note {
    char kind[16];
    uint8_t uuid[16]; /* of the GPU; nothing for memory of the host */
    uint8_t secret[SECRET_BYTES];
    char socket[NAME_BYTES];
    uint64_t offset, size, span; /* of the allocation in what is mapped: span bytes of the pool's are its own */
    uint64_t mapped;
} note;

static const char DEVICE_KIND[16] = "NVIDIA memory 1", HOST_KIND[16] = "pinned memory 1";

typedef struct offer {
    struct offer *next;
    uint8_t secret[SECRET_BYTES];
    int fd;
} offer;

GS_STATIC_LOCK(lock, GS_SHORT_LOCK)
GS_STATIC_LOCK(starting, GS_LONG_LOCK)
static offer *offers;
static int listener = -1;
static char socket_name[NAME_BYTES];

/* --- Handing out ----------------------------------------------------------------------------------------- */

enum { PATIENCE = 2000, PATIENCE_WITH_OTHERS = 100 };

static void limit_time(int fd, int milliseconds) {
    const struct timeval most = {milliseconds / 1000, milliseconds % 1000 * 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
}

static bool is_of_same_user(int client) {
    struct ucred who;
    socklen_t size = sizeof who;
    return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && (who.uid == geteuid() || who.uid == 0);
}

/* A copy of the descriptor that is offered under a secret, or -1. */
static int find(const uint8_t secret[SECRET_BYTES]) {
    int found = -1;
    gs_lock(&lock);
    for (const offer *each = offers; each != NULL && found < 0; each = each->next)
        if (memcmp(each->secret, secret, SECRET_BYTES) == 0)
            found = fcntl(each->fd, F_DUPFD_CLOEXEC, 0);
    gs_unlock(&lock);
    return found;
}

typedef union descriptor_message {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
} descriptor_message;

static void answer(int client) {
    uint8_t secret[SECRET_BYTES];
    /* Who stops in the middle holds up others that long. The secret may have come from another user, with the note. */
    limit_time(client, is_of_same_user(client) ? PATIENCE : PATIENCE_WITH_OTHERS);
    if (recv(client, secret, sizeof secret, MSG_WAITALL) != sizeof secret)
        return;
    int fd = find(secret);
    if (fd < 0)
        return;
    char byte = 0;
    descriptor_message control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &(struct iovec){&byte, 1}, .msg_iovlen = 1, .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    sendmsg(client, &message, MSG_NOSIGNAL);
    close(fd);
}

static void *serve(void *unused) {
    (void)unused;
    for (;;) {
        int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (client >= 0) {
            answer(client);
            close(client);
        } else
            usleep(1000); /* no descriptor is left */
    }
    return NULL;
}

/* In Linux's abstract name space: nothing is left behind anywhere. */
static socklen_t fill_address(struct sockaddr_un *address, const char name[NAME_BYTES]) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path + 1, name, NAME_BYTES);
    return offsetof(struct sockaddr_un, sun_path) + 1 + NAME_BYTES;
}

static bool listen_now(void) {
    unsigned long long number[2];
    struct sockaddr_un address;
    if (getrandom(number, sizeof number, 0) != sizeof number)
        return false;
    snprintf(socket_name, sizeof socket_name, "groundstate-%016llx%016llx", number[0], number[1]);
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made < 0)
        return false;
    socklen_t size = fill_address(&address, socket_name);
    if (bind(made, (struct sockaddr *)&address, size) != 0 || listen(made, SOMAXCONN) != 0) {
        close(made);
        return false;
    }
    listener = made;
    if (gs_thread_start("gs-offers", serve, NULL))
        return true;
    listener = -1;
    close(made);
    return false;
}

static bool is_listening(void) {
    gs_lock(&starting);
    bool works = listener >= 0 || listen_now();
    gs_unlock(&starting);
    return works;
}

/* The thread is not there in a child, where the CUDA driver does not work. */
void gs_gpu_offers_after_fork(void) {
    if (listener >= 0)
        close(listener);
    listener = -1;
}

/* --- Offering -------------------------------------------------------------------------------------------- */

/* The note of memory that lies in `mapped` bytes from `start` on, of which `made` has the descriptor; -1 if there is none. */
static int make_note(const gs_gpu *gpu, const gs_allocation *allocation, offer *made, uint64_t offset, uint64_t mapped) {
    const bool is_host = allocation->type == ZE_MEMORY_TYPE_HOST;
    note written = {.offset = offset, .size = allocation->size, .span = allocation->span, .mapped = mapped};
    if (made->fd < 0 || getrandom(made->secret, SECRET_BYTES, 0) != SECRET_BYTES)
        return -1;
    memcpy(written.kind, is_host ? HOST_KIND : DEVICE_KIND, sizeof written.kind);
    memcpy(written.secret, made->secret, SECRET_BYTES);
    memcpy(written.socket, socket_name, NAME_BYTES);
    if (!is_host && gs_cu.device_uuid((gs_cu_uuid *)written.uuid, gpu->number) != GS_CU_SUCCESS)
        return -1;
    return gs_memory_note(&written, sizeof written);
}

static int offer_device(gs_gpu *gpu, const gs_allocation *allocation, offer *made) {
    const gs_gpu_mapped *own = allocation->of_kind;
    char *start = own != NULL ? own->start : allocation->base;
    uint64_t mapped = own != NULL ? own->bytes : allocation->span;
    if (own == NULL)
        gs_pool_widen(&gpu->memory, &start, &mapped);
    made->fd = own != NULL && own->fd >= 0 ? fcntl(own->fd, F_DUPFD_CLOEXEC, 0) : gs_gpu_export(gpu, start);
    return make_note(gpu, allocation, made, (uint64_t)(allocation->base - start), mapped);
}

/* A file that holds nothing else needs no note, and no offer: then its descriptor is returned, and `made` has none. */
static int offer_host(gs_gpu *gpu, const gs_allocation *allocation, offer *made) {
    uint64_t offset, mapped;
    int fd = gs_gpu_host_file(allocation->base, &offset, &mapped);
    if (fd < 0 || mapped == allocation->span)
        return fd;
    made->fd = fd;
    return offset % gs_page_size() == 0 ? make_note(gpu, allocation, made, offset, mapped) : -1;
}

static int offer_memory(gs_gpu *gpu, const gs_allocation *allocation, offer *made) {
    if (!is_listening() || !gs_gpu_enter(gpu))
        return -1;
    int fd = -1;
    if (allocation->generation == gpu->generation)
        fd = allocation->type == ZE_MEMORY_TYPE_HOST ? offer_host(gpu, allocation, made) : offer_device(gpu, allocation, made);
    gs_gpu_leave(gpu);
    return fd;
}

int gs_gpu_share(gs_device *device, const gs_allocation *allocation, void **kept) {
    bool may_be = allocation->type == ZE_MEMORY_TYPE_DEVICE || allocation->type == ZE_MEMORY_TYPE_HOST;
    offer *made = may_be ? calloc(1, sizeof *made) : NULL;
    *kept = NULL;
    if (made == NULL)
        return -1;
    made->fd = -1;
    int fd = offer_memory(gs_gpu_of(device), allocation, made);
    if (fd >= 0 && made->fd >= 0) {
        gs_lock(&lock);
        made->next = offers;
        offers = made;
        gs_unlock(&lock);
        *kept = made;
        return fd;
    }
    if (made->fd >= 0)
        close(made->fd);
    free(made);
    return fd;
}

void gs_gpu_withdraw(void *kept) {
    offer *gone = kept;
    gs_lock(&lock);
    offer **link = &offers;
    while (*link != gone)
        link = &(*link)->next;
    *link = gone->next;
    gs_unlock(&lock);
    close(gone->fd);
    free(gone);
}

/* --- Opening --------------------------------------------------------------------------------------------- */

static bool read_note(int fd, note *found) {
    struct stat file;
    return fstat(fd, &file) == 0 && file.st_size >= (off_t)sizeof *found &&
           pread(fd, found, sizeof *found, 0) == sizeof *found &&
           (memcmp(found->kind, DEVICE_KIND, sizeof DEVICE_KIND) == 0 || memcmp(found->kind, HOST_KIND, sizeof HOST_KIND) == 0) &&
           found->mapped % GS_GPU_PAGE == 0 && found->span <= found->mapped && found->offset <= found->mapped - found->span &&
           found->size > 0 && found->size <= found->span;
}

/* The CUDA driver's descriptor, from the process that has it; -1 if that is gone or has freed the memory. */
static int ask(const note *found) {
    struct sockaddr_un address;
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd = -1;
    if (server < 0)
        return -1;
    gs_may_wait("another process");
    limit_time(server, PATIENCE);
    socklen_t size = fill_address(&address, found->socket);
    char byte;
    descriptor_message control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &(struct iovec){&byte, 1}, .msg_iovlen = 1, .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    if (connect(server, (struct sockaddr *)&address, size) == 0 &&
        send(server, found->secret, SECRET_BYTES, MSG_NOSIGNAL) == SECRET_BYTES &&
        recvmsg(server, &message, MSG_CMSG_CLOEXEC) == 1) {
        const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        if (head != NULL && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof fd))
            memcpy(&fd, CMSG_DATA(head), sizeof fd);
    }
    close(server);
    return fd;
}

static ze_result_t refuse(gs_gpu *gpu, gs_cu_result error, const char *what) {
    char why[200];
    if (error == GS_CU_OUT_OF_MEMORY)
        return gs_gpu_fail(gpu, error, what);
    return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "NVIDIA's driver refuses %s (%s)", what,
                   gs_cuda_describe(error, why, sizeof why));
}

/* Makes an allocation of what a descriptor of the CUDA driver stands for. */
static ze_result_t open_memory(gs_gpu *gpu, int fd, uint64_t bytes, uint64_t offset, uint64_t alignment, gs_allocation *request,
                               const char *what) {
    gs_gpu_mapped *made = calloc(1, sizeof *made);
    if (made == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory to record an allocation");
    if (!gs_gpu_enter(gpu)) {
        free(made);
        return ZE_RESULT_ERROR_DEVICE_LOST;
    }
    request->generation = gpu->generation;
    gs_cu_result imported = gs_gpu_import(gpu, fd, bytes, alignment, made);
    ze_result_t result = imported == GS_CU_SUCCESS ? ZE_RESULT_SUCCESS : refuse(gpu, imported, what);
    if (result == ZE_RESULT_SUCCESS) {
        request->base = made->start + offset;
        request->of_kind = made;
        if (alignment > 0 && (uintptr_t)request->base % alignment != 0)
            result = gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "NVIDIA's driver aligns no memory to %llu bytes",
                             (unsigned long long)alignment);
        else
            result = gs_allocation_enter(request);
        if (result != ZE_RESULT_SUCCESS)
            gs_gpu_unmap(made);
    }
    gs_gpu_leave(gpu);
    if (result != ZE_RESULT_SUCCESS)
        free(made);
    return result;
}

static bool is_of(const gs_device *device, const note *found) {
    gs_cu_uuid uuid;
    return device->kind == &gs_nvidia_kind && gs_cu.device_uuid(&uuid, gs_gpu_of(device)->number) == GS_CU_SUCCESS &&
           memcmp(&uuid, found->uuid, sizeof uuid) == 0;
}

static ze_result_t open_device(gs_context *context, gs_device *device, int there, const note *found, void **pointer) {
    gs_allocation request = {.size = found->size, .span = found->span, .context = context, .device = device, .owner = device,
                             .type = ZE_MEMORY_TYPE_DEVICE, .backing = GS_BACKING_KIND, .imported = true, .fd = -1};
    ze_result_t result =
        open_memory(gs_gpu_of(device), there, found->mapped, found->offset, 0, &request, "the memory of this handle");
    *pointer = request.base;
    if (result == ZE_RESULT_SUCCESS)
        ((gs_gpu_mapped *)request.of_kind)->fd = fcntl(there, F_DUPFD_CLOEXEC, 0); /* what it passes on */
    return result;
}

/* The file is the driver's of that process, which cannot shrink. */
static ze_result_t open_host(gs_context *context, int there, const note *found, void **pointer) {
    struct stat file;
    int seals = fcntl(there, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(there, &file) != 0 || (uint64_t)file.st_size < found->mapped ||
        found->offset % gs_page_size() != 0)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the handle leads to a file that is no memory of the host");
    return gs_allocation_import(context, NULL, there, found->offset, found->size, 0, true, pointer);
}

/* Whoever opened memory of the host passes on what it got: the note, not the file with what else is there. */
static void keep_note(const gs_context *context, const void *pointer, int fd) {
    int unused = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    gs_memory_lock();
    gs_allocation *opened = gs_allocation_at(context, pointer);
    if (unused >= 0 && opened != NULL) {
        int file = opened->fd;
        opened->fd = unused;
        unused = file;
    }
    gs_memory_unlock();
    if (unused >= 0)
        close(unused);
}

/* Opens what a note leads to, whose descriptor stays the caller's. */
GS_EXPORT ze_result_t gs_gpu_open_offer(gs_context *context, gs_device *device, int fd, void **pointer) {
    note found;
    if (!read_note(fd, &found))
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the handle leads to a file that tells of no memory");
    const bool is_host = memcmp(found.kind, HOST_KIND, sizeof HOST_KIND) == 0;
    if (!is_host && !is_of(device, &found))
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "the handle leads to device memory of an NVIDIA GPU; open it for that device");
    int there = ask(&found);
    if (there < 0)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "the process that has the memory of this handle does not hand it out: it ended, freed the memory, or "
                       "belongs to another user or network namespace");
    ze_result_t result = is_host ? open_host(context, there, &found, pointer)
                                 : open_device(context, device, there, &found, pointer);
    close(there);
    if (result == ZE_RESULT_SUCCESS && is_host)
        keep_note(context, *pointer, fd);
    return result;
}

/* Makes memory of the GPU of a descriptor that an API of its driver exported. It stays the caller's. */
GS_EXPORT ze_result_t gs_gpu_import_fd(gs_context *context, gs_device *device, int fd, uint64_t size, uint64_t alignment,
                                       void **pointer) {
    gs_allocation request = {.size = size, .span = size, .context = context, .device = device, .owner = device,
                             .charged = device, .type = ZE_MEMORY_TYPE_DEVICE, .backing = GS_BACKING_KIND, .fd = -1};
    ze_result_t result = gs_memory_charge(device, size);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    result = open_memory(gs_gpu_of(device), fd, size, 0, alignment, &request, "this file descriptor as memory");
    if (result == ZE_RESULT_SUCCESS)
        *pointer = request.base;
    else
        gs_memory_uncharge(device, size);
    return result;
}

/* Whether an allocation shares its pages with no other. Then it never will. */
static bool has_own_pages(gs_allocation *allocation) {
    const gs_gpu_mapped *mapped = allocation->of_kind;
    char *start = allocation->base;
    uint64_t bytes = allocation->span;
    if (mapped != NULL)
        return mapped->start == start;
    gs_pool_widen(gs_gpu_pool_for(gs_gpu_of(allocation->owner), allocation->type), &start, &bytes);
    allocation->is_apart |= bytes == allocation->span;
    return bytes == allocation->span;
}

/* The socket that is open for others, or -1. */
int gs_gpu_listener(void) { return listener; }

static int export_device(gs_gpu *gpu, char *base) {
    if (!gs_gpu_enter(gpu))
        return -1;
    int fd = gs_gpu_export(gpu, base);
    gs_gpu_leave(gpu);
    return fd;
}

/* A descriptor for an allocation that has pages of its own, which becomes the caller's; -1 if it has not. */
GS_EXPORT int gs_gpu_export_fd(gs_context *context, const void *pointer) {
    uint64_t offset, bytes;
    gs_memory_lock();
    gs_allocation *found = gs_allocation_at(context, pointer);
    const bool is_apart = found != NULL && found->backing == GS_BACKING_KIND && has_own_pages(found);
    const gs_allocation copy = is_apart ? *found : (gs_allocation){0};
    gs_memory_unlock();
    if (!is_apart)
        return -1;
    return copy.type == ZE_MEMORY_TYPE_HOST ? gs_gpu_host_file(copy.base, &offset, &bytes) : export_device(gs_gpu_of(copy.owner), copy.base);
}
