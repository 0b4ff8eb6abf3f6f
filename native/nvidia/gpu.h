/* An NVIDIA GPU as a device: its context of the CUDA driver, its memory, its streams. */
#ifndef GS_NVIDIA_GPU_H
#define GS_NVIDIA_GPU_H

#include "memory/memory.h"
#include "nvidia/cuda.h"
#include "nvidia/pool.h"
#include "objects/device_kind.h"
#include "threads/lock.h"

enum { GS_MOST_GPUS = 64 };

typedef struct gs_gpu {
    gs_device *device;
    gs_cu_device number;
    gs_mutex lock;         /* around making the context */
    gs_cu_context context; /* CUDA's own for the device (the primary one), or NULL while nobody needs it or there is none */
    bool owns_context;     /* it was made here, in the place of one that faulted */
    _Atomic uint32_t generation; /* of the context: another one takes its place after a fault */
    _Atomic bool is_lost;        /* it has faulted, and fails whatever it is asked */
    _Atomic uint32_t inside;     /* threads that use the context */
    gs_pool memory, host, managed;
    _Atomic uint64_t budget; /* bytes that this process may have of the GPU's memory, or 0 as long as nobody asked */
    bool uses_pages; /* its memory is mapped pages, which can be shared: mapped.c */
    gs_cu_memory_access access[GS_MOST_GPUS]; /* who reaches them: the GPU itself, then its peers */
    uint32_t access_count;
    uint32_t multiprocessors;
    _Atomic gs_cu_pointer no_image; /* the view of an image without texels, or 0 while nobody needs it */
} gs_gpu;

extern const gs_device_kind gs_nvidia_kind;

static inline gs_gpu *gs_gpu_of(const gs_device *device) { return device->of_kind; }

/* Makes the GPU's context the calling thread's, until gs_gpu_leave. False, with the error recorded, if there is none: a
 * forked process, a fault that others still have to notice, or no memory. */
bool gs_gpu_enter(gs_gpu *gpu);
void gs_gpu_leave(gs_gpu *gpu);

/* Records the error of a call, with what it was for: OUT_OF_DEVICE_MEMORY or DEVICE_LOST. */
ze_result_t gs_gpu_fail(gs_gpu *gpu, gs_cu_result error, const char *what);

/* A fault: every context that uses the GPU is lost. `context` is the one whose work it was, or NULL if nobody can say; `what`
 * is what was done, "kernel 'add'". */
void gs_gpu_lose(gs_gpu *gpu, gs_context *context, gs_cu_result error, const char *what);

/* mapped.c: memory that other processes and GPUs can reach. */
enum { GS_GPU_PAGE = 2 << 20 };

/* What is kept of an allocation that is not of a pool. */
typedef struct gs_gpu_mapped {
    char *start;
    uint64_t bytes;
    gs_cu_external external; /* of another API, else NULL */
    int fd; /* with which it was opened, or -1 */
} gs_gpu_mapped;

void gs_gpu_find_peers(gs_gpu *gpu);
bool gs_gpu_can_map(gs_gpu *gpu);
gs_cu_result gs_gpu_take_pages(gs_gpu *gpu, char **base, uint64_t bytes);
void gs_gpu_give_pages(gs_gpu *gpu, char *base, uint64_t bytes);
ze_result_t gs_gpu_allocate_apart(gs_gpu *gpu, gs_allocation *request, size_t alignment);
void gs_gpu_unmap(const gs_gpu_mapped *mapped);

/* A descriptor for the pages at an address, which becomes the caller's; -1 if there is none. */
int gs_gpu_export(gs_gpu *gpu, char *base);

/* Maps what a descriptor of this or another process stands for. It stays the caller's. */
gs_cu_result gs_gpu_import(gs_gpu *gpu, int fd, uint64_t bytes, uint64_t alignment, gs_gpu_mapped *made);

/* offer.c: memory that other processes may open. */
int gs_gpu_share(gs_device *device, const gs_allocation *allocation, void **offer);
void gs_gpu_withdraw(void *offer);
void gs_gpu_offers_after_fork(void);
int gs_gpu_listener(void);

/* host.c */
gs_cu_result gs_gpu_take_host(gs_gpu *gpu, char **base, uint64_t bytes);
void gs_gpu_give_host(gs_gpu *gpu, char *base, uint64_t bytes);

/* The file in which memory of the host lies, which becomes the caller's, where in it, and how long it is; -1 if there is none. */
int gs_gpu_host_file(const char *base, uint64_t *offset, uint64_t *bytes);

/* memory.c */
gs_pool *gs_gpu_pool_for(gs_gpu *gpu, ze_memory_type_t type);
ze_result_t gs_gpu_allocate(gs_device *device, gs_allocation *request, size_t alignment);
void gs_gpu_release(gs_device *device, gs_allocation *allocation);
bool gs_gpu_transfer(gs_device *device, void *to, const void *from, uint64_t size);
bool gs_gpu_peek(gs_device *device, void *to, uint64_t from, uint64_t size);
bool gs_gpu_attach(gs_device *device, void *start, uint64_t size);
void gs_gpu_detach(gs_device *device, void *start);
void gs_gpu_open_pools(gs_gpu *gpu);
void gs_gpu_forget_memory(gs_gpu *gpu);

/* Whether this is a forked process that the CUDA driver does not work in. */
bool gs_gpu_is_forked(void);

/* attendant.c */
bool gs_gpu_attend(struct gs_queue *queue);

/* stream.c */
void gs_gpu_close_queue(struct gs_queue *queue);

/* issue.c */
bool gs_gpu_work_off(struct gs_queue *queue, bool (*done)(void *state), void *state);
bool gs_gpu_try_issue(struct gs_queue *queue, struct gs_command *command);
void gs_gpu_execute(struct gs_queue *queue, struct gs_command *command);
void gs_gpu_perform(gs_device *device, gs_context *context, const struct gs_command *command);

/* work.c: has a stream do the work of a command. */
bool gs_gpu_works_on_host(const gs_gpu *gpu, const struct gs_command *command);
bool gs_gpu_returns_at_once(const gs_gpu *gpu, const struct gs_command *command);
gs_cu_result gs_gpu_issue(gs_gpu *gpu, gs_cu_stream stream, const struct gs_command *command);

/* launch.c */
struct gs_launch;
bool gs_gpu_launch_returns_at_once(const struct gs_launch *launch);
gs_cu_result gs_gpu_launch(gs_gpu *gpu, gs_cu_stream stream, const struct gs_launch *launch);
uint32_t gs_gpu_most_groups(const gs_device *device, const struct gs_code *code, uint64_t local_bytes);

#endif
