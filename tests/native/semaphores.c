/* External semaphores under load: lists hand work to each other, host threads take part, and semaphores are
 * released as soon as the last list is done with them. */
#include <sys/eventfd.h>
#include <unistd.h>

#include "check.h"

enum { LISTS = 4, TURNS = 400 / SLOWER };

static ze_external_semaphore_ext_handle_t import(int fd) {
    ze_external_semaphore_fd_ext_desc_t file = {.stype = ZE_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_FD_EXT_DESC, .fd = fd};
    ze_external_semaphore_ext_desc_t description = {.stype = ZE_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_EXT_DESC,
                                                    .pNext = &file,
                                                    .flags = ZE_EXTERNAL_SEMAPHORE_EXT_FLAG_OPAQUE_FD};
    ze_external_semaphore_ext_handle_t made;
    CHECK(zeDeviceImportExternalSemaphoreExt(on.device, &description, &made));
    return made;
}

static void append_signal(ze_command_list_handle_t list, ze_external_semaphore_ext_handle_t semaphore) {
    ze_external_semaphore_signal_params_ext_t unused = {.stype = ZE_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_EXT};
    CHECK(zeCommandListAppendSignalExternalSemaphoreExt(list, 1, &semaphore, &unused, NULL, 0, NULL));
}

static void append_wait(ze_command_list_handle_t list, ze_external_semaphore_ext_handle_t semaphore) {
    ze_external_semaphore_wait_params_ext_t unused = {.stype = ZE_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_WAIT_PARAMS_EXT};
    CHECK(zeCommandListAppendWaitExternalSemaphoreExt(list, 1, &semaphore, &unused, NULL, 0, NULL));
}

/* A baton goes round: each list takes it, writes one word that only its holder may write, and passes it on. */
static void ring(void) {
    int fds[LISTS];
    ze_external_semaphore_ext_handle_t semaphores[LISTS];
    ze_command_list_handle_t lists[LISTS];
    uint32_t *word = new_memory(sizeof *word);
    for (int each = 0; each < LISTS; each++) {
        REQUIRE((fds[each] = eventfd(0, each % 2 ? EFD_NONBLOCK : 0)) >= 0);
        semaphores[each] = import(fds[each]);
        lists[each] = new_immediate(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    }
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        for (int each = 0; each < LISTS; each++) {
            const uint32_t value = turn * LISTS + (uint32_t)each;
            append_wait(lists[each], semaphores[each]);
            CHECK(zeCommandListAppendMemoryFill(lists[each], word, &value, sizeof value, sizeof value, NULL, 0, NULL));
            append_signal(lists[each], semaphores[(each + 1) % LISTS]);
        }
    }
    REQUIRE(eventfd_write(fds[0], 1) == 0);
    for (int each = 0; each < LISTS; each++)
        CHECK(zeCommandListHostSynchronize(lists[each], UINT64_MAX));
    REQUIRE(*word == TURNS * LISTS - 1);
    for (int each = 0; each < LISTS; each++) {
        CHECK(zeDeviceReleaseExternalSemaphoreExt(semaphores[each]));
        CHECK(zeCommandListDestroy(lists[each]));
        close(fds[each]);
    }
    CHECK(zeMemFree(on.context, word));
}

typedef struct share {
    int fd;
    ze_external_semaphore_ext_handle_t semaphore;
} share;

/* A thread with a list of its own takes and gives, as all the others do with the same semaphore. */
static void *take_and_give(void *argument) {
    const share *with = argument;
    ze_command_list_handle_t list = new_immediate(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    for (int turn = 0; turn < TURNS; turn++) {
        append_wait(list, with->semaphore);
        append_signal(list, with->semaphore);
        if (turn % 16 == 0)
            CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
    }
    CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
    CHECK(zeCommandListDestroy(list));
    return NULL;
}

/* Fewer signals than waiters: whoever is too slow waits again, and none is lost or made. */
static void crowd(int flags) {
    share with = {.fd = eventfd(2, EFD_SEMAPHORE | flags)};
    with.semaphore = import(with.fd);
    pthread_t threads[LISTS];
    for (int each = 0; each < LISTS; each++)
        REQUIRE(pthread_create(&threads[each], NULL, take_and_give, &with) == 0);
    for (int each = 0; each < LISTS; each++)
        pthread_join(threads[each], NULL);
    CHECK(zeDeviceReleaseExternalSemaphoreExt(with.semaphore));
    eventfd_t left;
    for (int each = 0; each < 2; each++)
        REQUIRE(eventfd_read(with.fd, &left) == 0 && left == 1);
    close(with.fd);
}

int main(void) {
    set_up();
    const uint64_t live = gs_live_objects(0);
    ring();
    crowd(0);
    crowd(EFD_NONBLOCK);
    tear_down(live);
    return 0;
}
