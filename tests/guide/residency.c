/* A chain of nodes: the kernel is given the first, and the driver is told of the others. */
#include "guide.h"

typedef struct node {
    struct node *next;
    int64_t value;
} node;

static node *new_node(place at, int64_t value) {
    node *made = host_memory(at, sizeof *made);
    made->value = value;
    return made;
}

int main(int count, char **arguments) {
    (void)count;
    place at = begin();
    node *first = new_node(at, 1);
    first->next = new_node(at, 20);
    first->next->next = new_node(at, 300);
    int64_t *sum = shared_memory(at, sizeof *sum);

    ze_module_handle_t module = load_module(at, arguments, "source");
    ze_kernel_handle_t kernel = new_kernel(module, "add_up", 1);
    set_pointer(kernel, 0, first);
    set_pointer(kernel, 1, sum);
    ze_command_list_handle_t list = new_list(at);
    ze_group_count_t one = {1, 1, 1};

    /* Coarse: the kernel may reach any memory of the host. */
    CHECK(zeKernelSetIndirectAccess(kernel, ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST));
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &one, NULL, 0, NULL));
    run(at, list);
    printf("by a flag: %lld\n", (long long)*sum);
    REQUIRE(*sum == 321);

    /* Fine: these two nodes are made resident, and let go when the work is done. */
    ze_command_queue_handle_t queue = new_queue(at);
    ze_fence_desc_t description = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
    ze_fence_handle_t fence;
    CHECK(zeFenceCreate(queue, &description, &fence));
    first->value = 4;
    CHECK(zeKernelSetIndirectAccess(kernel, 0));
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &one, NULL, 0, NULL));
    CHECK(zeCommandListClose(list));
    CHECK(zeContextMakeMemoryResident(at.context, at.device, first->next, sizeof(node)));
    CHECK(zeContextMakeMemoryResident(at.context, at.device, first->next->next, sizeof(node)));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
    CHECK(zeFenceHostSynchronize(fence, UINT64_MAX));
    CHECK(zeContextEvictMemory(at.context, at.device, first->next, sizeof(node)));
    CHECK(zeContextEvictMemory(at.context, at.device, first->next->next, sizeof(node)));
    printf("by residency: %lld\n", (long long)*sum);
    REQUIRE(*sum == 324);

    CHECK(zeFenceDestroy(fence));
    CHECK(zeCommandQueueDestroy(queue));
    CHECK(zeCommandListDestroy(list));
    for (node *next; first != NULL; first = next) {
        next = first->next;
        CHECK(zeMemFree(at.context, first));
    }
    CHECK(zeMemFree(at.context, sum));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(module));
    return end(at);
}
