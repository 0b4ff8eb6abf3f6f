/* The handle by which another process opens an allocation. Python makes it (driver/ipc.py) when it is first asked for; after
 * that the allocation has it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "generated/shared.h"
#include "memory/memory.h"
#include "threads/fork.h"

struct gs_ipc_handle {
    pid_t maker; /* the handle names its process, of which a fork makes two */
    ze_ipc_mem_handle_t bytes;
};

/* Called with the lock held. What lies in no block or file of its own, and is no device's, has handles that change. */
static gs_allocation *find(ze_context_handle_t context, const void *pointer) {
    gs_allocation *found = gs_allocation_at((gs_context *)context, pointer);
    const bool has_one = found != NULL && (found->backing <= GS_BACKING_FILE || found->backing == GS_BACKING_KIND);
    return found != NULL && found->base == pointer && has_one ? found : NULL;
}

/* Whether the allocation has a handle. Without one, `id` says which allocation it is, or is 0. */
static bool take(ze_context_handle_t context, const void *pointer, ze_ipc_mem_handle_t *handle, uint64_t *id) {
    const pid_t here = getpid();
    gs_memory_lock();
    const gs_allocation *found = find(context, pointer);
    const gs_ipc_handle *made = found != NULL ? found->ipc_handle : NULL;
    const bool is_made = made != NULL && made->maker == here;
    if (is_made)
        *handle = made->bytes;
    *id = found != NULL ? found->id : 0;
    gs_memory_unlock();
    return is_made;
}

/* Keeps a handle with its allocation, unless that has gone meanwhile. */
static void keep(ze_context_handle_t context, const void *pointer, const ze_ipc_mem_handle_t *handle, uint64_t id) {
    gs_ipc_handle *made = malloc(sizeof *made), *unused = made;
    if (made == NULL)
        return;
    *made = (gs_ipc_handle){.maker = getpid(), .bytes = *handle};
    gs_memory_lock();
    gs_allocation *found = find(context, pointer);
    if (found != NULL && found->id == id) {
        unused = found->ipc_handle;
        found->ipc_handle = made;
    }
    gs_memory_unlock();
    free(unused);
}

ze_result_t gs_zeMemGetIpcHandle(ze_context_handle_t hContext, const void *ptr, ze_ipc_mem_handle_t *pIpcHandle) {
    uint64_t id;
    if (gs_is_abandoned())
        return gs_fail_abandoned(GS_FN_zeMemGetIpcHandle);
    if (take(hContext, ptr, pIpcHandle, &id))
        return ZE_RESULT_SUCCESS;
    const gs_word arguments[] = {{.p = hContext}, {.p = ptr}, {.p = pIpcHandle}};
    ze_result_t result = gs_call_python(GS_FN_zeMemGetIpcHandle, "uuu", arguments);
    if (result == ZE_RESULT_SUCCESS && id != 0)
        keep(hContext, ptr, pIpcHandle, id);
    return result;
}

/* The file stays the allocation's, so there is nothing to release. Python says what is wrong with other bytes. */
ze_result_t gs_zeMemPutIpcHandle(ze_context_handle_t hContext, ze_ipc_mem_handle_t handle) {
    uint32_t magic;
    memcpy(&magic, handle.data + sizeof(int32_t), sizeof magic);
    if (magic == GS_IPC_MAGIC + GS_IPC_MEMORY && !gs_is_abandoned())
        return ZE_RESULT_SUCCESS;
    const gs_word arguments[] = {{.p = hContext}, {.p = &handle}};
    return gs_call_python(GS_FN_zeMemPutIpcHandle, "uu", arguments);
}
