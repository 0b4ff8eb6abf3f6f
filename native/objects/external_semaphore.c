/* External semaphores, by the only means that every Linux program has: an eventfd. To signal adds one to its
 * count; to wait takes one from it (EFD_SEMAPHORE), or all, as its maker has chosen. */
#define _GNU_SOURCE
#include "objects/external_semaphore.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "faults/lost_context.h"
#include "memory/resources.h"
#include "objects/list.h"

/* --- Import and release ---------------------------------------------------------------------------- */

static void release_semaphore(gs_object *object) { close(((gs_semaphore *)object)->fd); }

/* What a descriptor is, as the system calls it: 0, or an error number. */
static int describe_fd(int fd, char *text, size_t capacity) {
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, text, capacity - 1);
    text[length < 0 ? 0 : length] = 0;
    return length < 0 ? errno : 0;
}

static ze_result_t check_eventfd(int fd) {
    char text[40];
    int problem = fd >= 0 ? describe_fd(fd, text, sizeof text) : EBADF;
    if (gs_is_exhaustion(problem))
        return gs_fail_errno(problem, "zeDeviceImportExternalSemaphoreExt: the semaphore cannot be looked at");
    if (problem == 0 && strcmp(text, "anon_inode:[eventfd]") == 0)
        return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                   "zeDeviceImportExternalSemaphoreExt: file descriptor %d is no semaphore that a CPU can wait "
                   "for; make one with eventfd()",
                   fd);
}

static ze_result_t find_fd(const ze_external_semaphore_ext_desc_t *desc, int *fd) {
    if ((desc->flags & ~(uint32_t)ZE_EXTERNAL_SEMAPHORE_EXT_FLAG_OPAQUE_FD) != 0 ||
        gs_find_next(desc->pNext, ZE_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_WIN32_EXT_DESC) != NULL)
        return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION,
                       "zeDeviceImportExternalSemaphoreExt: only OPAQUE_FD semaphores exist on this system and this "
                       "device; a timeline or a Win32 handle has no meaning here");
    const ze_external_semaphore_fd_ext_desc_t *file =
        gs_find_next(desc->pNext, ZE_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_FD_EXT_DESC);
    if (file == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "zeDeviceImportExternalSemaphoreExt: chain a ze_external_semaphore_fd_ext_desc_t with the file "
                       "descriptor of the semaphore");
    ze_result_t result = check_eventfd(file->fd);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    *fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
    if (*fd >= 0)
        return ZE_RESULT_SUCCESS;
    return gs_fail_errno(errno, "zeDeviceImportExternalSemaphoreExt: no descriptor is left");
}

ze_result_t gs_zeDeviceImportExternalSemaphoreExt(ze_device_handle_t hDevice,
                                                  const ze_external_semaphore_ext_desc_t *desc,
                                                  ze_external_semaphore_ext_handle_t *phSemaphore) {
    (void)hDevice; /* every device of the machine can wait for it */
    int fd = -1;
    ze_result_t result = find_fd(desc, &fd);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_semaphore *semaphore = gs_object_new(GS_KIND_EXTERNAL_SEMAPHORE_EXT, release_semaphore);
    if (semaphore == NULL) {
        close(fd);
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another semaphore");
    }
    semaphore->fd = fd;
    gs_object_complete(semaphore, NULL);
    *phSemaphore = (ze_external_semaphore_ext_handle_t)semaphore;
    return ZE_RESULT_SUCCESS;
}

/* A command that is still to wait for the semaphore, or to signal it, holds it. */
ze_result_t gs_zeDeviceReleaseExternalSemaphoreExt(ze_external_semaphore_ext_handle_t hSemaphore) {
    gs_object_close(hSemaphore);
    return ZE_RESULT_SUCCESS;
}

/* --- Appending ------------------------------------------------------------------------------------- */

void gs_semaphores_mark(const gs_command *command, int32_t change) {
    for (uint32_t each = 0; gs_command_has_semaphores(command) && each < command->semaphores.count; each++)
        command->semaphores.all[each]->pending += (uint32_t)change;
}

void gs_semaphores_drop(gs_command *command) {
    for (uint32_t each = 0; each < command->semaphores.count; each++)
        gs_object_drop(command->semaphores.all[each]);
    free(command->semaphores.all);
    command->semaphores.all = NULL;
    command->semaphores.count = 0;
}

static ze_result_t append(enum gs_function function, gs_operation operation, ze_command_list_handle_t list,
                          uint32_t count, ze_external_semaphore_ext_handle_t *handles, ze_event_handle_t signal,
                          uint32_t wait_count, ze_event_handle_t *waits) {
    if (!((gs_list *)list)->immediate)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: external semaphores are for immediate lists only",
                       gs_function_names[function]);
    gs_command command = {.operation = operation};
    command.semaphores.all = calloc(count, sizeof *command.semaphores.all);
    if (command.semaphores.all == NULL && count > 0)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for %u semaphores", count);
    for (uint32_t each = 0; each < count; each++) {
        gs_semaphore *semaphore = gs_pin(handles[each], GS_KIND_EXTERNAL_SEMAPHORE_EXT);
        if (semaphore == NULL) {
            gs_semaphores_drop(&command);
            return gs_fail_handle(function, "phSemaphores", handles[each], GS_KIND_EXTERNAL_SEMAPHORE_EXT);
        }
        command.semaphores.all[command.semaphores.count++] = semaphore;
    }
    return gs_append(function, list, &command, signal, wait_count, waits);
}

/* The values are for timelines; a semaphore of this kind only counts. */
ze_result_t gs_zeCommandListAppendSignalExternalSemaphoreExt(ze_command_list_handle_t hCommandList,
                                                             uint32_t numSemaphores,
                                                             ze_external_semaphore_ext_handle_t *phSemaphores,
                                                             ze_external_semaphore_signal_params_ext_t *signalParams,
                                                             ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                             ze_event_handle_t *phWaitEvents) {
    (void)signalParams;
    return append(GS_FN_zeCommandListAppendSignalExternalSemaphoreExt, GS_SIGNAL_SEMAPHORES, hCommandList,
                  numSemaphores, phSemaphores, hSignalEvent, numWaitEvents, phWaitEvents);
}

ze_result_t gs_zeCommandListAppendWaitExternalSemaphoreExt(ze_command_list_handle_t hCommandList,
                                                           uint32_t numSemaphores,
                                                           ze_external_semaphore_ext_handle_t *phSemaphores,
                                                           ze_external_semaphore_wait_params_ext_t *waitParams,
                                                           ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                           ze_event_handle_t *phWaitEvents) {
    (void)waitParams;
    return append(GS_FN_zeCommandListAppendWaitExternalSemaphoreExt, GS_WAIT_SEMAPHORES, hCommandList, numSemaphores,
                  phSemaphores, hSignalEvent, numWaitEvents, phWaitEvents);
}

/* --- Executing ------------------------------------------------------------------------------------- */

/* Takes from the count if there is something. Another may have been faster since poll said so, and the descriptor
 * need not be one that never blocks. Systems that cannot be asked not to block (before Linux 5.8) are trusted. */
static bool take(int fd) {
    uint64_t count;
    struct iovec target = {&count, sizeof count};
    ssize_t got = preadv2(fd, &target, 1, -1, RWF_NOWAIT);
    if (got < 0 && (errno == EOPNOTSUPP || errno == ESPIPE))
        got = read(fd, &count, sizeof count);
    return got == sizeof count;
}

/* There is room to add unless the count has come to the end of 64 bits. */
static bool add(int fd) {
    const uint64_t one = 1;
    return write(fd, &one, sizeof one) == sizeof one;
}

bool gs_semaphores_pass(const gs_command *command, const gs_context *context) {
    enum { LOOK_UP = 50 }; /* milliseconds; nobody notifies of a loss */
    if (!gs_command_has_semaphores(command))
        return true;
    gs_may_wait("a semaphore");
    const bool waits = command->operation == GS_WAIT_SEMAPHORES;
    for (uint32_t each = 0; each < command->semaphores.count;) {
        struct pollfd wish = {.fd = command->semaphores.all[each]->fd, .events = waits ? POLLIN : POLLOUT};
        int ready = poll(&wish, 1, LOOK_UP);
        if (ready > 0 && (waits ? take(wish.fd) : add(wish.fd)))
            each++;
        else if (gs_context_is_lost(context))
            return false;
        else if (ready < 0) /* the system has no memory to wait with */
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return true;
}
