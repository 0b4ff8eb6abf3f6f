#define _GNU_SOURCE
#include "standin.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

_Atomic int standin_error;

typedef struct stream {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change;
    operation *first, *last;
    struct graph *captured; /* what is enqueued goes there */
    int device;
    bool busy, ends;
} stream;

typedef struct graph {
    operation *operations;
    size_t count;
} graph;

typedef struct event {
    _Atomic bool passed;
    struct timespec when;
} event;

#define CALLED(name)                      \
    int error = standin_called(name);     \
    if (error != SUCCESS)                 \
        return error;

/* Streams begin late, so that whoever does not wait for them is found out. */
static void dawdle(void) {
    const char *text = getenv("STANDIN_DELAY_US");
    unsigned long delay = text != NULL ? strtoul(text, NULL, 0) : 50;
    if (delay > 0)
        usleep((useconds_t)delay);
}

static void *work(void *argument) {
    stream *self = argument;
    standin_device = self->device;
    pthread_mutex_lock(&self->lock);
    for (;;) {
        while (self->first == NULL && !self->ends)
            pthread_cond_wait(&self->change, &self->lock);
        if (self->first == NULL)
            break;
        operation *next = self->first;
        self->first = next->next;
        self->busy = true;
        pthread_mutex_unlock(&self->lock);
        dawdle();
        if (standin_error == SUCCESS) {
            int result = next->run(next);
            if (result != SUCCESS)
                standin_error = result;
        }
        free(next);
        pthread_mutex_lock(&self->lock);
        self->busy = false;
        pthread_cond_broadcast(&self->change);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

int cuStreamCreateWithPriority(stream **made, unsigned flags, int priority) {
    (void)flags, (void)priority;
    CALLED("cuStreamCreate")
    stream *self = calloc(1, sizeof *self);
    self->device = standin_device;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->change, NULL);
    pthread_create(&self->thread, NULL, work, self);
    *made = self;
    return SUCCESS;
}

int cuStreamDestroy_v2(stream *self) {
    CALLED("cuStreamDestroy")
    pthread_mutex_lock(&self->lock);
    self->ends = true;
    pthread_cond_broadcast(&self->change);
    pthread_mutex_unlock(&self->lock);
    pthread_join(self->thread, NULL);
    free(self);
    return SUCCESS;
}

int standin_enqueue(void *to, const operation *described) {
    stream *self = to;
    if (self->captured != NULL) {
        graph *kept = self->captured;
        kept->operations = realloc(kept->operations, (kept->count + 1) * sizeof *described);
        kept->operations[kept->count++] = *described;
        return standin_error;
    }
    operation *made = malloc(sizeof *made);
    *made = *described;
    made->next = NULL;
    pthread_mutex_lock(&self->lock);
    if (self->first != NULL)
        self->last->next = made;
    else
        self->first = made;
    self->last = made;
    pthread_cond_broadcast(&self->change);
    pthread_mutex_unlock(&self->lock);
    return standin_error;
}

int standin_drain(void *of) {
    stream *self = of;
    pthread_mutex_lock(&self->lock);
    while (self->first != NULL || self->busy)
        pthread_cond_wait(&self->change, &self->lock);
    pthread_mutex_unlock(&self->lock);
    return standin_error;
}

int cuStreamSynchronize(void *self) {
    CALLED("cuStreamSynchronize")
    return standin_drain(self);
}

int cuStreamQuery(stream *self) {
    CALLED("cuStreamQuery")
    if (self->captured != NULL)
        return INVALID_VALUE;
    pthread_mutex_lock(&self->lock);
    bool busy = self->first != NULL || self->busy;
    pthread_mutex_unlock(&self->lock);
    return standin_error != SUCCESS ? standin_error : busy ? NOT_READY : SUCCESS;
}

int cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    *least = 0;
    *greatest = -5;
    return SUCCESS;
}

/* --- Copies and fills -------------------------------------------------------------------------------------- */

static int copy(operation *self) {
    for (size_t row = 0; row < self->count; row++) {
        char *to = standin_find_to_write(self->to + row * self->pitch_to, self->size);
        const char *from = standin_find(self->from + row * self->pitch_from, self->size);
        if (to == NULL || from == NULL)
            return ILLEGAL_ADDRESS;
        memcpy(to, from, self->size);
    }
    return SUCCESS;
}

static bool is_known(uint64_t address) { return standin_block(address) != NULL || standin_is_virtual(address); }

/* As the CUDA driver: memory of the host that it does not know is read or written before the call returns. */
static int copy_rows(void *stream, operation described) {
    bool at_once = !is_known(described.to) || !is_known(described.from);
    described.run = copy;
    int result = standin_enqueue(stream, &described);
    return result == SUCCESS && at_once ? standin_drain(stream) : result;
}

int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void *stream) {
    CALLED("cuMemcpyAsync")
    return copy_rows(stream, (operation){.to = to, .from = from, .size = bytes, .count = 1});
}

int cuMemcpy(uint64_t to, uint64_t from, size_t bytes) {
    CALLED("cuMemcpy")
    operation now = {.to = to, .from = from, .size = bytes, .count = 1};
    return standin_error != SUCCESS ? standin_error : copy(&now);
}

/* The source has to be memory that the driver knows. */
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
    CALLED("cuMemcpyDtoH")
    const char *source = is_known(from) ? standin_find(from, bytes) : NULL;
    if (standin_error != SUCCESS || source == NULL)
        return standin_error != SUCCESS ? standin_error : INVALID_VALUE;
    memcpy(to, source, bytes);
    return SUCCESS;
}

typedef struct copy_2d { /* CUDA_MEMCPY2D */
    size_t source_x, source_y;
    uint32_t source_type;
    const void *source_host;
    uint64_t source_device;
    void *source_array;
    size_t source_pitch, destination_x, destination_y;
    uint32_t destination_type;
    void *destination_host;
    uint64_t destination_device;
    void *destination_array;
    size_t destination_pitch, width, height;
} copy_2d;

int cuMemcpy2DAsync_v2(const copy_2d *described, void *stream) {
    CALLED("cuMemcpy2DAsync")
    enum { HOST = 1 };
    uint64_t from = described->source_type == HOST ? (uint64_t)(uintptr_t)described->source_host : described->source_device;
    uint64_t to = described->destination_type == HOST ? (uint64_t)(uintptr_t)described->destination_host
                                                      : described->destination_device;
    if (described->source_pitch < described->width || described->destination_pitch < described->width ||
        (described->source_type == HOST && standin_is_device(from)))
        return INVALID_VALUE;
    return copy_rows(stream, (operation){.to = to, .from = from, .size = described->width, .count = described->height,
                                         .pitch_to = described->destination_pitch, .pitch_from = described->source_pitch});
}

static int fill(operation *self) {
    char *to = standin_find_to_write(self->to, self->count * self->size);
    if (to == NULL || !is_known(self->to))
        return ILLEGAL_ADDRESS;
    for (size_t each = 0; each < self->count; each++)
        memcpy(to + each * self->size, &self->value, self->size);
    return SUCCESS;
}

static int enqueue_fill(uint64_t to, uint32_t value, size_t size, size_t count, void *stream) {
    if (to % size != 0)
        return INVALID_VALUE;
    return standin_enqueue(stream, &(operation){.run = fill, .to = to, .value = value, .size = size, .count = count});
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t count, void *stream) {
    CALLED("cuMemsetD8Async")
    return enqueue_fill(to, value, 1, count, stream);
}
int cuMemsetD16Async(uint64_t to, unsigned short value, size_t count, void *stream) {
    CALLED("cuMemsetD16Async")
    return enqueue_fill(to, value, 2, count, stream);
}
int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void *stream) {
    CALLED("cuMemsetD32Async")
    return enqueue_fill(to, value, 4, count, stream);
}

int cuMemPrefetchAsync(uint64_t at, size_t bytes, int device, void *stream) {
    (void)device, (void)stream;
    CALLED("cuMemPrefetchAsync")
    const block *found = standin_block(at);
    return found != NULL && found->kind == MANAGED_MEMORY && standin_find(at, bytes) != NULL ? SUCCESS : INVALID_VALUE;
}

static int write_word(operation *self) {
    char *to = standin_find(self->to, 4);
    if (to == NULL)
        return ILLEGAL_ADDRESS;
    atomic_store((_Atomic uint32_t *)to, self->value);
    return SUCCESS;
}

int cuStreamWriteValue32_v2(void *stream, uint64_t to, uint32_t value, unsigned flags) {
    (void)flags;
    CALLED("cuStreamWriteValue32")
    return standin_enqueue(stream, &(operation){.run = write_word, .to = to, .value = value});
}

/* --- Graphs ---------------------------------------------------------------------------------------------------- */

int cuStreamBeginCapture_v2(stream *self, int mode) {
    (void)mode;
    CALLED("cuStreamBeginCapture")
    self->captured = calloc(1, sizeof *self->captured);
    return SUCCESS;
}
int cuStreamEndCapture(stream *self, graph **made) {
    *made = self->captured;
    self->captured = NULL;
    return *made != NULL ? standin_called("cuStreamEndCapture") : INVALID_VALUE;
}
int cuGraphInstantiateWithFlags(graph **made, const graph *from, unsigned long long flags) {
    (void)flags;
    CALLED("cuGraphInstantiate")
    *made = malloc(sizeof **made);
    **made = (graph){malloc(from->count * sizeof(operation)), from->count};
    memcpy((*made)->operations, from->operations, from->count * sizeof(operation));
    return SUCCESS;
}
int cuGraphLaunch(const graph *self, stream *on) {
    CALLED("cuGraphLaunch")
    int result = SUCCESS;
    for (size_t each = 0; each < self->count && result == SUCCESS; each++)
        result = standin_enqueue(on, &self->operations[each]);
    return result;
}
int cuGraphDestroy(graph *self) {
    free(self->operations);
    free(self);
    return SUCCESS;
}
int cuGraphExecDestroy(graph *self) {
    return cuGraphDestroy(self);
}

/* --- Events ---------------------------------------------------------------------------------------------------- */

int cuEventCreate(event **made, unsigned flags) {
    (void)flags;
    CALLED("cuEventCreate")
    *made = calloc(1, sizeof **made);
    return SUCCESS;
}
int cuEventDestroy_v2(event *self) {
    free(self);
    return SUCCESS;
}

static int pass(operation *self) {
    clock_gettime(CLOCK_MONOTONIC, &self->event->when);
    self->event->passed = true;
    return SUCCESS;
}

int cuEventRecord(event *self, void *stream) {
    CALLED("cuEventRecord")
    self->passed = false;
    return standin_enqueue(stream, &(operation){.run = pass, .event = self});
}

int cuEventElapsedTime(float *milliseconds, const event *start, const event *end) {
    if (!start->passed || !end->passed)
        return NOT_READY;
    *milliseconds = (float)(1e3 * (double)(end->when.tv_sec - start->when.tv_sec) +
                            1e-6 * (double)(end->when.tv_nsec - start->when.tv_nsec));
    return SUCCESS;
}
