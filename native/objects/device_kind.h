/* What differs between kinds of devices, one table of functions for each kind.
 *
 * The CPU has none: its code is what runtime/ and memory/ do themselves, without a detour. Another kind is a folder
 * (nvidia/), and is asked where memory is allocated and freed, where the commands of a queue are executed, and where it
 * would be wrong to touch memory from here. What comes before and after a command's work (waiting for events, retiring,
 * signalling) is the same for all: runtime/execution.h. */
#ifndef GS_OBJECTS_DEVICE_KIND_H
#define GS_OBJECTS_DEVICE_KIND_H

#include "objects/device.h"

struct gs_allocation;
struct gs_code;
struct gs_command;
struct gs_queue;

struct gs_device_kind {
    /* Finds memory of the request's type and fills in its base and span; says what is wrong. */
    ze_result_t (*allocate)(gs_device *device, struct gs_allocation *request, size_t alignment);
    void (*release)(gs_device *device, struct gs_allocation *allocation);

    /* Copies bytes between any two places, now. False: it failed, and nobody can say how much was copied. */
    bool (*transfer)(gs_device *device, void *to, const void *from, uint64_t size);

    /* Copies bytes of the device's memory to the host. False, and nothing is lost, if an address leads nowhere. */
    bool (*peek)(gs_device *device, void *to, uint64_t from, uint64_t size);

    /* Has the device reach memory of the host, all of whose pages belong to one allocation, and ends that. */
    bool (*attach)(gs_device *device, void *start, uint64_t size);
    void (*detach)(gs_device *device, void *start);

    /* Offers memory that it made to other processes: the file that leads there, which becomes the caller's, or -1. What goes to
     * `offer` is there to withdraw that, if it is not NULL. The allocation is a copy: it may be freed meanwhile. */
    int (*share)(gs_device *device, const struct gs_allocation *allocation, void **offer);
    void (*withdraw)(void *offer);

    /* Executes commands of a queue until there are none, on the one thread that executes the queue. Or until `done(state)` or
     * a command that waits for something; with `done` NULL, until what is under way takes long. Then true, and the caller, who
     * still executes the queue, hands it over, with what is still under way (queue->under_way). */
    bool (*work_off)(struct gs_queue *queue, bool (*done)(void *state), void *state);

    /* Has the device begin with a command, for the thread that submits it and executes the queue for that moment. False: it
     * would have to wait for something, and an engine has to execute the command. */
    bool (*try_issue)(struct gs_queue *queue, struct gs_command *command);

    /* Sees to what is under way on a queue which nobody executes: some thread will execute it for a moment now and then.
     * False: there is no such thread. */
    bool (*attend)(struct gs_queue *queue);

    /* Executes a command that was submitted, and frees it. Nothing is under way when this returns. */
    void (*execute)(struct gs_queue *queue, struct gs_command *command);
    void (*close_queue)(struct gs_queue *queue);

    /* Does the work of a command that is on a queue of another device, and waits for it. */
    void (*perform)(gs_device *device, gs_context *context, const struct gs_command *command);

    /* How many groups a launch may have along each axis, and how many of a kernel can run at the same time. */
    uint32_t most_counts[3];
    uint32_t (*most_groups)(const gs_device *device, const struct gs_code *code, uint64_t local_bytes);
};

/* The device of the context that its host and shared memory has to be made for, or NULL if all devices are the CPU's. */
gs_device *gs_context_needs_kind(const gs_context *context);

/* Whether there is any device with a kind; then addresses may lead to memory that is not the host's. */
extern _Atomic bool gs_some_device_has_kind;

#endif
